package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/credit"
)

// Ledger says where every packet is (DESIGN section 4). Each account is counted where packets end or wait, so that
//
//	injected = delivered + lost + discarded + in flight
//
// is a check, not a definition. It is exact at a quiescent point; while packets move, its parts are read at slightly
// different moments.
type Ledger struct {
	Injected  uint64 `json:"injected"`
	Delivered uint64 `json:"delivered"`
	Lost      uint64 `json:"lost"`
	Discarded uint64 `json:"discarded"`
	InFlight  uint64 `json:"in_flight"`
	Balanced  bool   `json:"balanced"`

	LostWire   uint64 `json:"lost_wire"`   // sent on a link that died, or dropped by it
	LostQueued uint64 `json:"lost_queued"` // in the output queue of a link that died
	LostCrash  uint64 `json:"lost_crash"`  // inside a switch that crashed

	DiscardedBy map[string]uint64   `json:"discarded_by,omitempty"` // per rule
	LostOn      map[string]LinkLoss `json:"lost_on,omitempty"`      // per link
	Waiting     InFlight            `json:"waiting"`                // the parts of in_flight
}

// LinkLoss is what one link lost.
type LinkLoss struct {
	Wire   uint64 `json:"wire"`
	Queued uint64 `json:"queued"`
}

// InFlight says where the packets in flight are.
type InFlight struct {
	Queues   uint64 `json:"queues"`   // in the send queues of NICs
	Switches uint64 `json:"switches"` // inside switches
	Wires    uint64 `json:"wires"`    // sent and not yet received
}

// Ledger adds up the accounts of all parts.
func (f *Fabric) Ledger() Ledger {
	l := Ledger{DiscardedBy: map[string]uint64{}, LostOn: map[string]LinkLoss{}}
	for _, k := range f.links {
		lost, wire := f.linkLoss(k)
		l.Waiting.Wires += wire
		l.LostWire += lost.Wire
		if lost.Wire+lost.Queued > 0 {
			l.LostOn[k.Name] = lost
		}
	}
	for _, s := range f.switches {
		sn := s.snapshot()
		l.LostQueued += sn.Stats.LostQueue
		l.LostCrash += sn.Stats.LostCrash
		l.Waiting.Switches += uint64(sn.Held)
		for rule, n := range sn.Discards {
			l.DiscardedBy[rule] += n
			l.Discarded += n
		}
	}
	for i, n := range f.nics {
		sn := n.Snapshot()
		l.Injected += sn.Stats.Injected
		l.Delivered += sn.Stats.Delivered
		l.Waiting.Queues += uint64(sn.Queued)
		if sn.Stats.Wrong > 0 {
			l.DiscardedBy["nic "+f.graph.NICs[i].Name+": packet for another NIC"] += sn.Stats.Wrong
			l.Discarded += sn.Stats.Wrong
		}
	}
	l.Lost = l.LostWire + l.LostQueued + l.LostCrash
	l.InFlight = l.Waiting.Queues + l.Waiting.Switches + l.Waiting.Wires
	l.Balanced = l.Injected == l.Delivered+l.Lost+l.Discarded+l.InFlight
	return l
}

// Ends of a link as the ledger counts them.
type linkEnds struct {
	missing uint64 // packets sent and not received, over all epochs and both directions
	gaps    uint64 // of these, the ones a receiver noticed while the link was up
	queued  uint64 // packets lost in the output queues of both ends
}

// settled is what was known of a link when both its ends were last down: then nothing is on the wire, and what is missing
// is lost.
type settled linkEnds

func (f *Fabric) ends(l *link) linkEnds {
	a, qa := f.endCounters(l.A)
	b, qb := f.endCounters(l.B)
	return linkEnds{missing: a.Sent + b.Sent - a.Received - b.Received, gaps: a.Gaps + b.Gaps, queued: qa + qb}
}

// endCounters reads the counters of one link end, and how many packets were lost in its output queue.
func (f *Fabric) endCounters(e weft.End) (c credit.Counters, queued uint64) {
	if e.Node.IsSwitch() {
		s := f.switches[e.Node.Index]
		s.Do(func(weft.Time, *weft.Actions) { c, queued = s.core.PortCounters(e.Port) })
		return c, queued
	}
	return f.nics[e.Node.Index].Snapshot().Counters, 0
}

// linkLoss is what a link is known to have lost and what is on its wires. Both ends are read one after the other, so while
// packets flow the number on the wires may be off; a negative one is read as none.
func (f *Fabric) linkLoss(l *link) (lost LinkLoss, wires uint64) {
	e := f.ends(l)
	s := settled{}
	if p := l.settled.Load(); p != nil {
		s = *p
	}
	lost = LinkLoss{Wire: s.missing + e.gaps - s.gaps, Queued: e.queued}
	if on := int64(e.missing - lost.Wire); on > 0 {
		wires = uint64(on)
	}
	return lost, wires
}

// losses of one fault.
type losses struct{ wire, queued uint64 }

func (a losses) plus(b losses) losses { return losses{a.wire + b.wire, a.queued + b.queued} }

// settle notes what a link has lost now that both its ends are down, and returns what is new. The caller holds mu.
func (f *Fabric) settle(l *link) losses {
	e := f.ends(l)
	before := settled{}
	if p := l.settled.Load(); p != nil {
		before = *p
	}
	after := settled(e)
	l.settled.Store(&after)
	return losses{wire: e.missing - before.missing - (e.gaps - before.gaps), queued: e.queued - before.queued}
}

// rerouted counts the decisions to go another way because of a fault, all over the fabric.
func (f *Fabric) rerouted() (n uint64) {
	for _, s := range f.switches {
		n += s.stats().Rerouted
	}
	return n
}
