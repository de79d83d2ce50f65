package ledger

import (
	"cmp"
	"slices"
)

// fold puts away the incarnations of which nothing can become more certain: they are gone for good,
// and every neighbour has told all that passed between them. What they come to stays.
func (l *Ledger) fold() {
	old := func(h *Host) bool { return h.Gone && h.Since <= l.state.Now-foldAfter }
	if !slices.ContainsFunc(l.state.Hosts, func(h Host) bool { return old(&h) }) {
		return
	}
	list := l.makeUp()
	keep := make([]bool, len(list)) // by group
	for i, m := range list {
		keep[m.group] = keep[m.group] || m.doubt || !old(&l.state.Hosts[i])
	}
	for l.keepNeighbours(list, keep) { // which may keep others in turn
	}
	l.foldSessions(func(n Incarnation) bool {
		i, ok := l.find(n)
		return ok && !keep[list[i].group]
	})
	remaining := l.state.Hosts[:0]
	for i, h := range l.state.Hosts {
		if keep[list[i].group] {
			remaining = append(remaining, h)
			continue
		}
		l.foldHost(&h, list[i].held)
	}
	clear(l.state.Hosts[len(remaining):])
	l.state.Hosts = remaining
	if more := len(l.state.Folded) - maxFolded; more > 0 {
		l.state.Folded = slices.Delete(l.state.Folded, 0, more)
	}
}

// keepNeighbours has the groups kept of which one that is kept has yet to tell, or holds packets,
// and reports whether there are any. Groups that go together need not wait for each other.
func (l *Ledger) keepNeighbours(list []made, keep []bool) (more bool) {
	for i := range l.state.Sessions {
		s := &l.state.Sessions[i]
		at, _ := l.positions(s)
		for d := range s.Sides {
			g, o, other := list[at[d]].group, list[at[1-d]].group, &l.state.Hosts[at[1-d]]
			if g == o || keep[g] {
				continue
			}
			missing, _ := s.missing(d)
			switch {
			case keep[o] && (missing > 0 || !s.over(1-d, other, &l.state.Hosts[at[d]])), missing > 0 && !other.uncertain():
				keep[g], more = true, true
			}
		}
	}
	return more
}

// foldHost adds up what an incarnation comes to.
func (l *Ledger) foldHost(h *Host, held int64) {
	l.retired(h.ID).Add(&h.Counted)
	l.state.Folded = append(l.state.Folded, h.Incarnation)
	if h.Status != Failed {
		return
	}
	dead := uint64(max(0, held))
	gone := &l.state.Gone
	gone.WrittenOff, gone.Unheard = gone.WrittenOff+dead, gone.Unheard+uint64(max(0, -held))
	if in := l.incident(h.Incident); in != nil {
		in.Lost.Crash += dead
	} else {
		l.state.Unattributed.Crash += dead
	}
}

// retired is what the folded incarnations of a host come to.
func (l *Ledger) retired(id HostID) *RetiredCounters {
	i, ok := l.findRetired(id)
	if !ok {
		l.state.Retired = slices.Insert(l.state.Retired, i, RetiredCounters{Host: id})
	}
	return &l.state.Retired[i]
}

// findRetired is where that is, or would be.
func (l *Ledger) findRetired(id HostID) (int, bool) {
	return slices.BinarySearchFunc(l.state.Retired, id,
		func(p RetiredCounters, id HostID) int { return cmp.Compare(p.Host, id) })
}

// foldSessions adds up what the sessions of incarnations have lost that go, and has their
// neighbours forget them.
func (l *Ledger) foldSessions(goes func(n Incarnation) bool) {
	var lost Counted
	l.state.Sessions = slices.DeleteFunc(l.state.Sessions, func(s Session) bool {
		away := [2]bool{goes(s.Sides[0].Incarnation), goes(s.Sides[1].Incarnation)}
		if !away[0] && !away[1] {
			return false
		}
		for d := range away {
			if h := l.incarnation(s.Sides[d].Incarnation); !away[d] && h != nil && !h.Gone {
				o := Order{Kind: Forget, Host: h.ID, Peer: s.Sides[1-d].Incarnation}
				if !slices.Contains(l.orders, o) {
					l.order(o)
				}
			}
		}
		for d := range s.Sides {
			if h := l.incarnation(s.Sides[d].Incarnation); h != nil && s.Channel.Node.Kind == 0 {
				f, retired := &s.Sides[d].Flow, l.retired(h.ID)
				retired.LinkTotals = addLinkTotals(retired.LinkTotals,
					[]LinkTotal{{l.links[s.Channel.Link].ends()[d], f.Sent, f.Received}})
			}
		}
		switch k := len(lost.Wire); {
		case s.Channel.Node.Kind != 0:
			l.state.Gone.HandedOver += s.Lost[0] + s.Lost[1]
		case s.Lost == [2]uint64{}:
		case k > 0 && lost.Wire[k-1].Link == s.Channel.Link:
			lost.Wire[k-1].Wire[0] += s.Lost[0]
			lost.Wire[k-1].Wire[1] += s.Lost[1]
		default:
			lost.Wire = append(lost.Wire, LinkLost{s.Channel.Link, s.Lost})
		}
		return true
	})
	l.retired(0).Add(&lost)
}
