package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/member"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/credit"
	"github.com/weft-fabric/weft/switch/pace"
	"github.com/weft-fabric/weft/switch/switchd"
)

// What the fabric does with a switch, whoever is it: what the fabric's own emulation has counted, and the processes that
// were the switch, is added to what the process says that is it now.

// Signal gives port p signal or takes it. It returns when the switch has acted on it, unless it is a process that does not
// answer.
func (s *liveSwitch) Signal(p weft.PortID, up bool) {
	if r := s.process(); r != nil {
		_ = r.ask(member.AskPort, member.PortOrder{Port: p, Signal: &up}) // it is told again when it answers
		return
	}
	s.Driver.Signal(p, up)
}

// Impair makes what port p sends suffer.
func (s *liveSwitch) Impair(p weft.PortID, i pace.Impairment) {
	if r := s.process(); r != nil {
		_ = r.ask(member.AskPort, member.PortOrder{Port: p, Impair: &i})
	}
	s.Driver.Impair(p, i) // also for when it is ours again
}

// crashNow loses all that the switch holds.
func (s *liveSwitch) crashNow() {
	if r := s.process(); r != nil {
		_ = r.ask(member.AskCrash, nil)
	}
	s.Do(func(now weft.Time, out *weft.Actions) { s.core.Crash(now, out) })
}

// Stats counts what the drivers of the switch have done.
func (s *liveSwitch) Stats() switchd.Stats {
	st := s.Driver.Stats()
	h := s.who.Load()
	if h == nil {
		return st
	}
	if h.past != nil {
		st = st.Add(h.past.driver)
	}
	if h.process != nil {
		st = st.Add(h.process.last.Load().Driver)
	}
	return st
}

func (s *liveSwitch) snapshot() (sn switching.Snapshot) {
	s.Do(func(weft.Time, *weft.Actions) { sn = s.core.Snapshot() })
	h := s.who.Load()
	if h == nil {
		return sn
	}
	if h.process != nil {
		now := h.process.last.Load().Snapshot
		now.Ports = append([]switching.PortSnapshot(nil), now.Ports...)
		discards := map[string]uint64{}
		for rule, n := range now.Discards {
			discards[rule] = n
		}
		now.Switch, now.Discards = sn.Switch, discards
		addSnapshot(&now, sn.Stats, sn.Discards)
		for i := range sn.Ports {
			addPort(&now.Ports[i], sn.Ports[i].Counters, sn.Ports[i].Lost)
		}
		sn = now
	}
	if h.past != nil {
		addSnapshot(&sn, h.past.stats, h.past.discards)
		for i, p := range h.past.ports {
			addPort(&sn.Ports[i], p.counters, p.queued)
		}
	}
	return sn
}

func addSnapshot(to *switching.Snapshot, st switching.Stats, discards map[string]uint64) {
	to.Stats = addStats(to.Stats, st)
	for rule, n := range discards {
		to.Discards[rule] += n
	}
}

func addPort(to *switching.PortSnapshot, c credit.Counters, lost uint64) {
	to.Counters = addCounters(to.Counters, c)
	to.Lost += lost
}

func addStats(a, b switching.Stats) switching.Stats {
	return switching.Stats{
		Received: a.Received + b.Received, Forwarded: a.Forwarded + b.Forwarded, Decisions: a.Decisions + b.Decisions,
		Rerouted: a.Rerouted + b.Rerouted, UTurns: a.UTurns + b.UTurns, Discarded: a.Discarded + b.Discarded,
		LostQueue: a.LostQueue + b.LostQueue, Requeued: a.Requeued + b.Requeued, LostCrash: a.LostCrash + b.LostCrash,
	}
}

func addCounters(a, b credit.Counters) credit.Counters {
	return credit.Counters{
		Sent: a.Sent + b.Sent, Received: a.Received + b.Received, Gaps: a.Gaps + b.Gaps,
		Duplicates: a.Duplicates + b.Duplicates, Stale: a.Stale + b.Stale, Violations: a.Violations + b.Violations,
	}
}

func (s *liveSwitch) stats() (st switching.Stats) {
	s.Do(func(weft.Time, *weft.Actions) { st = s.core.Stats() })
	h := s.who.Load()
	if h == nil {
		return st
	}
	if h.past != nil {
		st = addStats(st, h.past.stats)
	}
	if h.process != nil {
		st = addStats(st, h.process.last.Load().Snapshot.Stats)
	}
	return st
}

// discards calls f with each rule that has discarded packets, and how many; a rule may come several times.
func (s *liveSwitch) discards(f func(rule string, packets uint64)) {
	s.Do(func(weft.Time, *weft.Actions) { s.core.Discards(f) })
	h := s.who.Load()
	if h == nil {
		return
	}
	if h.past != nil {
		for rule, n := range h.past.discards {
			f(rule, n)
		}
	}
	if h.process != nil {
		for rule, n := range h.process.last.Load().Snapshot.Discards {
			f(rule, n)
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
	if p := s.process(); p != nil {
		n += p.last.Load().Snapshot.Held
	}
	return n
}

// end is what the ledger needs of one port.
func (s *liveSwitch) end(p weft.PortID) (e endState) {
	s.Do(func(weft.Time, *weft.Actions) {
		c, queued := s.core.PortCounters(p)
		e = endState{flow: s.core.Flow(p), sent: c.Sent, queued: queued, held: s.core.Suppressed(p)}
	})
	h := s.who.Load()
	if h == nil {
		return e
	}
	if h.process != nil {
		a := h.process.last.Load()
		flow := a.Flows[p]
		flow.Sent, flow.Received = flow.Sent+e.flow.Sent, flow.Received+e.flow.Received
		e = endState{flow: flow, queued: e.queued + a.Snapshot.Ports[p].Lost, held: a.Snapshot.Ports[p].Suppressed, remote: true}
	}
	if h.past != nil {
		e.flow.Sent += h.past.ports[p].counters.Sent
		e.flow.Received += h.past.ports[p].counters.Received
		e.queued += h.past.ports[p].queued
	}
	e.sent = e.flow.Sent
	return e
}

// onWire is credit.OnWire for ends of which one may be known by what a process said some moments ago.
func onWire(from, to endState) (wire, lost uint64) {
	if to.remote && from.flow.LastTo > to.flow.Mine {
		return 0, 0 // its link has come up anew since then: nobody can tell yet
	}
	return credit.OnWire(from.flow, to.flow)
}

func isUp(s credit.State) bool { return s == credit.Up }
