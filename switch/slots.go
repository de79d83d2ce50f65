package switching

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// slotID numbers the packets a switch can hold. A packet keeps its slot on its way from input to
// output queue, so moving it through the crossbar moves a number.
type slotID int32

const noSlot slotID = -1

// channel numbers the (port, VC) pairs of a switch: port*VCs + vc. Inputs and outputs are numbered
// alike.
type channel int32

// slot is one packet with what the pipeline knows of it.
type slot struct {
	hdr     weft.Header
	arrived weft.Time
	in      channel
	port    weft.PortID // of in
	vc      weft.VC     // of in
	waited  bool        // it has had to wait in this switch, and that was counted
	why     uint8       // it has had to wait for: a bit for each Stall
	need    uint8       // of one that is blocked: the most places that a candidate asks for
	asked   askState

	// Of a packet in an output queue.
	stranded bool // see requeue.go
	out      channel
}

// mark is what a switch writes into the header of a packet on its way through.
type mark struct {
	fields         weft.Fields
	hops, reroutes uint16
	size           uint32
	vc             weft.VC
}

// chained chains the slots of a queue. Apart from slot, so that walking a queue touches little
// memory.
type chained struct {
	flow       uint64
	next, prev slotID
}

// queue is a chain of slots in order of arrival.
type queue struct {
	head, tail slotID
	n          int32
}

// slots is the storage of all packets of a switch. Bound: most, the sum of all its buffers. It
// grows up to there as they are needed: few switches of a large fabric are ever full.
type slots struct {
	slot []slot
	link []chained
	free []slotID // stack
	most int
}

// take returns a free slot. There is one whenever the bounds of the queues are kept.
func (s *slots) take() slotID {
	if len(s.free) == 0 {
		s.grow()
	}
	id := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return id
}

// grow makes more slots. Nobody has a pointer to one meanwhile.
func (s *slots) grow() {
	n := len(s.slot)
	if n == s.most {
		panic("switching: BUG: more packets than buffers")
	}
	to := min(s.most, max(8, 2*n))
	s.slot = slices.Grow(s.slot, to-n)[:to]
	s.link = slices.Grow(s.link, to-n)[:to]
	for id := to - 1; id >= n; id-- {
		s.free = append(s.free, slotID(id))
	}
}

func (s *slots) give(id slotID) {
	s.slot[id].asked = askNone
	s.free = append(s.free, id)
}

// held is how many packets the switch holds.
func (s *slots) held() int { return len(s.slot) - len(s.free) }

// push appends id to q.
func (s *slots) push(q *queue, id slotID) {
	l := &s.link[id]
	l.next, l.prev = noSlot, q.tail
	if q.tail == noSlot {
		q.head = id
	} else {
		s.link[q.tail].next = id
	}
	q.tail = id
	q.n++
}

// remove takes id out of q, from any position.
func (s *slots) remove(q *queue, id slotID) {
	l := &s.link[id]
	if l.prev == noSlot {
		q.head = l.next
	} else {
		s.link[l.prev].next = l.next
	}
	if l.next == noSlot {
		q.tail = l.prev
	} else {
		s.link[l.next].prev = l.prev
	}
	q.n--
}

// sameFlow returns the first slot from start on that belongs to flow, or noSlot.
func (s *slots) sameFlow(start slotID, flow uint64) slotID {
	for id := start; id != noSlot; id = s.link[id].next {
		if s.link[id].flow == flow {
			return id
		}
	}
	return noSlot
}

// flowOf is the flow of a packet: the pair of its ends.
func flowOf(h *weft.Header) uint64 { return uint64(h.Src)<<32 | uint64(h.Dst) }
