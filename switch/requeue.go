package switching

import "github.com/weft-fabric/weft"

// A stranded packet is in the output queue of a dead link and is routed anew, as if it had arrived
// only now: with the VC and the fields it came with. It stays where it is until it finds room
// elsewhere; its place is of no use to anybody while the link is dead. See [Firmware].CheckRequeue
// for why that does not deadlock, and Config.Requeue.

// requeue strands what is queued for the dead port p and routes it anew.
func (s *Switch) requeue(p weft.PortID, out *weft.Actions) {
	for vc := range weft.VC(s.vcs) {
		o := &s.out[s.channel(p, vc)]
		o.stalled = false
		for id := o.head; id != noSlot; id = s.slots.link[id].next {
			s.swap(id)
			s.stranded++
		}
	}
	for vc := range weft.VC(s.vcs) {
		for id := s.out[s.channel(p, vc)].head; id != noSlot; {
			next := s.slots.link[id].next // it is in no row of waiters yet, so nothing but this loop moves it
			s.advance(id, out)
			id = next
		}
	}
}

// unstrand gives the packets that are still queued for port p back to its link, which is up again.
func (s *Switch) unstrand(p weft.PortID) {
	for vc := range weft.VC(s.vcs) {
		for id := s.out[s.channel(p, vc)].head; id != noSlot; id = s.slots.link[id].next {
			if s.slots.slot[id].stranded {
				s.wait.leave(id)
				s.swap(id)
				s.stranded--
			}
		}
	}
}

// swap turns id's header back to what it was on arrival, or forth again to what it was to leave
// with.
func (s *Switch) swap(id slotID) {
	sl := &s.slots.slot[id]
	sl.asked = askNone
	was := mark{vc: sl.hdr.VC, fields: sl.hdr.Fields, hops: sl.hdr.Hops, reroutes: sl.hdr.Reroutes, size: sl.hdr.Size}
	now := &s.other[id]
	sl.hdr.VC, sl.hdr.Fields = now.vc, now.fields
	sl.hdr.Hops, sl.hdr.Reroutes, sl.hdr.Size = now.hops, now.reroutes, now.size
	*now, sl.stranded = was, !sl.stranded
}

// strandedAhead finds the stranded packet that id must not overtake, one of its flow that came the
// same way before it, and returns the queue it is in.
func (s *Switch) strandedAhead(id slotID) (channel, bool) {
	sl, flow := &s.slots.slot[id], s.slots.link[id].flow
	for c := range s.out {
		for other := s.out[c].head; other != noSlot; other = s.slots.link[other].next {
			if other == id { // those behind it in its own queue, and in later ones, came after it or need not keep its order
				return 0, false
			}
			if o := &s.slots.slot[other]; !o.stranded {
				break // all of a queue are, or none
			} else if o.in == sl.in && s.slots.link[other].flow == flow {
				return channel(c), true
			}
		}
	}
	return 0, false
}

// leaveStranded takes id out of the output queue of a dead link. Those who must not overtake it
// wait for that queue.
func (s *Switch) leaveStranded(id slotID) {
	sl := &s.slots.slot[id]
	p, _ := s.portVC(sl.out)
	s.slots.remove(&s.out[sl.out].queue, id)
	s.ports[p].queued--
	s.stranded--
	s.stats.Requeued++
	sl.stranded = false
}
