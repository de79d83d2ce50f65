package nic

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// RuleWrongNIC is the rule by which a NIC discards a packet that is not for it.
const RuleWrongNIC = "nic: packet for another NIC"

// Latencies are recorded from 1 ns to 1000 s to two significant digits: in 36 KB where NICs share
// them, else in a few bytes for each of the latencies that there are.
const (
	latencyMost   = 1_000_000_000_000
	latencyDigits = 2
)

// Stats counts what a NIC has done.
type Stats struct {
	Injected   uint64 // packets put into the send queue
	Refused    uint64 // packets generated while the send queue was full: back-pressure
	Withheld   uint64 // packets that traffic would have generated, for destinations that a notice says cannot be reached
	Notices    uint64 // notices received, honoured or not
	Delivered  uint64 // distinct packets received
	Missing    uint64 // packets skipped in their flows and not received since: lost, or late
	Duplicated uint64 // packets received again
	Reordered  uint64 // packets received after a later one of their flow
	Rerouted   uint64 // of those delivered, the ones that were re-routed on the way
	Wrong      uint64 // packets for another NIC, discarded
	Hops       uint64 // switches crossed by those delivered
	Shortest   uint64 // switches on shortest paths of those delivered; Hops / Shortest is the mean stretch
	MostHops   int    `count:"max"` // most switches crossed by one delivered
	MostExtra  int    `count:"max"` // most switches beyond the shortest path
	Detour     uint64 // switches beyond the shortest path, of those re-routed
}

// GenerationStats counts the packets of one generation; see weft.Header.Generation.
type GenerationStats struct {
	Injected  uint64
	Delivered uint64
	Rerouted  uint64 // of those delivered, the ones that were re-routed

	// most switches beyond the shortest path, of the re-routed packets that arrived while it was the
	// generation
	MostExtra int
}

// MaxGenerations is how many generations are told apart; what came before is counted as one.
const MaxGenerations = 256

// generations counts per generation, for the latest MaxGenerations of them.
type generations struct {
	first int               // the generation of list[0]
	list  []GenerationStats // bound: MaxGenerations
	older GenerationStats   // all generations before
}

// maxAhead is how many generations a packet's may be ahead of this NIC's, which is told of a new
// one a little later than others.
const maxAhead = 16

// at returns the counters of a fault generation. One further ahead than can be counts as the most
// there can be.
func (e *generations) at(generation, now uint16) *GenerationStats {
	i := min(int(generation), int(now)+maxAhead) - e.first
	if i < 0 {
		return &e.older
	}
	for i >= len(e.list) {
		if len(e.list) == MaxGenerations {
			old := &e.list[0]
			e.older.Injected += old.Injected
			e.older.Delivered += old.Delivered
			e.older.Rerouted += old.Rerouted
			e.older.MostExtra = max(e.older.MostExtra, old.MostExtra)
			e.list = append(e.list[:0], e.list[1:]...)
			e.first++
			i--
		}
		e.list = append(e.list, GenerationStats{})
	}
	return &e.list[i]
}

// deliver ends one packet that has arrived.
func (n *NIC) deliver(now weft.Time, h *weft.Header, out *weft.Actions) {
	if h.Dst != n.cfg.ID || int(h.Src) >= n.cfg.NICs {
		n.stats.Wrong++
		out.Drops = append(out.Drops, weft.Drop{Account: weft.Discarded, Rule: RuleWrongNIC, Header: *h})
		h.Payload = 0
		return
	}
	if !n.cfg.Unordered && !n.inFlow(h) {
		return
	}
	n.stats.Delivered++
	generation := n.generations.at(h.Generation, n.generation)
	generation.Delivered++
	if h.Reroutes > 0 {
		n.stats.Rerouted++
		generation.Rerouted++
	}
	n.stats.Hops += uint64(h.Hops)
	n.stats.MostHops = max(n.stats.MostHops, int(h.Hops))
	if n.cfg.Distance != nil {
		shortest := n.cfg.Distance(h.Src)
		n.stats.Shortest += uint64(shortest)
		extra := int(h.Hops) - shortest
		n.stats.MostExtra = max(n.stats.MostExtra, extra)
		if h.Reroutes > 0 {
			n.stats.Detour += uint64(max(0, extra))
			now := n.generations.at(n.generation, n.generation)
			now.MostExtra = max(now.MostExtra, extra)
		}
	}
	if !n.cfg.NoLatency {
		// Out of range only beyond 1000 s, where the most there is says enough.
		took := min(int64((now-h.Injected)/weft.Nanosecond), latencyMost)
		if n.cfg.Latency != nil {
			_ = n.cfg.Latency.RecordValue(took)
		} else {
			if n.latency == nil {
				n.latency = hdrhistogram.NewPacked(1, latencyMost, latencyDigits)
			}
			_ = n.latency.RecordValue(took)
		}
	}
	if h.Traced {
		out.Arrived = append(out.Arrived, *h)
	}
	if h.Payload != 0 && n.carrier != nil && !n.carrier.away {
		n.carrier.arrived(h, out)
	}
}

// inFlow counts how a packet stands to those of its flow that came before; it reports false for one
// that has come before itself.
func (n *NIC) inFlow(h *weft.Header) bool {
	flow := n.flows.get(h.Src)
	if incarnationOf(h.Seq) != incarnationOf(flow.next) {
		if h.Seq < flow.next {
			return true // of a source that was made anew since: its flow is over
		}
		flow = arrivals{next: firstNumber(incarnationOf(h.Seq))}
	}
	expected := flow.next
	if n.cfg.Incarnation > 0 && flow.window == 0 {
		*n.bases.at(h.Src) = h.Seq
		expected = h.Seq
	}
	how := flow.take(h.Seq)
	n.flows.set(h.Src, flow)
	switch how {
	case inOrder:
		n.stats.Missing += h.Seq - expected
	case duplicate:
		n.stats.Duplicated++
		return false
	case late:
		n.stats.Reordered++
		if n.cfg.Incarnation == 0 || h.Seq >= n.bases.get(h.Src) {
			n.stats.Missing -= min(n.stats.Missing, 1)
		}
	}
	return true
}

// Snapshot is the state of a NIC at one moment.
type Snapshot struct {
	NIC             weft.NICID
	Stats           Stats
	FirstGeneration int               // of Generations
	Generations     []GenerationStats // at most MaxGenerations
	Queued          int               // packets in the send queue
	QueuedBytes     int
	State           link.State
	Counters        link.Counters
	Suppressed      bool // damping keeps the link down
	Flow            link.Flow
	VCs             []link.Epoch
}

// Sessions tells Reading.Flow apart by incarnations of the neighbour, see
// [link.CreditEnd.Sessions].
func (n *NIC) Sessions(peers []link.Incarnation, do func(link.Session)) { n.end.Sessions(peers, do) }

// Snapshot copies the state of the NIC.
func (n *NIC) Snapshot() Snapshot {
	s := Snapshot{
		NIC: n.cfg.ID, Stats: n.stats, FirstGeneration: n.generations.first,
		Generations: append([]GenerationStats(nil), n.generations.list...),
		Queued:      int(n.queue.packets), QueuedBytes: n.queue.bytes, State: n.end.State(), Counters: n.end.Counters(),
		Suppressed: n.end.Suppressed(), Flow: n.end.Flow(),
	}
	for vc := range weft.VC(n.cfg.VCs) {
		s.VCs = append(s.VCs, n.end.Epoch(vc))
	}
	return s
}

// Stats counts what the NIC has done.
func (n *NIC) Stats() Stats { return n.stats }

// MergeLatency adds this NIC's latencies, in nanoseconds from generation to delivery, to h. A
// histogram that is shared, Config.Latency, it does not add: its owner has it.
func (n *NIC) MergeLatency(h *hdrhistogram.Histogram) {
	if n.latency != nil {
		n.latency.MergeInto(h)
	}
}

// NewLatency returns an empty histogram that MergeLatency can add to.
func NewLatency() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, latencyMost, latencyDigits)
}

// Reading is what is read of a NIC again and again while somebody watches it: much less than a
// [Snapshot].
type Reading struct {
	Stats      Stats
	Queued     int // packets in the send queue
	Flow       link.Flow
	Suppressed bool      // damping keeps the link down
	Timer      weft.Time // how long the NIC waits for its switch to begin anew, at most; 0: it does not
}

// Read reads the NIC.
func (n *NIC) Read() Reading {
	return Reading{
		Stats: n.stats, Queued: int(n.queue.packets), Flow: n.end.Flow(),
		Suppressed: n.end.Suppressed(), Timer: n.end.Awaits(),
	}
}
