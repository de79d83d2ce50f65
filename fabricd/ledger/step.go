package ledger

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
)

// Chosen by us.
const (
	// Settle is how long after a repair the effects of a fault are counted: longer than re-route
	// vectors last (500 ms) and than packets that went another way are under way.
	Settle = weft.Second
	// foldAfter is how long an incarnation is kept that is gone for good: far longer than an answer
	// can be late.
	foldAfter = 30 * weft.Second
	// maxFolded bounds the folded incarnations that are remembered, so that what a neighbour still
	// says of them is known to be old. Each mention has the neighbour told to forget them.
	maxFolded = 4096
)

// Step takes an event at a time and returns what the leader is to do, in order. The slice is the
// ledger's and lasts until the next Step. Times do not go backwards; one that does counts as the
// time before. An event that cannot be changes nothing and is answered by an order of kind
// [Refuse].
func (l *Ledger) Step(now weft.Time, ev Event) []Order {
	l.orders = l.orders[:0]
	l.state.Now = max(now, l.state.Now)
	switch e := ev.(type) {
	case HostStarted:
		l.started(e)
	case HostSuspect:
		l.suspect(e)
	case HostFailed:
		l.failed(e.Host, e.Incident, false)
	case HostEnded:
		l.failed(e.Host, e.Incident, true)
	case NodeMoved:
		l.moved(e)
	case FaultBegan:
		l.begin(Incident{Kind: e.Kind, Target: e.Target, Links: e.Links, Switches: e.Switches})
		if e.Late {
			l.attributeLate()
		}
	case FaultEnded:
		l.repaired(e.Incident)
	case LeaderChanged:
		l.leaderChanged()
	case *Answer:
		l.answer(e)
	case Tick:
		l.closeIncidents(now)
		l.fold()
	}
	return l.orders
}

// leaderChanged has nobody heard of those that are not gone.
func (l *Ledger) leaderChanged() {
	if !slices.ContainsFunc(l.state.Hosts, func(h Host) bool { return !h.Gone && !h.Heard }) {
		l.state.Unheard++
	}
	for i := range l.state.Hosts {
		if h := &l.state.Hosts[i]; !h.Gone {
			if h.Heard, h.Unheard = false, l.state.Unheard; h.uncertain() { // the leader before may have had it back meanwhile
				h.Since = l.state.Now
			}
			l.order(Order{Kind: Query, Host: h.ID})
		}
	}
}

// refuse tells that a host said what cannot be.
func (l *Ledger) refuse(a *Answer, format string, args ...any) {
	who := fmt.Sprintf("host %d, incarnation %d: ", a.Host, a.Incarnation)
	l.order(Order{Kind: Refuse, Host: a.Host, Why: who + fmt.Sprintf(format, args...)})
}

// started begins a new incarnation of a host. The one before it, if it has not ended in order, has
// failed. One that a later incarnation has taken the place of, which another leader knew of, is
// gone already.
func (l *Ledger) started(e HostStarted) {
	if h := l.incarnation(e.Incarnation); h != nil && h.ID != 0 || e.Host == 0 || e.Incarnation == 0 {
		return // it has answered before the leader said so
	}
	late := false
	for i := range l.state.Hosts {
		h := &l.state.Hosts[i]
		switch {
		case h.ID != e.Host:
		case h.Incarnation > e.Incarnation:
			late = true
		case !h.Gone:
			l.fail(h, 0, true)
		}
	}
	h := l.add(e.Incarnation)
	h.ID, h.Gone, h.Heard = e.Host, false, true
	if l.back(h); late {
		l.fail(h, 0, true)
		return
	}
	for _, n := range e.Nodes {
		if l.knows(n) {
			l.place(n, e.Host)
		}
	}
	l.meet(func(n weft.Node) bool { return l.placed(n) == e.Host })
}

// add makes room for an incarnation, unless a neighbour has named it before.
func (l *Ledger) add(n Incarnation) *Host {
	i, ok := l.find(n)
	if !ok {
		h := Host{Incarnation: n, Status: Suspect, Since: l.state.Now, Unheard: l.state.Unheard}
		l.state.Hosts = slices.Insert(l.state.Hosts, i, h)
	}
	return &l.state.Hosts[i]
}

// suspect notes that a host does not answer. Said once more, it counts from then: an answer to a
// question from before says nothing about it.
func (l *Ledger) suspect(e HostSuspect) {
	h := l.current(e.Host)
	if h == nil || h.Status != Alive && h.Status != Suspect {
		return
	}
	h.Status, h.Since = Suspect, l.state.Now
	l.beginHost(h, e.Incident)
}

func (l *Ledger) failed(id HostID, incident int, gone bool) {
	h := l.current(id)
	if h == nil {
		return
	}
	l.fail(h, incident, gone)
	l.retireUnknown()
}

// fail notes that nobody answers for h, and has its neighbours asked what has passed.
func (l *Ledger) fail(h *Host, incident int, gone bool) {
	h.Gone = h.Gone || gone
	if h.Status == Alive || h.Status == Suspect {
		h.Status, h.Since = Failed, l.state.Now
		l.beginHost(h, incident)
		l.eachSession(h.Incarnation, func(s *Session, side int) {
			if p := l.incarnation(s.Sides[1-side].Incarnation); p != nil && p.Status == Alive {
				l.query(p.ID)
			}
		})
	}
	if gone {
		l.endHost(h)
	}
}

// query orders that a host is asked, once a step.
func (l *Ledger) query(id HostID) {
	if o := (Order{Kind: Query, Host: id}); !slices.Contains(l.orders, o) {
		l.order(o)
	}
}

// back notes that a host answers again and is what it was.
func (l *Ledger) back(h *Host) {
	l.endHost(h)
	h.Status, h.Since, h.Incident = Alive, l.state.Now, 0
}

// retireUnknown finds the incarnations that neighbours have named and no host is, once every host
// is known to be another or to have failed: they are gone.
func (l *Ledger) retireUnknown() {
	for i := range l.state.Hosts {
		if h := &l.state.Hosts[i]; h.ID != 0 && !h.Gone && h.Status != Failed && !h.Heard {
			return
		}
	}
	for i := range l.state.Hosts {
		if h := &l.state.Hosts[i]; h.ID == 0 && !h.Gone {
			l.fail(h, 0, true)
		}
	}
}

// moved notes where a node runs, and that what it held is on its way.
func (l *Ledger) moved(e NodeMoved) {
	if !l.knows(e.Node) {
		return
	}
	from, to := l.current(l.placed(e.Node)), l.current(e.To)
	l.place(e.Node, e.To)
	l.meet(func(n weft.Node) bool { return n == e.Node })
	if e.HandOver == 0 || from == nil || to == nil || from == to {
		return
	}
	s := between(Channel{Node: e.Node}, from.Incarnation, to.Incarnation)
	side := 0
	if from.Incarnation > to.Incarnation {
		side, s.Sides[0], s.Sides[1] = 1, s.Sides[1], s.Sides[0]
	}
	flow := &l.session(s).Sides[side].Flow
	flow.LastTo = max(flow.LastTo, e.HandOver)
}

// meet begins the sessions on the links of nodes, which their hosts may have from now on: what a
// host has not told of, it may have done all the same.
func (l *Ledger) meet(moved func(n weft.Node) bool) {
	for i, k := range l.links {
		if !moved(k.A.Node) && !moved(k.B.Node) {
			continue
		}
		a, b := l.current(l.placed(k.A.Node)), l.current(l.placed(k.B.Node))
		if a != nil && b != nil && a != b && !a.Gone && !b.Gone {
			l.session(between(Channel{Link: weft.LinkID(i)}, a.Incarnation, b.Incarnation))
		}
	}
}

// between is a session that nobody has told of.
func between(c Channel, a, b Incarnation) Session {
	return Session{Channel: c, Sides: [2]Side{{Incarnation: a}, {Incarnation: b}}}
}

// session is the session like s, which begins now unless there is one.
func (l *Ledger) session(s Session) *Session {
	i, met := l.findSession(&s)
	if !met {
		l.state.Sessions = slices.Insert(l.state.Sessions, i, s)
	}
	return &l.state.Sessions[i]
}

// findSession is where the session like s is, or would be.
func (l *Ledger) findSession(s *Session) (int, bool) {
	i := search(len(l.state.Sessions), func(i int) bool { return l.state.Sessions[i].compare(s) >= 0 })
	return i, i < len(l.state.Sessions) && l.state.Sessions[i].compare(s) == 0
}

// eachSession calls do with the sessions of an incarnation, and which side it is.
func (l *Ledger) eachSession(n Incarnation, do func(s *Session, side int)) {
	for i := range l.state.Sessions {
		s := &l.state.Sessions[i]
		for side := range s.Sides {
			if s.Sides[side].Incarnation == n {
				do(s, side)
			}
		}
	}
}
