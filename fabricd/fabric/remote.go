package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/part"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// A switch that processes are, or were, has counted what these have, and what the fabric's own emulation has that was the switch
// before.

// snapshot is the state of the switch, whose own emulation has a state of its own. That of the process which is it now, when it has been
// asked, is now; nil: it was not, or does not answer, or there is none, and of what it has told last there is the counters.
func (s *liveSwitch) snapshot(sn switching.Snapshot, now *switching.Snapshot) switching.Snapshot {
	g := s.guest.Load()
	if g == nil {
		return sn
	}
	a := g.known.Load()
	if own := sn; now != nil && len(now.Ports) == len(own.Ports) {
		g.mu.Lock()
		a = g.account(0, part.Sum{}, g.past) // but for what now says itself
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
	}
	if now == nil && s.process() != nil {
		for i := range sn.Ports {
			sn.Ports[i].VCs = nil // what is in it nobody knows
		}
	}
	sn.Held += int(a.all.Held)
	ledger.Add(&sn.Stats, &a.all.Counters.Switches)
	for _, r := range a.all.Discards {
		sn.Discards[r.Name] += r.Packets
	}
	for e, end := range a.ends {
		addPort(&sn.Ports[e.Port], linkend.Counters{Sent: end.flow.Sent, Received: end.flow.Received}, end.queued)
	}
	return sn
}

func addPort(to *switching.PortSnapshot, c linkend.Counters, lost uint64) {
	n := &to.Counters
	n.Sent, n.Received, n.Gaps = n.Sent+c.Sent, n.Received+c.Received, n.Gaps+c.Gaps
	n.Duplicates, n.Stale, n.Violations = n.Duplicates+c.Duplicates, n.Stale+c.Stale, n.Violations+c.Violations
	to.Lost += lost
}

// lostCrash is how many packets were inside when it crashed.
func (s *liveSwitch) lostCrash() uint64 {
	n := s.part.lostCrash(s.id)
	if g := s.guest.Load(); g != nil {
		n += g.known.Load().all.Counters.Switches.LostCrash
	}
	return n
}

// over is an end of the switch that processes are or were, of which the fabric's own emulation has a state of its own.
func (p *outpost) over(own endState, e weft.End) endState {
	there, s := p.known.Load().ends[e], own
	if p.holder.Load() != nil {
		s = there // its state is that of the link, and the counts are those of both
	}
	s.flow.Sent, s.flow.Received = own.flow.Sent+there.flow.Sent, own.flow.Received+there.flow.Received
	s.sent, s.queued = s.flow.Sent, own.queued+there.queued
	return s
}

// read reads the switch for those who watch. Of a process it is what that last said.
func (s *liveSwitch) read(r *switching.Reading) {
	s.part.switchNow(s.id, r)
	s.addProcess(r)
}

// addProcess adds to a reading of the fabric's own emulation what processes that are or were the switch have told.
func (s *liveSwitch) addProcess(r *switching.Reading) {
	g := s.guest.Load()
	if g == nil {
		return
	}
	a := g.known.Load()
	ledger.Add(&r.Stats, &a.all.Counters.Switches)
	r.Held, r.Blocked = r.Held+int(a.all.Held), r.Blocked+int(a.all.Blocked)
	for i := range r.Ports {
		p := &r.Ports[i]
		e := g.over(endState{flow: p.Flow, sent: p.Flow.Sent, queued: p.Lost, held: p.Suppressed}, weft.End{Node: s.id.Node(), Port: weft.PortID(i)})
		r.Ports[i].Flow, r.Ports[i].Lost, r.Ports[i].Suppressed = e.flow, e.queued, e.held
	}
	if p := s.process(); p != nil {
		now := p.readSwitch(s.id)
		r.Registers = append(r.Registers[:0], now.Registers...)
		for i := range now.Ports {
			r.Ports[i].Queued += now.Ports[i].Queued
		}
	}
}

// onWire is linkend.OnWire for ends of which one may be known by what a process said some moments ago.
func onWire(from, to endState) (wire, lost uint64) {
	if to.remote && from.flow.LastTo > to.flow.Mine {
		return 0, 0 // its link has come up anew since then: nobody can tell yet
	}
	return linkend.OnWire(from.flow, to.flow)
}
