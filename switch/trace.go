package switching

import "github.com/weft-fabric/weft"

// What is told of traced packets. None of it is done, and nothing is allocated, for others.

// queuing is how a traced packet came into its output queue.
type queuing struct {
	at     weft.Time
	stalls uint64 // of the queue that were over by then
}

// noCandidate is the choice of a decision to discard.
const noCandidate = -1

// traceHop tells of the decision d for sl, before anything is done.
func (s *Switch) traceHop(sl *slot, d *Decision, chosen int, out *weft.Actions) {
	at := s.now - s.late
	h := weft.Hop{
		At: at, Switch: s.place.Switch, In: sl.port, InVC: sl.vc, Out: weft.NoPort, Rule: d.Rule,
		Waited: at - sl.arrived, Why: sl.why, Header: sl.hdr, Before: sl.hdr.Fields, Alternatives: len(d.Candidates),
		Turned: d.Turn != Straight,
	}
	first := len(out.Ways)
	for i := range d.Candidates {
		k := &d.Candidates[i]
		c := s.channel(k.Port, k.VC)
		room := s.room(c)
		if i == chosen {
			h.Out, h.OutVC, h.After = k.Port, k.VC, k.Fields
			room++ // it had the place that is reserved now
		}
		out.Ways = append(out.Ways, weft.Candidate{
			Port: k.Port, VC: k.VC, Class: k.Class, Chosen: i == chosen, Down: !s.portUp(k.Port),
			Room: int32(room), Credits: int32(s.ports[k.Port].end.Credits(k.VC)),
		})
	}
	if n := len(out.Ways); n > first {
		h.Candidates = out.Ways[first:n:n]
	}
	out.Hops = append(out.Hops, h)
}

// traceQueued notes that id is about to enter the output queue c.
func (s *Switch) traceQueued(id slotID, c channel) {
	if s.queuedAt == nil {
		s.queuedAt = make([]queuing, s.slots.most)
	}
	o := &s.out[c]
	q := queuing{at: s.now, stalls: s.stallsAt(c)[StallNoCredit]}
	if o.stalled {
		q.stalls-- // it lasts
	}
	s.queuedAt[id] = q
}

// traceLeft tells that id is about to leave the output queue c, if it has waited there for a
// credit.
func (s *Switch) traceLeft(id slotID, c channel, out *weft.Actions) {
	q := s.queuedAt[id]
	if s.stallsAt(c)[StallNoCredit] == q.stalls {
		return
	}
	p, vc := s.portVC(c)
	out.Egress = append(out.Egress, weft.Egress{
		At: s.now, Port: p, VC: vc, Queued: s.now - q.at,
		Header: s.slots.slot[id].hdr,
	})
}

// Holds reports whether a packet of a flow is inside.
func (s *Switch) Holds(src, dst weft.NICID, seq uint64) bool {
	holds := func(q *queue) bool {
		for id := q.head; id != noSlot; id = s.slots.link[id].next {
			if h := &s.slots.slot[id].hdr; h.Src == src && h.Dst == dst && h.Seq == seq {
				return true
			}
		}
		return false
	}
	for c := range s.in {
		if holds(&s.in[c]) || holds(&s.out[c].queue) {
			return true
		}
	}
	return false
}
