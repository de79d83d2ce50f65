package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/part"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
)

// What a switch that no part of the options runs has counted, whoever is it: what the fabric's own emulation has, and the processes that
// are the switch, or were.

// counted is what processes have counted as the switch; nil: none was.
func (s *liveSwitch) counted() *account {
	if g := s.guest.Load(); g != nil {
		return g.known.Load()
	}
	return nil
}

// crashNow loses all that the fabric's own emulation holds.
func (s *liveSwitch) crashNow() {
	s.Do(func(now weft.Time, out *weft.Actions) { s.core.Crash(now, out) })
}

// Stats counts what the drivers of the switch have done.
func (s *liveSwitch) Stats() switchd.Stats {
	st := s.Driver.Stats()
	if a := s.counted(); a != nil {
		st = st.Add(a.all.Drivers)
	}
	return st
}

// snapshot is the state of the switch. That of the process which is it now, when it has been asked, is now; nil: it was not, or does not
// answer, or there is none, and of what it has told last there is the counters.
func (s *liveSwitch) snapshot(now *switching.Snapshot) (sn switching.Snapshot) {
	s.Do(func(weft.Time, *weft.Actions) { sn = s.core.Snapshot() })
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

func (s *liveSwitch) stats() (st switching.Stats) {
	s.Do(func(weft.Time, *weft.Actions) { st = s.core.Stats() })
	if a := s.counted(); a != nil {
		ledger.Add(&st, &a.all.Counters.Switches)
	}
	return st
}

// discards calls f with each rule that has discarded packets, and how many; a rule may come several times.
func (s *liveSwitch) discards(f func(rule string, packets uint64)) {
	s.Do(func(weft.Time, *weft.Actions) { s.core.Discards(f) })
	if a := s.counted(); a != nil {
		for _, r := range a.all.Discards {
			f(r.Name, r.Packets)
		}
	}
}

// lostCrash is how many packets were inside when it crashed.
func (s *liveSwitch) lostCrash() uint64 {
	if s.part != nil {
		return s.part.known.Load().crash[s.id]
	}
	return s.stats().LostCrash
}

// held is how many packets are inside.
func (s *liveSwitch) held() (n int) {
	s.Do(func(weft.Time, *weft.Actions) { n = s.core.Held() })
	if a := s.counted(); a != nil {
		n += int(a.all.Held)
	}
	return n
}

// timers is how long a register of it is kept that has a timer running; 0: none has.
func (s *liveSwitch) timers() (t weft.Time) {
	s.Do(func(weft.Time, *weft.Actions) { t = s.core.Timer() })
	if a := s.counted(); a != nil {
		t = max(t, a.all.Timers)
	}
	return t
}

// own is what the fabric's own emulation says of one port.
func (s *liveSwitch) own(p weft.PortID) (e endState) {
	s.Do(func(weft.Time, *weft.Actions) {
		c, queued := s.core.PortCounters(p)
		e = endState{flow: s.core.Flow(p), sent: c.Sent, queued: queued, held: s.core.Suppressed(p)}
	})
	return e
}

// end is what the ledger needs of one port.
func (s *liveSwitch) end(p weft.PortID) endState {
	e, a := s.own(p), s.counted()
	if a == nil {
		return e
	}
	there, own := a.ends[weft.End{Node: s.id.Node(), Port: p}], e
	if s.process() != nil {
		e = there // its state is that of the link, and the counts are those of both
	}
	e.flow.Sent, e.flow.Received = own.flow.Sent+there.flow.Sent, own.flow.Received+there.flow.Received
	e.sent, e.queued = e.flow.Sent, own.queued+there.queued
	return e
}

// read reads the switch for those who watch. Of a process it is what that last said.
func (s *liveSwitch) read(r *switching.Reading) {
	if s.part != nil {
		*r = s.part.readSwitch(s.id)
		return
	}
	s.Do(func(weft.Time, *weft.Actions) { s.core.Read(r) })
	a := s.counted()
	if a == nil {
		return
	}
	ledger.Add(&r.Stats, &a.all.Counters.Switches)
	r.Held, r.Blocked = r.Held+int(a.all.Held), r.Blocked+int(a.all.Blocked)
	for i := range r.Ports {
		e := s.end(weft.PortID(i))
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
