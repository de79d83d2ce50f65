package fabric

import (
	"fmt"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
)

// eras adds up what the NICs counted per era, for the eras that all of them still tell apart.
func (f *Fabric) eras() (first int, sum []nic.EraStats) {
	return f.erasUntil(int(f.era()))
}

// erasUntil is eras when it is known which is the latest.
func (f *Fabric) erasUntil(now int) (first int, sum []nic.EraStats) {
	type eraCount struct { // of some NICs
		first int
		eras  []nic.EraStats
	}
	var counts []eraCount
	f.refreshHosts(host.SumRequest{Eras: true})
	f.countEras(func(s *host.Sum) {
		counts = append(counts, eraCount{s.FirstEra, s.Eras})
		first = max(first, s.FirstEra)
	})
	sum = make([]nic.EraStats, max(0, now-first)+1)
	for _, c := range counts {
		for i, e := range c.eras {
			if at := c.first + i - first; at >= 0 && at < len(sum) {
				sum[at].Injected += e.Injected
				sum[at].Delivered += e.Delivered
				sum[at].Rerouted += e.Rerouted
			}
		}
	}
	return first, sum
}

// ReroutedInLastEra counts the packets generated after both ends had seen the last fault or repair that were re-routed and
// delivered.
func (f *Fabric) ReroutedInLastEra() uint64 {
	_, e := f.eras()
	return e[len(e)-1].Rerouted
}

// LossesReported checks, in a fabric that is quiet, that the faults account for every packet lost.
func (f *Fabric) LossesReported() error {
	l, faults := f.asked(), f.Faults()
	var lost uint64
	var unattributed ledger.Losses
	f.ledger.read(func(l *ledger.Ledger) {
		for _, k := range l.State().Forgotten {
			lost += k.Lost
		}
		unattributed = l.Unattributed()
	})
	for _, r := range faults {
		lost += r.Lost()
	}
	if lost != l.Lost {
		return fmt.Errorf("%d packets were lost, the faults account for %d, and no fault has %v: %v", l.Lost, lost, unattributed, l.LostOn)
	}
	return nil
}

// LossesExplained checks, in a fabric that is quiet, that packets were lost only by the faults, each on the wires and in
// the queues of the links it took down and no more than these hold, and that every packet generated after both ends had
// seen a fault was delivered or fell to a later one. Discards count as unexplained.
func (f *Fabric) LossesExplained() error {
	if err := f.LossesReported(); err != nil {
		return err
	}
	faults := f.Faults()
	first, eras := f.eras()
	byEra := map[int]uint64{} // by the era the fault ended
	for _, r := range faults {
		era := int(r.Era)
		if r.Open && r.RestoredAt == 0 && !cheap(r) {
			era = first + len(eras) - 1 // it goes on costing packets
		}
		byEra[era] += r.Lost()
		if most := f.linkCapacity(); r.Kind == string(fault.VerbCut) && !r.Silent && r.Lost() > most {
			return fmt.Errorf("%s %s lost %d packets, its wires and queues hold %d", r.Kind, r.Target, r.Lost(), most)
		}
	}
	var missing, allowed int64 // signed: of packets of a host that died, more may have been delivered than it had told of
	for i := len(eras) - 1; i >= 0; i-- {
		era := first + i
		missing += int64(eras[i].Injected - eras[i].Delivered)
		allowed += int64(byEra[era])
		if missing > allowed {
			return fmt.Errorf("of the packets generated after both ends had seen fault or repair number %d, %d are missing, and later faults account for %d of them", era, missing, allowed)
		}
	}
	return nil
}

// cheap reports whether the fault costs nothing any more, although it lasts, because its ends know.
func cheap(r fault.Report) bool {
	return (r.Kind == string(fault.VerbCut) || r.Kind == string(fault.VerbCrash) || r.Kind == KindBroker) && len(r.Detected) > 1
}

// linkCapacity is how many packets the wires and queues of one link hold: per direction and VC one output queue, and what
// the credits let be on the wire.
func (f *Fabric) linkCapacity() uint64 {
	o := f.opts.Switch
	return 2 * uint64(o.VCs) * uint64(o.InputBuffer+o.OutputBuffer)
}
