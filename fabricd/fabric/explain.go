package fabric

import (
	"fmt"

	"github.com/dustin/go-humanize/english"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
)

// generations adds up the NICs' counters per generation, for the generations that all NICs still
// tell apart.
func (q *quiet) generations() (first int, sum []nic.GenerationStats) {
	return q.generationsUntil(int(q.generation()))
}

// generationsUntil is generations for a given latest generation.
func (q *quiet) generationsUntil(now int) (first int, sum []nic.GenerationStats) {
	type generationCount struct { // of some NICs
		first       int
		generations []nic.GenerationStats
	}
	var counts []generationCount
	q.refreshHosts(host.CountersRequest{Generations: true})
	q.countGenerations(func(s *host.Counters) {
		counts = append(counts, generationCount{s.FirstGeneration, s.Generations})
		first = max(first, s.FirstGeneration)
	})
	sum = make([]nic.GenerationStats, max(0, now-first)+1)
	for _, c := range counts {
		for i, e := range c.generations {
			if at := c.first + i - first; at >= 0 && at < len(sum) {
				sum[at].Injected += e.Injected
				sum[at].Delivered += e.Delivered
				sum[at].Rerouted += e.Rerouted
			}
		}
	}
	return first, sum
}

// ReroutedInLastGeneration counts the re-routed packets that were delivered and had been generated
// after both ends had seen the last fault or repair.
func (q *quiet) ReroutedInLastGeneration() uint64 {
	_, e := q.generations()
	return e[len(e)-1].Rerouted
}

// LossesReported checks that the faults account for every packet lost. The fabric must be
// quiescent.
func (q *quiet) LossesReported() error {
	l, faults := q.reader.ledgerAfterRefresh(), q.faults.Faults()
	var lost uint64
	var unattributed ledger.Losses
	q.ledger.read(func(l *ledger.Ledger) {
		for _, k := range l.State().Forgotten {
			lost += k.Lost
		}
		unattributed = l.Unattributed()
	})
	for _, r := range faults {
		lost += r.Lost()
	}
	if lost != l.Lost {
		return fmt.Errorf("the fabric lost %s, the faults account for %d, and no fault has %v: %v",
			english.Plural(int(l.Lost), "packet", ""), lost, unattributed, l.LostOn)
	}
	return nil
}

// LossesExplained checks that faults alone have lost packets: each on the wires and in the queues
// of the links that it took down, and no more than these hold. Every packet generated after both
// ends had seen a fault must have been delivered or have fallen to a later fault. Discards count as
// unexplained. The fabric must be quiescent.
func (q *quiet) LossesExplained() error {
	if err := q.LossesReported(); err != nil {
		return err
	}
	faults := q.faults.Faults()
	first, generations := q.generations()
	byGeneration := map[int]uint64{} // by the generation in which the fault ended
	for _, r := range faults {
		generation := int(r.Generation)
		if r.Open && r.RestoredAt == 0 && !cheap(r) {
			generation = first + len(generations) - 1 // it goes on costing packets
		}
		byGeneration[generation] += r.Lost()
		if most := q.linkCapacity(); r.Kind == string(fault.VerbCut) && !r.Silent && r.Lost() > most {
			return fmt.Errorf("%s %s lost %d packets, its wires and queues hold %d", r.Kind, r.Target, r.Lost(), most)
		}
	}
	var missing, allowed int64 // signed: of packets of a host that died, more may have been delivered than it had told of
	for i := len(generations) - 1; i >= 0; i-- {
		generation := first + i
		missing += int64(generations[i].Injected - generations[i].Delivered)
		allowed += int64(byGeneration[generation])
		if missing > allowed {
			return fmt.Errorf("of the packets generated after both ends had seen fault or repair number %d, %d are missing, "+
				"and later faults account for %d of them", generation, missing, allowed)
		}
	}
	return nil
}

// cheap reports whether a fault that lasts costs nothing any more, because its ends know of it.
func cheap(r fault.Report) bool {
	return (r.Kind == string(fault.VerbCut) || r.Kind == string(fault.VerbCrash) || r.Kind == KindBroker) &&
		len(r.Detected) > 1
}

// linkCapacity is how many packets the wires and queues of one link hold: per direction and VC one
// output queue, and as many on the wire as the credits allow.
func (q *quiet) linkCapacity() uint64 {
	o := q.opts.Switch
	return 2 * uint64(o.VCs) * uint64(o.InputBuffer+o.OutputBuffer)
}
