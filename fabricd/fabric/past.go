package fabric

import (
	"maps"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/member"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/credit"
	"github.com/weft-fabric/weft/switch/switchd"
)

// past is what processes have counted that are a switch no more, added up. Constant.
type past struct {
	ports    []pastPort
	stats    switching.Stats
	discards map[string]uint64
	driver   switchd.Stats
}

type pastPort struct {
	counters credit.Counters
	queued   uint64 // packets lost in its output queue
}

// plus is p and what one more process has counted.
func (p *past) plus(a *member.Answer) *past {
	sum := &past{ports: make([]pastPort, len(a.Snapshot.Ports)), discards: map[string]uint64{}}
	if p != nil {
		copy(sum.ports, p.ports)
		maps.Copy(sum.discards, p.discards)
		sum.stats, sum.driver = p.stats, p.driver
	}
	for i, s := range a.Snapshot.Ports {
		sum.ports[i].counters = addCounters(sum.ports[i].counters, s.Counters)
		sum.ports[i].queued += s.Lost
	}
	for rule, n := range a.Snapshot.Discards {
		sum.discards[rule] += n
	}
	sum.stats = addStats(sum.stats, a.Snapshot.Stats)
	sum.driver = sum.driver.Add(a.Driver)
	return sum
}

// bury makes what p has counted final, when it cannot be asked any more. Its neighbours have no signal from it, so their
// counters stand. What it had received is what they had sent but for what is known to have been lost on the way, and what
// it had sent is what they have received. Between the two are the packets that died with it; which of these it had
// discarded or sent in its last moments nobody can tell. The caller holds mu.
func (f *Fabric) bury(p *process) {
	s := p.sw
	h := s.who.Load()
	a := *p.last.Load()
	a.Snapshot.Ports = append([]switching.PortSnapshot(nil), a.Snapshot.Ports...)
	through := make([]passage, len(a.Snapshot.Ports))
	for i := range a.Snapshot.Ports {
		c, t := &a.Snapshot.Ports[i].Counters, &through[i]
		t.received, t.sent = c.Received, c.Sent
		own := weft.End{Node: s.id.Node(), Port: weft.PortID(i)}
		peer, _, ok := f.graph.Peer(own)
		if !ok {
			continue
		}
		mine, theirs := f.endState(own), f.endState(peer)
		_, t.doubtful = onWire(theirs, mine)
		// The counters are those of the process, the flow counts since the start.
		t.received += theirs.flow.Sent - min(theirs.flow.Sent, t.doubtful+mine.flow.Received)
		p.mu.Lock()
		sent := theirs.flow.Received + p.lostOut[i]
		p.mu.Unlock()
		t.sent += max(sent, mine.flow.Sent) - mine.flow.Sent
	}
	st := &a.Snapshot.Stats
	st.LostCrash += died(through, st.Discarded+st.LostQueue+st.LostCrash)
	for i, t := range through {
		c := &a.Snapshot.Ports[i].Counters
		c.Received, c.Sent = t.received, t.sent
	}
	s.who.Store(&holding{past: h.past.plus(&a)})
}

// passage is what went through one port of a process that has died.
type passage struct {
	received, sent uint64
	doubtful       uint64 // more packets were sent to it, and seem to be lost on the way
}

// died is how many packets died with a process: those that it had received and not sent, but for those it had ended itself.
// It cannot have sent what it had not received: then some of the doubtful ones had come.
func died(through []passage, ended uint64) uint64 {
	var in uint64
	out := ended
	for _, t := range through {
		in, out = in+t.received, out+t.sent
	}
	for i := range through {
		if in < out {
			t := &through[i]
			more := min(t.doubtful, out-in)
			t.received, t.doubtful, in = t.received+more, t.doubtful-more, in+more
		}
	}
	return in - min(in, out)
}

// revise corrects what was said of neighbours of p that have died while p did not answer: packets that p has received since
// had left them, and did not die with them.
func (f *Fabric) revise(p *process) {
	for i := range p.sw.core.Ports() {
		own := weft.End{Node: p.sw.id.Node(), Port: weft.PortID(i)}
		peer, _, ok := f.graph.Peer(own)
		if !ok || !peer.Node.IsSwitch() {
			continue
		}
		received := f.endState(own).flow.Received
		s := f.switches[peer.Node.Index]
		h := s.who.Load()
		if h == nil || h.process != nil || h.past == nil {
			continue
		}
		sent := s.end(peer.Port).flow.Sent
		if received <= sent || h.past.stats.LostCrash < received-sent {
			continue
		}
		sum := *h.past
		sum.ports = slices.Clone(sum.ports)
		sum.ports[peer.Port].counters.Sent += received - sent
		sum.stats.LostCrash -= received - sent
		s.who.CompareAndSwap(h, &holding{past: &sum})
	}
}
