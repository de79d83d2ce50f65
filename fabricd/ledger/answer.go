package ledger

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// answer takes what a host says. What is newly known to be lost goes to incidents.
func (l *Ledger) answer(a *Answer) {
	if slices.Contains(l.state.Folded, a.Incarnation) {
		return // all is known of it
	}
	if a.Host == 0 || a.Incarnation == 0 {
		l.refuse(a, "hosts and incarnations are numbered from 1")
		return
	}
	l.started(HostStarted{Host: a.Host, Incarnation: a.Incarnation}) // unless that is known
	h := l.incarnation(a.Incarnation)
	if h.ID != a.Host {
		l.refuse(a, "the incarnation is host %d", h.ID)
		return
	}
	if a.Seq <= h.Seq {
		return // a later one has come
	}
	if !l.sorted(&a.Counted) {
		l.refuse(a, "its losses are not in order, or of what is not there")
		return
	}
	l.attributeCounted(&h.Counted, &a.Counted)
	h.Seq, h.Asked, h.Heard = a.Seq, max(a.Asked, h.Asked), h.Heard || !h.Gone
	h.Held, h.Queued, h.Wires, h.Counted = a.Held, a.Queued, a.Wires, a.Counted
	h.Inside = inside(a)
	switch {
	case a.Final && h.Status != Ended:
		if h.uncertain() {
			l.endHost(h)
		}
		h.Status, h.Since, h.Gone = Ended, l.state.Now, true
	case h.uncertain() && !h.Gone && a.Asked >= h.Since:
		l.back(h)
	}
	for i := range a.Flows {
		l.flow(a, &a.Flows[i])
	}
	l.retireUnknown()
}

// inside is how many packets the host holds by what it has counted: what came in less what went
// out.
func inside(a *Answer) int64 {
	in, out := a.Counters.NICs.Injected+a.Received, a.Counters.Ended()+a.Sent
	for _, k := range a.Wire {
		out += k.Wire[0] + k.Wire[1]
	}
	return int64(in - out)
}

// flow takes one session as a host tells of it.
func (l *Ledger) flow(a *Answer, f *Flow) {
	s := between(Channel{}, a.Incarnation, f.Peer)
	side := 0
	if id, ok := l.ends[f.End]; ok {
		s.Channel.Link = id
		if l.links[id].B == f.End {
			side = 1
		}
	} else if f.End.Port == weft.NoPort && l.knows(f.End.Node) {
		s.Channel.Node = f.End.Node
		if a.Incarnation > f.Peer {
			side = 1
		}
	} else {
		l.refuse(a, "the fabric has no link at %v %v", f.End.Node, f.End.Port)
		return
	}
	if side == 1 {
		s.Sides[0], s.Sides[1] = s.Sides[1], s.Sides[0]
	}
	if f.Peer == 0 || f.Peer == a.Incarnation {
		l.refuse(a, "its session at %v %v is with incarnation %d", f.End.Node, f.End.Port, f.Peer)
		return
	}
	if slices.Contains(l.state.Folded, f.Peer) {
		l.order(Order{Kind: Forget, Host: a.Host, Peer: f.Peer})
		return
	}
	if f.Flow.Sent+f.Flow.Received == 0 && l.neverMet(&s, f.Peer) {
		return
	}
	l.add(f.Peer)
	to := l.session(s)
	mine, known := &to.Sides[side], to.Sides[side].Flow
	mine.Flow = f.Flow
	if s.Channel.Node.Kind != 0 {
		mine.Flow.LastTo = max(f.Flow.LastTo, known.LastTo) // the host may not know the latest hand-over yet
	} else if f.Flow.Sent < known.Sent || f.Flow.Received < known.Received {
		forgotten(&mine.Flow, &known)
	}
	l.attributeSession(to)
}

// neverMet reports whether a session cannot have been: the ledger knows who the peer is, and has a
// session of all who ran at the same time. A host that was made for a switch which never came to it
// runs no node, and has met nobody.
func (l *Ledger) neverMet(s *Session, peer Incarnation) bool {
	if p := l.incarnation(peer); p == nil || p.ID == 0 {
		return false
	}
	_, met := l.findSession(s)
	return !met
}

// forgotten puts into f what an end has told before and has forgotten since. An end forgets an
// incarnation that the ledger has put away; the next leader may have an older ledger.
func forgotten(f, known *link.Flow) {
	f.Sent, f.Received = max(f.Sent, known.Sent), max(f.Received, known.Received)
	f.LastFrom, f.LastTo, f.LastSent = known.LastFrom, known.LastTo, known.LastSent
}

// onWire tells, of the packets that one side has sent and the other has not received, how many may
// still come and how many are known to be lost: link.OnWire, for sides that were heard at
// different times.
func onWire(from, to *link.Flow) (wire, lost uint64) {
	if from.LastTo > to.Mine {
		return from.Sent - min(from.Sent, to.Received), 0 // the link has come up anew since: nobody can tell yet
	}
	return link.OnWire(*from, *to)
}

// missing is how many packets side d has sent that are neither received nor known to be lost, and
// how many more than it has told of it must have sent. One of the two is 0.
func (s *Session) missing(d int) (missing, unheard uint64) {
	sent, arrived := s.Sides[d].Flow.Sent, s.Sides[1-d].Flow.Received+s.Lost[d]
	return sent - min(sent, arrived), arrived - min(sent, arrived)
}
