package fabric

import (
	"maps"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/nic"
)

// tenure is what incarnations of a part have counted that are over. Constant but for its zero value.
type tenure struct {
	sum   part.Sum
	flows map[weft.End]passed // per crossing end
}

// passed is how many packets went through an end.
type passed struct{ sent, received uint64 }

// close makes what p has counted final.
func (p *outpost) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.known.Load()
	flows := make(map[weft.End]passed, len(a.ends))
	for e, s := range a.ends {
		flows[e] = passed{s.flow.Sent, s.flow.Received}
	}
	sum := ended(a.all)
	sum.Number, sum.Latency = 0, nil
	if a.own.Latency != nil {
		if l, err := part.DecodeLatency(a.own.Latency); err == nil {
			if p.pastLatency == nil {
				p.pastLatency = nic.NewLatency()
			}
			p.pastLatency.Merge(l)
		}
	}
	p.past = tenure{sum: sum, flows: flows}
	p.lost.Store(false)
}

// ended is what s has counted, without what is only so while the part runs.
func ended(s part.Sum) part.Sum {
	s.Held, s.Queued, s.Wires, s.Blocked, s.Timers = 0, 0, 0, 0, 0
	s.HeldDown, s.Up, s.Flows = nil, nil, nil
	return s
}

// before is what went through an end before this incarnation, with that of the fabric's own emulation where that was the switch.
func (p *outpost) before(e weft.End) passed {
	n := p.past.flows[e]
	if p.sw != nil {
		own := p.sw.part.end(e).flow
		n.sent, n.received = n.sent+own.Sent, n.received+own.Received
	}
	return n
}

// buryPart makes up what p has counted since it was last heard, when it cannot be asked any more. What it has received is what its
// neighbours have sent but for what is known to have been lost on the way, and what it has sent is what they have received. What
// came in or was injected, and neither left it nor is known to have ended, has died with it; if more has left than that, it was
// injected since. How many have died is returned. The caller holds mu.
func (f *Fabric) buryPart(p *outpost) (dead uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(0, p.known.Load().own, tenure{})
	s := a.own
	through, flows := make([]passage, len(p.cross)), make(map[weft.End]passed, len(p.cross))
	for i, e := range p.cross {
		peer, _, _ := f.graph.Peer(e)
		before, t := p.before(e), &through[i]
		mine, theirs := f.endState(e), f.endState(peer)
		_, t.doubtful = onWire(theirs, mine)
		t.received = mine.flow.Received + theirs.flow.Sent - min(theirs.flow.Sent, t.doubtful+mine.flow.Received)
		t.sent = max(theirs.flow.Received+p.lostOut[e], mine.flow.Sent)
		t.received, t.sent = t.received-before.received, t.sent-before.sent
	}
	known := s.Counters.Ended()
	for _, l := range s.Wire {
		known += l.Wire[0] + l.Wire[1]
	}
	dead, more := perished(through, s.Counters.NICs.Injected, known)
	for i, e := range p.cross { // where a neighbour has died too, packets between the two may have been taken for what they were not
		peer, _, _ := f.graph.Peer(e)
		g := f.guestAt(peer.Node)
		if g == nil {
			continue
		}
		sent := g.claim(peer, dead)
		dead, through[i].sent = dead-sent, through[i].sent+sent
		if n := min(more, g.buried); n > 0 && g.holder.Load() == nil {
			g.sentMore(peer, n)
			g.buried, more, through[i].received = g.buried-n, more-n, through[i].received+n
		}
	}
	if p.sw == nil {
		s.Counters.NICs.Injected += more
	} else {
		p.owed += more // a switch injects nothing: a neighbour has sent it that has not been heard since
	}
	s.Counters.Switches.LostCrash += dead
	p.buried = dead
	for i, e := range p.cross {
		flows[e] = passed{through[i].sent, through[i].received}
	}
	was := p.past
	p.known.Store(p.account(p.known.Load().at, ended(s), tenure{sum: was.sum, flows: addPassed(was.flows, flows)}))
	return dead
}

// perished is died, for nodes that inject packets too: how many packets have died with them, or how many more than is known they
// have injected. One of the two is 0.
func perished(through []passage, injected, ended uint64) (dead, more uint64) {
	all := append([]passage{{received: injected}}, through...)
	dead = died(all, ended)
	copy(through, all[1:]) // of doubtful packets some had come
	in, out := injected, ended
	for _, t := range through {
		in, out = in+t.received, out+t.sent
	}
	return dead, out - min(out, in)
}

func addPassed(a, b map[weft.End]passed) map[weft.End]passed {
	sum := maps.Clone(b)
	for e, n := range a {
		sum[e] = passed{sum[e].sent + n.sent, sum[e].received + n.received}
	}
	return sum
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

// revise corrects what was said of processes beside p that died while p did not answer. Packets that p has received since had left them, and
// did not die with them; and what p has sent and seems lost on the way had come, if they have passed on more than anybody had sent.
func (f *Fabric) revise(p *outpost, lost map[weft.End]uint64) {
	for _, own := range p.cross {
		peer, _, _ := f.graph.Peer(own)
		g := f.guestAt(peer.Node)
		if g == nil {
			continue
		}
		received, sent := f.endState(own).flow.Received, f.endState(peer).flow.Sent
		if received > sent {
			g.sentMore(peer, received-sent)
		}
	}
	for own, n := range lost {
		peer, _, _ := f.graph.Peer(own)
		if g := f.guestAt(peer.Node); g != nil {
			n = g.claim(peer, n)
			p.mu.Lock()
			p.lostOut[own] -= min(p.lostOut[own], n)
			p.mu.Unlock()
		}
	}
}

// guestAt is where processes of a node are known; nil: there was none.
func (f *Fabric) guestAt(n weft.Node) *outpost {
	if !n.IsSwitch() {
		return nil
	}
	return f.switches[n.Index].guest.Load()
}

// sentMore takes packets for sent by a process that has died, not for lost inside it. Those beyond it had received from who has not been
// heard since.
func (p *outpost) sentMore(e weft.End, packets uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.number != 0 {
		return // what is told of one that runs is on its way
	}
	dead := &p.past.sum.Counters.Switches.LostCrash
	inside := min(*dead, packets)
	*dead, p.owed = *dead-inside, p.owed+packets-inside
	p.amend(e, passed{sent: packets})
}

// claim takes so many packets at most that processes which have died have passed on for received at e, and returns how many.
func (p *outpost) claim(e weft.End, most uint64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.owed, most)
	if n == 0 || p.lost.Load() {
		return 0
	}
	p.owed -= n
	p.amend(e, passed{received: n})
	return n
}

// amend adds to what went through an end before. The caller holds mu.
func (p *outpost) amend(e weft.End, n passed) {
	p.past.flows = addPassed(p.past.flows, map[weft.End]passed{e: n})
	k := p.known.Load()
	p.known.Store(p.account(k.at, k.own, p.past))
}
