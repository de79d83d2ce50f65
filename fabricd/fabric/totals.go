package fabric

import (
	"fmt"

	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Totals are what the fabric has done since it started, added up over all nodes.
type Totals struct {
	Injected   uint64  `json:"injected"`
	Refused    uint64  `json:"refused"` // generated while a send queue was full: back-pressure
	Delivered  uint64  `json:"delivered"`
	Missing    uint64  `json:"missing"` // skipped in their flows and not received since: lost or discarded, or late
	Duplicated uint64  `json:"duplicated"`
	Reordered  uint64  `json:"reordered"`
	Rerouted   uint64  `json:"rerouted"` // decisions to go another way because of a fault, U-turns included
	UTurns     uint64  `json:"u_turns"`
	PacketHops uint64  `json:"packet_hops"`  // packets forwarded by switches
	MeanHops   float64 `json:"mean_hops"`    // switches crossed by a delivered packet
	Stretch    float64 `json:"mean_stretch"` // MeanHops over that of shortest paths; 1 is best
	MostExtra  int     `json:"most_extra_hops"`
	Latency    Latency `json:"latency"`
}

// Latency of delivered packets from generation to delivery, in microseconds.
type Latency struct {
	P50  float64 `json:"p50_us"`
	P90  float64 `json:"p90_us"`
	P99  float64 `json:"p99_us"`
	Max  float64 `json:"max_us"`
	Mean float64 `json:"mean_us"`
}

// Totals adds up the counters of all nodes.
func (f *Fabric) Totals() Totals {
	var t Totals
	var hops, shortest uint64
	latency := nic.NewLatency()
	for _, n := range f.nics {
		s := n.Stats()
		t.Injected += s.Injected
		t.Refused += s.Refused
		t.Delivered += s.Delivered
		t.Missing += s.Missing
		t.Duplicated += s.Duplicated
		t.Reordered += s.Reordered
		t.MostExtra = max(t.MostExtra, s.MostExtra)
		hops += s.Hops
		shortest += s.Shortest
		n.MergeLatency(latency)
	}
	for _, s := range f.switches {
		st := s.stats()
		t.Rerouted += st.Rerouted
		t.UTurns += st.UTurns
		t.PacketHops += st.Forwarded
	}
	if t.Delivered > 0 {
		t.MeanHops = float64(hops) / float64(t.Delivered)
	}
	if shortest > 0 {
		t.Stretch = float64(hops) / float64(shortest)
	}
	us := func(ns float64) float64 { return ns / 1000 }
	t.Latency = Latency{
		P50: us(float64(latency.ValueAtQuantile(50))), P90: us(float64(latency.ValueAtQuantile(90))),
		P99: us(float64(latency.ValueAtQuantile(99))), Max: us(float64(latency.Max())), Mean: us(latency.Mean()),
	}
	return t
}

// PacketHops counts the packets forwarded by switches.
func (f *Fabric) PacketHops() (n uint64) {
	for _, s := range f.switches {
		n += s.stats().Forwarded
	}
	return n
}

// Drivers adds up what the drivers of all nodes have done.
func (f *Fabric) Drivers() (sum switchd.Stats) {
	for _, s := range f.switches {
		sum = sum.Add(s.Stats())
	}
	for _, n := range f.nics {
		sum = sum.Add(n.Driver.Stats())
	}
	return sum
}

// eras adds up what the NICs counted per era.
func (f *Fabric) eras() []nic.EraStats {
	f.mu.Lock()
	sum := make([]nic.EraStats, int(f.era)+1)
	f.mu.Unlock()
	for _, n := range f.nics {
		for i, e := range n.Snapshot().Eras {
			if i < len(sum) {
				sum[i].Injected += e.Injected
				sum[i].Delivered += e.Delivered
				sum[i].Rerouted += e.Rerouted
			}
		}
	}
	return sum
}

// ReroutedInLastEra counts the packets generated after both ends had seen the last fault or repair that were re-routed and
// delivered.
func (f *Fabric) ReroutedInLastEra() uint64 {
	e := f.eras()
	return e[len(e)-1].Rerouted
}

// LossesExplained checks, in a fabric that is quiet, that packets were lost only by the faults, each on the wires and in
// the queues of the links it took down and no more than these hold, and that every packet generated after both ends had
// seen a fault was delivered or fell to a later one. Discards count as unexplained.
func (f *Fabric) LossesExplained() error {
	l, faults, eras := f.Ledger(), f.Faults(), f.eras()
	var lost uint64
	byEra := make([]uint64, len(eras)+1) // by the era the fault ended
	for _, r := range faults {
		lost += r.Lost()
		if int(r.Era) < len(eras) {
			byEra[r.Era] += r.Lost()
		}
		if most := f.linkCapacity(); r.Kind == FaultCut && r.Lost() > most {
			return fmt.Errorf("%s %s lost %d packets, its wires and queues hold %d", r.Kind, r.Target, r.Lost(), most)
		}
	}
	if lost != l.Lost {
		return fmt.Errorf("%d packets were lost, the faults account for %d: %v", l.Lost, lost, l.LostOn)
	}
	var missing, allowed uint64
	for era := len(eras) - 1; era >= 0; era-- {
		missing += eras[era].Injected - eras[era].Delivered
		allowed += byEra[era]
		if missing > allowed {
			return fmt.Errorf("of the packets generated after both ends had seen fault or repair number %d, %d are missing, and later faults account for %d of them", era, missing, allowed)
		}
	}
	return nil
}

// linkCapacity is how many packets the wires and queues of one link hold: per direction and VC one output queue, and what
// the credits let be on the wire.
func (f *Fabric) linkCapacity() uint64 {
	o := f.opts.Switch
	return 2 * uint64(o.VCs) * uint64(o.InputBuffer+o.OutputBuffer)
}
