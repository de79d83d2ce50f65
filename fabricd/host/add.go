package host

import (
	"slices"

	"github.com/weft-fabric/weft/nic"
)

// Add adds the counters of o, which has other nodes or is an earlier incarnation of the same, to s.
// What is no count stays: the clock, Links, Up, HeldDown, Flows, Latency and Applied.
func (s *Counters) Add(o *Counters) {
	s.Counted.Add(&o.Counted)
	s.Held, s.Blocked, s.Queued, s.Wires = s.Held+o.Held, s.Blocked+o.Blocked, s.Queued+o.Queued, s.Wires+o.Wires
	s.Drivers = s.Drivers.Add(o.Drivers)
	s.Timers = max(s.Timers, o.Timers)
	s.addGenerations(o)
}

// addGenerations adds up generations by number. Generations that one of the two no longer tells
// apart count as older, as do those beyond the number that a NIC tells apart.
func (s *Counters) addGenerations(o *Counters) {
	s.OlderGenerations = addGeneration(s.OlderGenerations, o.OlderGenerations)
	s.FirstGeneration, s.Generations = addGenerations(s.FirstGeneration, s.Generations, o.FirstGeneration,
		o.Generations)
	s.forgetGenerations(s.FirstGeneration + len(s.Generations) - nic.MaxGenerations)
}

// addGenerations are the generations of two lists, which begin at these.
func addGenerations(at int, a []nic.GenerationStats, from int, b []nic.GenerationStats) (first int,
	sum []nic.GenerationStats,
) {
	switch {
	case len(b) == 0:
		return at, a
	case len(a) == 0:
		return from, slices.Clone(b)
	}
	first = min(at, from)
	sum = make([]nic.GenerationStats, max(at+len(a), from+len(b))-first)
	copy(sum[at-first:], a)
	for i, e := range b {
		sum[from-first+i] = addGeneration(sum[from-first+i], e)
	}
	return first, sum
}

func addGeneration(a, b nic.GenerationStats) nic.GenerationStats {
	return nic.GenerationStats{
		Injected: a.Injected + b.Injected, Delivered: a.Delivered + b.Delivered, Rerouted: a.Rerouted + b.Rerouted,
		MostExtra: max(a.MostExtra, b.MostExtra),
	}
}
