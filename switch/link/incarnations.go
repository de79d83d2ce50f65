package link

import "github.com/weft-fabric/weft"

// Incarnation is one life of whatever runs the neighbour of an end.
type Incarnation struct {
	Number uint64
	First  weft.Epoch // below all its epochs, above those of what is before it in a list
}

// Session is what passed between an end and one incarnation of its neighbour.
type Session struct {
	Peer uint64 // the number of the incarnation
	// Flow counts the packets of this session alone, and has the epochs in which the end last sent.
	// Mine is the epoch of the end now. State is Down if the end has no signal or is up with
	// another incarnation: then nothing that was sent to epochs up to Mine is received any more. An
	// end in Init comes up with whoever names its epoch: all its sessions are in Init then. Peer is
	// 0 unless the end has heard this incarnation last, and Taken unless it is up with it.
	Flow Flow
}

// period is one time that an end was up, or several with the same incarnation of the neighbour.
type period struct {
	peer           weft.Epoch // of the neighbour, the latest
	sent, received uint64     // packets
	last           sending    // in it
}

// periods are those before the latest. An end that comes up once has none.
type periods struct {
	list           []period // bound: maxPeriods
	sent, received uint64   // packets, until the latest began
}

// maxPeriods bounds the periods that are kept while nobody asks for the sessions. Beyond it the two
// become one whose epochs are closest: a new incarnation begins far from the one before. Chosen by
// us: twice the incarnations that a leader asks for, so that there is room for others in between.
const maxPeriods = 128

// begin notes that the end has come up.
func (e *End) begin() {
	if e.upWith != 0 {
		if e.before == nil {
			e.before = new(periods)
		}
		b := e.before
		if p := e.latest(); p.sent+p.received > 0 {
			b.sent, b.received = e.counters.Sent, e.counters.Received
			if b.list = append(b.list, p); len(b.list) > maxPeriods {
				b.joinClosest()
			}
		}
	}
	e.upWith = e.peer
}

// latest is the latest period.
func (e *End) latest() period {
	p := period{peer: e.upWith, sent: e.counters.Sent, received: e.counters.Received}
	if b := e.before; b != nil {
		p.sent, p.received = p.sent-b.sent, p.received-b.received
	}
	if p.sent > 0 {
		p.last = e.last
	}
	return p
}

// add makes one period of two, of which o is the later.
func (p *period) add(o *period) {
	if o.sent > 0 {
		p.last = o.last
	}
	p.peer, p.sent, p.received = o.peer, p.sent+o.sent, p.received+o.received
}

func (b *periods) joinClosest() {
	apart := func(i int) weft.Epoch {
		x, y := b.list[i-1].peer, b.list[i].peer
		return max(x, y) - min(x, y)
	}
	at := 1
	for i := range b.list {
		if i > 0 && apart(i) < apart(at) {
			at = i
		}
	}
	b.list[at-1].add(&b.list[at])
	b.list = append(b.list[:at], b.list[at+1:]...)
}

// owner is the number of the incarnation that an epoch is of; 0: it is of one before all in the
// list.
func owner(peers []Incarnation, epoch weft.Epoch) (number uint64) {
	for _, p := range peers {
		if p.First < epoch {
			number = p.Number
		}
	}
	return number
}

// Sessions calls do with the session with each of these incarnations of the neighbour, which are in
// the order of their epochs. One that has several ranges of epochs is in the list several times.
// What passed with incarnations before the first is left out from here on.
func (e *End) Sessions(peers []Incarnation, do func(Session)) {
	e.join(peers)
	var latest period
	if e.upWith != 0 {
		latest = e.latest()
	}
next:
	for i, k := range peers {
		for _, o := range peers[:i] {
			if o.Number == k.Number {
				continue next
			}
		}
		var all period
		if b := e.before; b != nil {
			for j := range b.list {
				if owner(peers, b.list[j].peer) == k.Number {
					all.add(&b.list[j])
				}
			}
		}
		if owner(peers, latest.peer) == k.Number {
			all.add(&latest)
		}
		do(Session{k.Number, e.sessionFlow(&all, owner(peers, e.peer) == k.Number)})
	}
}

// join makes one period of those with the same incarnation.
func (e *End) join(peers []Incarnation) {
	if e.before == nil {
		return
	}
	left := e.before.list[:0]
next:
	for _, p := range e.before.list {
		who := owner(peers, p.peer)
		if who == 0 {
			continue
		}
		for i := range left {
			if o := left[i]; owner(peers, o.peer) == who {
				o.add(&p)
				left = append(append(left[:i], left[i+1:]...), o)
				continue next
			}
		}
		left = append(left, p)
	}
	e.before.list = left
}

// sessionFlow is what the end tells of a session. heard: the neighbour's epoch is of it.
func (e *End) sessionFlow(p *period, heard bool) Flow {
	f := Flow{
		Mine: e.mine, Sent: p.sent, Received: p.received,
		LastFrom: p.last.from, LastTo: p.last.to, LastSent: p.last.packets,
	}
	if heard {
		f.Peer = e.peer
	}
	switch {
	case e.state == Init:
		f.State = Init
	case e.state == Up && heard:
		f.State = Up
		for i := range e.ch {
			f.Taken += e.ch[i].received
		}
	}
	return f
}
