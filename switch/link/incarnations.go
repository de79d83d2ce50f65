package link

import (
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// Incarnation is one life of whatever runs the neighbour of an end. The incarnations of a neighbour
// are a list in the order of First. One that has several ranges of epochs is in it several times. A
// list that does not know all ends with Number 0: who has epochs above that First is not known yet.
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
	// end in Init comes up with whoever names its epoch: all its sessions are in Init then, and
	// while it is not known with whom it is up. Peer is 0 unless the end has heard this incarnation
	// last, and Taken unless it is up with it.
	Flow Flow
}

// period is one time that an end was up, or several with the same incarnation of the neighbour.
type period struct {
	peer           weft.Epoch // of the neighbour, the latest
	owner          uint64     // the incarnation; 0: nobody has said yet
	sent, received uint64     // packets
	last           sending    // in it
}

// periods are those before the latest. An end that comes up once has none.
type periods struct {
	list           []period // bound: maxPeriods
	sent, received uint64   // packets, until the latest began
}

// maxPeriods bounds the periods that are kept. Beyond it the two become one whose epochs are
// closest: a new incarnation begins far from the one before. Chosen by us: more than the
// incarnations that a leader names until its ledger has put them away.
const maxPeriods = 1024

// begin notes that the end has come up.
func (e *End) begin() {
	if e.upWith != 0 {
		r := e.seldom()
		if r.before == nil {
			r.before = new(periods)
		}
		b := r.before
		if p := e.latest(); p.sent+p.received > 0 {
			all := e.Counters()
			b.sent, b.received = all.Sent, all.Received
			if b.list = append(b.list, p); len(b.list) > maxPeriods {
				b.joinClosest()
			}
		}
	}
	if e.upWith = e.peer; e.rare != nil {
		e.rare.upOwner = 0
	}
}

// latest is the latest period.
func (e *End) latest() period {
	r := e.seldomRead()
	all := e.Counters()
	p := period{peer: e.upWith, owner: r.upOwner, sent: all.Sent, received: all.Received}
	if b := r.before; b != nil {
		p.sent, p.received = p.sent-b.sent, p.received-b.received
	}
	if p.sent > 0 {
		p.last = e.lastSending()
	}
	return p
}

// add makes one period of two, of which o is the later.
func (p *period) add(o *period) {
	if o.sent > 0 {
		p.last = o.last
	}
	p.peer, p.owner, p.sent, p.received = o.peer, o.owner, p.sent+o.sent, p.received+o.received
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
// list, or not known yet.
func owner(peers []Incarnation, epoch weft.Epoch) (number uint64) {
	for _, p := range peers {
		if p.First < epoch {
			number = p.Number
		}
	}
	return number
}

// Unnamed is the number of the session of all that passed, while nobody has named any incarnation.
const Unnamed = math.MaxUint64

// Sessions calls do with the session with each of these incarnations of the neighbour, or, without
// any, with that of all. Once an end knows with which incarnation it was up, that stays, whatever
// list comes later. It forgets what passed with incarnations that the list does not have, unless
// they began later than the list knows: what passed with these is the session with number 0.
func (e *End) Sessions(peers []Incarnation, do func(Session)) {
	if len(peers) == 0 {
		do(Session{Unnamed, e.Flow()})
		return
	}
	e.resolve(peers)
	var list []period
	if b := e.seldomRead().before; b != nil {
		list = b.list
	}
	var latest period
	heard := owner(peers, e.peer)
	if e.upWith != 0 {
		latest = e.latest()
		if e.peer == e.upWith {
			heard = latest.owner
		}
	}
next:
	for i, k := range peers {
		for _, o := range peers[:i] {
			if o.Number == k.Number {
				continue next
			}
		}
		var all period
		for j := range list {
			if list[j].with(k.Number, peers) {
				all.add(&list[j])
			}
		}
		if latest.with(k.Number, peers) {
			all.add(&latest)
		}
		do(Session{k.Number, e.sessionFlow(&all, heard, k.Number)})
	}
}

// resolve notes with which incarnations the end was up, makes one period of those with the same,
// and forgets those with incarnations that the list does not have.
func (e *End) resolve(peers []Incarnation) {
	r := e.seldom()
	if r.upOwner == 0 {
		r.upOwner = owner(peers, e.upWith)
	}
	if r.before == nil {
		return
	}
	left := r.before.list[:0]
next:
	for _, p := range r.before.list {
		if p.owner == 0 {
			p.owner = owner(peers, p.peer)
		}
		if !named(p.owner, peers) && !p.with(0, peers) {
			continue
		}
		for i := range left {
			if o := left[i]; p.owner != 0 && o.owner == p.owner {
				o.add(&p)
				left = append(append(left[:i], left[i+1:]...), o)
				continue next
			}
		}
		left = append(left, p)
	}
	r.before.list = left
}

// with reports whether p was with an incarnation that a list has; 0: whether it was with one that
// began later than the list knows.
func (p *period) with(number uint64, peers []Incarnation) bool {
	if number != 0 {
		return p.owner == number
	}
	return p.peer > known(peers) && !named(p.owner, peers)
}

// named reports whether a list has an incarnation.
func named(number uint64, peers []Incarnation) bool {
	return number != 0 && slices.ContainsFunc(peers, func(k Incarnation) bool { return k.Number == number })
}

// KnowsMore reports whether one list of incarnations knows who has later epochs than another. No
// list knows nothing.
func KnowsMore(a, b []Incarnation) bool { return known(a) > known(b) }

// known is the epoch up to which a list knows who has which.
func known(list []Incarnation) weft.Epoch {
	switch n := len(list); {
	case n == 0:
		return 0
	case list[n-1].Number == 0:
		return list[n-1].First
	}
	return math.MaxUint32
}

// sessionFlow is what the end tells of the session with an incarnation, of which it may be the
// neighbour that it has heard last, or that is not known yet.
func (e *End) sessionFlow(p *period, heard, number uint64) Flow {
	f := Flow{
		Mine: e.mine, Sent: p.sent, Received: p.received,
		LastFrom: p.last.from, LastTo: p.last.to, LastSent: p.last.packets,
	}
	if heard == number {
		f.Peer = e.peer
	}
	switch {
	case e.state == Init || e.state == Up && heard == 0:
		f.State = Init
	case e.state == Up && heard == number:
		f.State = Up
		_, f.Taken = e.epoch()
	}
	return f
}
