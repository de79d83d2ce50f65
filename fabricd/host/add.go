package host

import (
	"slices"

	"github.com/weft-fabric/weft/nic"
)

// Add adds what o has counted to s, as that of nodes of another host, or of the same in an earlier
// incarnation. What is no count stays as it is: the clock, Links, Up, HeldDown, Flows, Latency and
// Standing.
func (s *Sum) Add(o *Sum) {
	s.Counted.Add(&o.Counted)
	s.Held, s.Blocked, s.Queued, s.Wires = s.Held+o.Held, s.Blocked+o.Blocked, s.Queued+o.Queued, s.Wires+o.Wires
	s.Drivers = s.Drivers.Add(o.Drivers)
	s.Timers = max(s.Timers, o.Timers)
	s.addEras(o)
}

// addEras adds up eras by their numbers. Those that one of the two has given up are older in the
// sum.
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
