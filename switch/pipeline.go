package switching

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// RuleLooping is the rule by which a switch discards a packet that has crossed more switches than
// it can need; see [Firmware].MostHops.
const RuleLooping = "looping: too many hops"

// receive takes one packet of a frame into the input queue (p, h.VC); at is its position among
// those sent in the VC.
func (s *Switch) receive(p weft.PortID, h *weft.Header, at uint64, out *weft.Actions) {
	fresh, err := s.ports[p].end.Take(h.VC, at)
	if err != nil {
		out.Faults = append(out.Faults, weft.Fault{Port: p, Err: err})
	}
	if !fresh {
		return
	}
	s.stats.Received++
	c := s.channel(p, h.VC)
	id := s.slots.take()
	sl := &s.slots.slot[id]
	sl.hdr = *h
	h.Payload = 0 // the slot has it now
	sl.arrived, sl.in, sl.port, sl.vc, sl.waited, sl.stranded, sl.why = s.now-s.late, c, p, h.VC, false, false, 0
	s.slots.link[id].flow = flowOf(h)

	q := &s.in[c]
	mustWait := q.n > 0 && (s.queueing == FIFO || s.slots.sameFlow(q.head, flowOf(h)) != noSlot)
	s.slots.push(q, id)
	if mustWait {
		s.stall(c, StallOrder)
		sl.why = 1 << StallOrder
		return
	}
	s.advance(id, out)
}

// advance moves id as far as it gets, and after it the packets that may go once it has gone.
func (s *Switch) advance(id slotID, out *weft.Actions) {
	sl := &s.slots.slot[id]
	stranded, was := sl.stranded, sl.out
	for id != noSlot {
		if s.stranded > 0 {
			if c, ok := s.strandedAhead(id); ok {
				s.slots.slot[id].why |= 1 << StallOrder
				s.wait.enter(id, c)
				return
			}
		}
		sl := &s.slots.slot[id]
		at := Arrival{Port: sl.port, VC: sl.vc, From: s.ports[sl.port].role}
		var d Decision
		switch {
		case s.slow:
			var known bool
			if d, known = s.decide(id, at, out); !known {
				return
			}
		case !s.catches:
			d = s.route(&sl.hdr, at, (*view)(s))
		default:
			d = s.caught(&sl.hdr, at)
		}
		s.stats.Decisions++
		s.follow(&d, &sl.hdr, at)
		if len(d.Candidates) == 0 {
			id = s.discard(id, &d, out)
			continue
		}
		best := s.selectOutput(d.Candidates)
		if best < 0 {
			s.block(id, d.Candidates)
			return
		}
		c := s.allocate(&d.Candidates[best])
		id = s.transfer(id, c, &d, best, out)
	}
	if stranded { // it has left, so that those who must not overtake it may go
		s.wakeWaiters(was, out)
	}
}

// follow does what a decision for h says at once: it writes the register, even if the packet then
// has to wait. A decision that cannot be followed is one to discard, and the firmware has failed.
func (s *Switch) follow(d *Decision, h *weft.Header, at Arrival) {
	if why := s.cannot(d); why != "" {
		s.failed(h, at, why)
		*d = Discard(why)
		return
	}
	if d.Write.Do {
		r := &s.registers[d.Write.Index]
		if r.value != d.Write.Value {
			s.changed()
		}
		r.value = d.Write.Value
		if r.Expire > 0 {
			r.expires = s.now + r.Expire
		}
	}
	if h.Hops >= s.most {
		*d = Discard(RuleLooping)
	}
}

// cannot says why a decision cannot be followed, and what to do; "": it can.
func (s *Switch) cannot(d *Decision) string {
	if i := d.Write.Index; d.Write.Do && uint(i) >= uint(len(s.registers)) {
		return fmt.Sprintf("firmware writes register %d, and declares %d (rule %s): declare it, or write another",
			i, len(s.registers), d.Rule)
	}
	for i := range d.Candidates {
		switch k := &d.Candidates[i]; {
		case int(k.Port) >= len(s.ports) || int(k.VC) >= s.vcs:
			return fmt.Sprintf("firmware names %v %v, and the switch has %d ports and %d VCs (rule %s): "+
				"name one that there is, from 0", k.Port, k.VC, len(s.ports), s.vcs, d.Rule)
		case int(k.Need) > s.outputBuffer:
			return fmt.Sprintf("firmware wants %d free places in an output queue that holds %d (rule %s): "+
				"want fewer, or set LeastRoom", k.Need, s.outputBuffer, d.Rule)
		}
	}
	return ""
}

// selectOutput returns the index of the candidate to take, or -1 when none has room.
func (s *Switch) selectOutput(candidates []Candidate) int {
	if len(candidates) == 1 { // there is nothing to choose
		k := &candidates[0]
		if s.roomFor(s.channel(k.Port, k.VC)) < max(1, int(k.Need)) || !s.portUp(k.Port) {
			return -1
		}
		return 0
	}
	best, bestRoom := -1, 0
	var with uint64 // candidates with room seen so far in the best class, for Random
	n := len(candidates)
	s.turn++
	start := int(s.turn % uint32(n))
	for i := range n {
		j := start + i
		if j >= n {
			j -= n
		}
		k := &candidates[j]
		c := s.channel(k.Port, k.VC)
		free := s.roomFor(c)
		if free < max(1, int(k.Need)) || !s.portUp(k.Port) {
			continue
		}
		room := free + s.ports[k.Port].end.Credits(k.VC)
		better := best < 0 || k.Class < candidates[best].Class
		switch {
		case better:
			with = 1
		case k.Class > candidates[best].Class:
			continue
		case s.cfg.Selection == MostCredits:
			better = room > bestRoom
		case s.cfg.Selection == Random:
			with++
			better = s.cfg.Rand.Uint64()%with == 0
		}
		if better {
			best, bestRoom = j, room
		}
	}
	return best
}

// block makes id wait for room at any of its candidates, or at one of them.
func (s *Switch) block(id slotID, candidates []Candidate) {
	if s.cfg.Waiting == WaitForOne {
		candidates = s.pick(candidates)
	}
	reason := StallLinkDown
	sl := &s.slots.slot[id]
	sl.need = 1
	for i := range candidates {
		sl.need = max(sl.need, candidates[i].Need)
		s.wait.enter(id, s.channel(candidates[i].Port, candidates[i].VC))
		if s.portUp(candidates[i].Port) {
			reason = StallOutputFull
		}
	}
	sl.why |= 1 << reason
	if !sl.waited && !sl.stranded {
		sl.waited = true
		s.stall(sl.in, reason)
	}
}

// pick returns the one candidate to wait for, in turn among those of the lowest class whose ports
// are up; all of them when none is.
func (s *Switch) pick(candidates []Candidate) []Candidate {
	s.picks++
	best, n := -1, uint32(len(candidates))
	for i := range n {
		j := int((s.picks + i) % n)
		if k := &candidates[j]; s.portUp(k.Port) && (best < 0 || k.Class < candidates[best].Class) {
			best = j
		}
	}
	if best < 0 {
		return candidates
	}
	return candidates[best : best+1]
}

// allocate reserves a place in the candidate's output queue.
func (s *Switch) allocate(k *Candidate) channel {
	c := s.channel(k.Port, k.VC)
	s.out[c].reserved++
	return c
}

// transfer moves id through the crossbar into the output queue c, where its place is reserved, and
// gives back its place in the input. It returns the packet of that input queue that may go next, or
// noSlot.
func (s *Switch) transfer(id slotID, c channel, d *Decision, chosen int, out *weft.Actions) slotID {
	sl := &s.slots.slot[id]
	k := &d.Candidates[chosen]
	if sl.hdr.Traced {
		s.traceHop(sl, d, chosen, out)
		s.traceQueued(id, c)
	}
	next := s.leave(id, out)
	if s.requeues {
		s.other[id] = mark{
			vc: sl.hdr.VC, fields: sl.hdr.Fields, hops: sl.hdr.Hops, reroutes: sl.hdr.Reroutes,
			size: sl.hdr.Size,
		}
	}
	if s.bytes != nil {
		s.resize(&sl.hdr, &k.Fields)
	}
	sl.hdr.Fields, sl.hdr.VC = k.Fields, k.VC
	sl.hdr.Hops++
	if d.Turn != Straight {
		sl.hdr.Reroutes++
		s.stats.Rerouted++
		out.Turned++
		if d.Turn == UTurn {
			s.stats.UTurns++
		}
	}
	s.out[c].reserved--
	sl.out = c
	s.slots.push(&s.out[c].queue, id)
	port := &s.ports[k.Port]
	port.queued++
	if port.end.Credits(k.VC) > 0 {
		s.markReady(k.Port, out)
	} else {
		s.stallCredit(c)
	}
	return next
}

// leave takes id out of the queue it waits in and returns the packet that may go next.
func (s *Switch) leave(id slotID, out *weft.Actions) slotID {
	if s.slots.slot[id].stranded {
		s.leaveStranded(id)
		return noSlot
	}
	return s.leaveInput(id, out)
}

// leaveInput takes id out of its input queue and returns the packet that may go next there.
func (s *Switch) leaveInput(id slotID, out *weft.Actions) slotID {
	sl := &s.slots.slot[id]
	q := &s.in[sl.in]
	l := s.slots.link[id]
	s.slots.remove(q, id)
	if s.ports[sl.port].end.Free(sl.vc) {
		s.markReady(sl.port, out)
	}
	if s.queueing == FIFO {
		return q.head
	}
	return s.slots.sameFlow(l.next, l.flow)
}

// discard ends id by a rule and returns the packet of its input queue that may go next.
func (s *Switch) discard(id slotID, d *Decision, out *weft.Actions) slotID {
	sl := &s.slots.slot[id]
	if sl.hdr.Traced {
		s.traceHop(sl, d, noCandidate, out)
	}
	s.stats.Discarded++
	s.discards[d.Rule]++
	out.Drops = append(out.Drops, weft.Drop{Account: weft.Discarded, Port: sl.port, Rule: d.Rule, Header: sl.hdr})
	if d.Notify && s.cfg.Notices {
		out.Notices = append(out.Notices, weft.Notice{Src: sl.hdr.Src, Dst: sl.hdr.Dst, Rule: d.Rule})
	}
	next := s.leave(id, out)
	s.slots.give(id)
	return next
}

// schedule picks the VC of port p that sends next: round robin over those with a packet and a
// credit.
func (s *Switch) schedule(p weft.PortID) (channel, bool) {
	port := &s.ports[p]
	if port.queued == 0 {
		return 0, false
	}
	for i := range s.vcs {
		vc := int(port.nextVC) + i
		if vc >= s.vcs {
			vc -= s.vcs
		}
		c := s.channel(p, weft.VC(vc))
		if s.out[c].n == 0 {
			continue
		}
		if port.end.Credits(weft.VC(vc)) == 0 {
			s.stallCredit(c)
			continue
		}
		return c, true
	}
	return 0, false
}

// transmit spends a credit, puts the head of c into the frame and lets those move up who waited for
// its slot.
func (s *Switch) transmit(p weft.PortID, c channel, f *weft.Frame, out *weft.Actions) {
	o := &s.out[c]
	id := o.head
	if s.slots.slot[id].hdr.Traced {
		s.traceLeft(id, c, out)
	}
	s.slots.remove(&o.queue, id)
	o.stalled = false
	sl := &s.slots.slot[id]
	vc := sl.hdr.VC
	port := &s.ports[p]
	port.queued--
	if port.nextVC = vc + 1; int(port.nextVC) == s.vcs { // its turn is over only now that it has sent
		port.nextVC = 0
	}
	port.end.Spend(vc)
	f.Packets = append(f.Packets, sl.hdr)
	if sl.hdr.Payload != 0 {
		f.Carrying++
	}
	out.Since = max(out.Since, sl.arrived)
	s.slots.give(id)
	s.stats.Forwarded++
	s.wakeWaiters(c, out)
}

// wakeWaiters routes anew those who wait for c, in turn, as long as c has room.
//
// One that asks for more places than there are would never have its turn where others, which ask
// for one, take each as it comes (bubble flow control: those who go along a ring, while it waits to
// enter). So the places are kept for it when it is its turn, but only if those in the queue that
// are in its way can leave by credits that are there already: then it waits for nobody, and keeping
// them from others closes no circle of waiting.
func (s *Switch) wakeWaiters(c channel, out *weft.Actions) {
	if !s.wait.any(c) {
		return
	}
	first := s.wait.next[c]
	for pass, from, until := 0, first, slotID(s.slots.most); pass < 2; pass, from, until = pass+1, 0, first {
		for s.room(c) > 0 {
			id := s.wait.after(c, from)
			if id == noSlot || id >= until {
				break
			}
			s.wait.leave(id)
			s.advance(id, out)
			if s.couldHave(id, c) {
				s.wait.keep(id, c)
				return
			}
			from = id + 1
			s.wait.next[c] = from
		}
	}
}

// couldHave reports whether id, which has had its turn, still waits for c though c has room, and
// will have as much as it asks for without anybody else moving.
func (s *Switch) couldHave(id slotID, c channel) bool {
	need := int(s.slots.slot[id].need)
	if need < 2 || !s.wait.waits(id, c) || s.wait.isKept(c) {
		return false
	}
	p, vc := s.portVC(c)
	free := s.room(c)
	leave := min(int(s.out[c].n), s.ports[p].end.Credits(vc))
	return free > 0 && free < need && free+leave >= need && s.portUp(p)
}

// rerouteBlocked routes every blocked packet anew, in the order of slots: a port or a register has
// changed.
func (s *Switch) rerouteBlocked(out *weft.Actions) {
	if s.returning.on {
		return // it has no way yet; openPorts has it route them
	}
	for id := s.wait.blockedAfter(0); id != noSlot; id = s.wait.blockedAfter(id + 1) {
		s.wait.leave(id)
		s.advance(id, out)
	}
}

// stallCredit counts, once, that the output queue c begins to wait for a credit.
func (s *Switch) stallCredit(c channel) {
	if o := &s.out[c]; !o.stalled {
		o.stalled = true
		s.stall(c, StallNoCredit)
	}
}

// stall counts that a packet or a queue begins to wait.
func (s *Switch) stall(c channel, why Stall) {
	if s.stalls == nil {
		s.stalls = make([][stalls]uint64, len(s.in))
	}
	s.stalls[c][why]++
}

// stallsAt are those counted at a channel so far.
func (s *Switch) stallsAt(c channel) (n [stalls]uint64) {
	if s.stalls != nil {
		n = s.stalls[c]
	}
	return n
}

func (s *Switch) portUp(p weft.PortID) bool { return s.ports[p].end.Usable() }

// longer is a size with bytes added or taken off, within what packets can have.
func longer(size uint32, bytes int) uint32 {
	return uint32(min(max(int(size)+bytes, 0), weft.MaxPacket))
}

// resize makes a packet whose fields are about to change as much longer or shorter as the new ones
// are.
func (s *Switch) resize(h *weft.Header, to *weft.Fields) {
	if h.Fields != *to {
		h.Size = longer(h.Size, s.bytes(to)-s.bytes(&h.Fields))
	}
}
