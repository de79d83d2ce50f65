package part

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// Add adds what o has counted to s, as that of nodes of another part, or of the same in an earlier incarnation. What is no count
// stays as it is: the clock, Links, Up, HeldDown, Ends, Latency and Standing.
func (s *Sum) Add(o *Sum) {
	s.Untold, s.Notices = s.Untold+o.Untold, s.Notices+o.Notices
	s.Switches = AddSwitch(s.Switches, o.Switches)
	s.NICs = AddNIC(s.NICs, o.NICs)
	s.Held, s.Blocked, s.Queued, s.Wires = s.Held+o.Held, s.Blocked+o.Blocked, s.Queued+o.Queued, s.Wires+o.Wires
	s.Discards, s.Wrong = addCounts(s.Discards, o.Discards), addCounts(s.Wrong, o.Wrong)
	s.Drivers = s.Drivers.Add(o.Drivers)
	s.Timers = max(s.Timers, o.Timers)
	s.Lost = merge(s.Lost, o.Lost, func(a, b LinkLost) int { return cmp.Compare(a.Link, b.Link) }, func(a *LinkLost, b LinkLost) {
		a.Wire[0], a.Wire[1] = a.Wire[0]+b.Wire[0], a.Wire[1]+b.Wire[1]
	})
	s.LostOut = merge(s.LostOut, o.LostOut, func(a, b EndLost) int { return a.End.compare(b.End) }, func(a *EndLost, b EndLost) { a.Queued += b.Queued })
	s.Crashed = merge(s.Crashed, o.Crashed, func(a, b NodeLost) int { return cmp.Compare(a.Switch, b.Switch) }, func(a *NodeLost, b NodeLost) { a.Crash += b.Crash })
	s.addEras(o)
}

// merge is both lists in order, what is in both added up.
func merge[T any](a, b []T, order func(a, b T) int, add func(a *T, b T)) []T {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, order)
	out := all[:0]
	for _, x := range all {
		if n := len(out); n > 0 && order(out[n-1], x) == 0 {
			add(&out[n-1], x)
		} else {
			out = append(out, x)
		}
	}
	return out
}

func (e End) compare(o End) int {
	if e.NIC != o.NIC {
		if o.NIC {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(e.Node, o.Node), cmp.Compare(e.Port, o.Port))
}

func addCounts(a, b map[string]uint64) map[string]uint64 {
	if len(b) == 0 {
		return a
	}
	sum := maps.Clone(b)
	for rule, n := range a {
		sum[rule] += n
	}
	return sum
}

// addEras adds up eras by their numbers. Those that one of the two has given up are older in the sum.
func (s *Sum) addEras(o *Sum) {
	s.OlderEra = addEra(s.OlderEra, o.OlderEra)
	s.FirstEra, s.Eras = addEras(s.FirstEra, s.Eras, o.FirstEra, o.Eras)
}

// addEras are the eras of two lists, which begin at these.
func addEras(at int, a []nic.EraStats, from int, b []nic.EraStats) (first int, sum []nic.EraStats) {
	switch {
	case len(b) == 0:
		return at, a
	case len(a) == 0:
		return from, slices.Clone(b)
	}
	first = min(at, from)
	sum = make([]nic.EraStats, max(at+len(a), from+len(b))-first)
	copy(sum[at-first:], a)
	for i, e := range b {
		sum[from-first+i] = addEra(sum[from-first+i], e)
	}
	return first, sum
}

func addEra(a, b nic.EraStats) nic.EraStats {
	return nic.EraStats{
		Injected: a.Injected + b.Injected, Delivered: a.Delivered + b.Delivered, Rerouted: a.Rerouted + b.Rerouted,
		MostExtra: max(a.MostExtra, b.MostExtra),
	}
}

// AddSwitch adds up what two switches have counted.
func AddSwitch(a, b switching.Stats) switching.Stats {
	return switching.Stats{
		Received: a.Received + b.Received, Forwarded: a.Forwarded + b.Forwarded, Decisions: a.Decisions + b.Decisions,
		Rerouted: a.Rerouted + b.Rerouted, UTurns: a.UTurns + b.UTurns, Discarded: a.Discarded + b.Discarded,
		LostQueue: a.LostQueue + b.LostQueue, Requeued: a.Requeued + b.Requeued, LostCrash: a.LostCrash + b.LostCrash,
	}
}

// AddNIC adds up what two NICs have counted; of what is the most of something it is the greater.
func AddNIC(a, b nic.Stats) nic.Stats {
	return nic.Stats{
		Injected: a.Injected + b.Injected, Refused: a.Refused + b.Refused, Withheld: a.Withheld + b.Withheld, Notices: a.Notices + b.Notices,
		Delivered: a.Delivered + b.Delivered, Missing: a.Missing + b.Missing, Duplicated: a.Duplicated + b.Duplicated,
		Reordered: a.Reordered + b.Reordered, Rerouted: a.Rerouted + b.Rerouted, Wrong: a.Wrong + b.Wrong,
		Hops: a.Hops + b.Hops, Shortest: a.Shortest + b.Shortest, MostHops: max(a.MostHops, b.MostHops),
		MostExtra: max(a.MostExtra, b.MostExtra), Detour: a.Detour + b.Detour,
	}
}
