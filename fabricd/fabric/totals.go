package fabric

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Totals are the counters of all nodes since the fabric started, added up.
type Totals struct {
	Injected uint64 `json:"injected"`
	Refused  uint64 `json:"refused"`  // generated while a send queue was full: back-pressure
	Withheld uint64 `json:"withheld"` // not generated, for a notice said that the destination cannot be reached
	Notices  uint64 `json:"notices"`  // notices that NICs have received
	// NoticesLost counts notices beyond what can be on its way.
	NoticesLost uint64 `json:"notices_lost"`
	Delivered   uint64 `json:"delivered"`
	Missing     uint64 `json:"missing"` // skipped in their flows and not received since: lost or discarded, or late
	Duplicated  uint64 `json:"duplicated"`
	// DamagedFrames arrived otherwise than they were sent, or on the wrong link. Their packets are
	// in Ledger.LostWire.
	DamagedFrames uint64  `json:"damaged_frames"`
	Reordered     uint64  `json:"reordered"`
	Rerouted      uint64  `json:"rerouted"` // decisions to go another way because of a fault, U-turns included
	Requeued      uint64  `json:"requeued"` // packets taken back from the output queues of dead links
	UTurns        uint64  `json:"u_turns"`
	PacketHops    uint64  `json:"packet_hops"`  // packets forwarded by switches
	MeanHops      float64 `json:"mean_hops"`    // switches crossed by a delivered packet
	Stretch       float64 `json:"mean_stretch"` // MeanHops over that of shortest paths; 1 is best
	MaxHops       int     `json:"max_hops"`     // switches crossed by a delivered packet
	MaxExtra      int     `json:"max_extra_hops"`
	Latency       Latency `json:"latency"`
}

// Latency of delivered packets from generation to delivery, in microseconds.
type Latency struct {
	P50  float64 `json:"p50_us"`
	P90  float64 `json:"p90_us"`
	P99  float64 `json:"p99_us"`
	Max  float64 `json:"max_us"`
	Mean float64 `json:"mean_us"`
}

// String is the median and the slow end, each in a fitting unit.
func (l Latency) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s", micros(l.P50), micros(l.P99), micros(l.Max))
}

// Totals adds up the counters of all nodes.
func (f *Fabric) Totals() Totals {
	f.look(host.CountersRequest{Latency: true}, false)
	t := Totals{NoticesLost: f.notices.lost.Load(), DamagedFrames: f.drivers().Damaged}
	latency := f.sharedLatency()
	t.add(f.ledger.total())
	f.mergeLatency(latency)
	t.Latency = latencyOf(latency)
	return t
}

// add fills in the counters of nodes.
func (t *Totals) add(c ledger.Counters) {
	n, s := &c.NICs, &c.Switches
	t.Injected, t.Refused, t.Withheld, t.Notices, t.Delivered = n.Injected, n.Refused, n.Withheld, n.Notices,
		n.Delivered
	t.Missing, t.Duplicated, t.Reordered, t.MaxHops, t.MaxExtra = n.Missing, n.Duplicated, n.Reordered, n.MostHops,
		n.MostExtra
	t.Rerouted, t.Requeued, t.UTurns, t.PacketHops = s.Rerouted, s.Requeued, s.UTurns, s.Forwarded
	if n.Delivered > 0 {
		t.MeanHops = float64(n.Hops) / float64(n.Delivered)
	}
	if n.Shortest > 0 {
		t.Stretch = float64(n.Hops) / float64(n.Shortest)
	}
}

func latencyOf(hist *hdrhistogram.Histogram) Latency {
	us := func(ns float64) float64 { return ns / 1000 }
	return Latency{
		P50: us(float64(hist.ValueAtQuantile(50))), P90: us(float64(hist.ValueAtQuantile(90))),
		P99: us(float64(hist.ValueAtQuantile(99))), Max: us(float64(hist.Max())), Mean: us(hist.Mean()),
	}
}

// sharedLatency is the histogram that the NICs' histograms are added to; in virtual time it is
// complete already.
func (f *Fabric) sharedLatency() *hdrhistogram.Histogram {
	if f.latency != nil {
		return f.latency
	}
	return nic.NewLatency()
}

// Latencies copies the latencies of all packets delivered so far, in nanoseconds from generation to
// delivery. The difference of two copies has the latencies of the span between.
func (f *Fabric) Latencies() *hdrhistogram.Histogram {
	all := nic.NewLatency()
	all.Merge(f.sharedLatency())
	f.look(host.CountersRequest{Latency: true}, false)
	f.mergeLatency(all)
	return all
}

// SwitchReroutes is how often one switch re-routed because of a fault.
type SwitchReroutes struct{ Rerouted, UTurns uint64 }

// Reroutes are the re-routes of every switch since the start, by number.
func (f *Fabric) Reroutes() []SwitchReroutes {
	f.lookAtNodes()
	list := make([]SwitchReroutes, len(f.switches))
	for i, s := range f.switches {
		var r switching.Reading
		s.read(&r)
		list[i] = SwitchReroutes{r.Stats.Rerouted, r.Stats.UTurns}
	}
	return list
}

// PacketHops counts the packets forwarded by switches.
func (f *Fabric) PacketHops() uint64 {
	f.lookAtHosts()
	return f.ledger.total().Switches.Forwarded
}

// Drivers adds up what the drivers of all nodes have done.
func (f *Fabric) Drivers() (sum switchd.Stats) {
	f.lookAtHosts()
	return f.drivers()
}

// drivers is Drivers, with what other hosts told last.
func (f *Fabric) drivers() (sum switchd.Stats) {
	f.count(func(s *host.Counters) { sum = sum.Add(s.Drivers) })
	return sum
}
