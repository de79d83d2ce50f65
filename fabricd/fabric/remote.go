package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// A switch that processes are, or were, has counted what these have, and what the fabric's own
// emulation has that was the switch before.

// snapshot is the state of the switch, whose own emulation has a state of its own. That of the
// process which is it now, when it has been asked, is now; nil: it was not, or does not answer, or
// there is none, and of what it has told last there is the counters.
func (s *liveSwitch) snapshot(sn switching.Snapshot, now *switching.Snapshot) switching.Snapshot {
	g := s.own.Load()
	if g == nil {
		return sn
	}
	but := ledger.Incarnation(0)
	if own := sn; now != nil && len(now.Ports) == len(own.Ports) {
		g.mu.Lock()
		but = ledger.Incarnation(g.number) // now says itself
		g.mu.Unlock()
		sn = *now
		sn.Switch, sn.Stats, sn.Discards = own.Switch, now.Stats, own.Discards
		ledger.Add(&sn.Stats, &own.Stats)
		for rule, n := range now.Discards {
			sn.Discards[rule] += n
		}
		for i, p := range own.Ports {
			addPort(&sn.Ports[i], p.Counters, p.Lost)
		}
	} else {
		sn.Held += int(g.counters.Load().own.Held)
	}
	if now == nil && s.moved.Load() {
		for i := range sn.Ports {
			sn.Ports[i].VCs = nil // what is in it nobody knows
		}
	}
	all, totals := g.retiredCounters(but), g.linkTotals(but)
	ledger.Add(&sn.Stats, &all.Counters.Switches)
	for _, r := range all.Discards {
		sn.Discards[r.Name] += r.Packets
	}
	for _, p := range totals {
		addPort(&sn.Ports[p.End.Port], linkend.Counters{Sent: p.Sent, Received: p.Received}, 0)
	}
	for _, q := range all.Queue {
		sn.Ports[q.End.Port].Lost += q.Packets
	}
	return sn
}

// retiredCounters is what all incarnations of h have counted but for one.
func (h *hostState) retiredCounters(but ledger.Incarnation) (all ledger.Counted) {
	h.site.ledger.read(func(l *ledger.Ledger) { all = l.OfHost(h.id, but) })
	return all
}

// linkTotals is what these have told of their ends of links to other hosts.
func (h *hostState) linkTotals(but ledger.Incarnation) (list []ledger.LinkTotal) {
	h.site.ledger.read(func(l *ledger.Ledger) { list = l.LinkTotals(h.id, but) })
	return list
}

func addPort(to *switching.PortSnapshot, c linkend.Counters, lost uint64) {
	n := &to.Counters
	n.Sent, n.Received, n.Gaps = n.Sent+c.Sent, n.Received+c.Received, n.Gaps+c.Gaps
	n.Duplicates, n.Stale, n.Violations = n.Duplicates+c.Duplicates, n.Stale+c.Stale, n.Violations+c.Violations
	to.Lost += lost
}

// read reads the switch for those who watch. Of a process it is what that last said.
func (s *liveSwitch) read(r *switching.Reading) {
	s.home.switchNow(s.id, r)
	s.addProcess(r)
}

// addProcess adds to a reading of the fabric's own emulation what processes that are or were the
// switch have told.
func (s *liveSwitch) addProcess(r *switching.Reading) {
	g := s.own.Load()
	if g == nil {
		return
	}
	all, totals := g.retiredCounters(0), g.linkTotals(0)
	own := &g.counters.Load().own
	ledger.Add(&r.Stats, &all.Counters.Switches)
	r.Held, r.Blocked = r.Held+int(own.Held), r.Blocked+int(own.Blocked)
	for _, p := range totals {
		f := &r.Ports[p.End.Port].Flow
		f.Sent, f.Received = f.Sent+p.Sent, f.Received+p.Received
	}
	for _, q := range all.Queue {
		r.Ports[q.End.Port].Lost += q.Packets
	}
	if h := g; s.moved.Load() {
		now := h.readSwitch(s.id)
		r.Registers, r.Oldest = append(r.Registers[:0], now.Registers...), now.Oldest
		for i := range now.Ports {
			r.Ports[i].Queued += now.Ports[i].Queued
			r.Ports[i].Suppressed = h.held(weft.End{Node: s.id.Node(), Port: weft.PortID(i)})
		}
	}
}

// sentAt is how many packets an end of a link has sent since the start, as far as hosts have told;
// of a link inside a host in another process, since that was made, and as it was read last.
func (rd *reader) sentAt(e weft.End, totals map[*hostState][]ledger.LinkTotal) uint64 {
	h := rd.home(e.Node)
	if h.late() {
		list, ok := totals[h]
		if !ok {
			list = h.linkTotals(0)
			totals[h] = list
		}
		if n := linkTotalAt(list, e); n.Sent > 0 {
			return n.Sent
		}
	}
	if !e.Node.IsSwitch() {
		return h.nicNow(weft.NICID(e.Node.Index)).Flow.Sent
	}
	var r switching.Reading
	rd.switches[e.Node.Index].read(&r)
	return r.Ports[e.Port].Flow.Sent
}
