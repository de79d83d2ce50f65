package switching

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
)

// A switch moves to another host in three steps. Its neighbours are told to await it, see
// [Switch.Await], and so is the switch itself, so that nothing is on its wires. Then the core that
// it was gives up what it holds, and the core that it becomes takes that. The new core routes the
// packets once its links are up: it comes up whole, as a switch that returns does.

// HandOver is what a switch takes along when it moves. Times are relative to the move, since hosts
// have clocks of their own.
type HandOver struct {
	Packets   []HeldPacket // queue by queue, each in its order
	Registers []HeldRegister
}

// HeldPacket is a packet in a queue.
type HeldPacket struct {
	Header weft.Header // as it leaves, of one that is in an output queue
	// Payload is what it carries on its way to another host, which puts it into a buffer of its own.
	Payload []byte      `json:",omitempty"`
	In      weft.PortID // by which it came
	InVC    weft.VC
	Age     weft.Time // since it came
	Waited  bool      // it has had to wait, and that was counted
	Why     uint8     // what it has waited for, see weft.Hop.Why

	Queued bool        // it is in the output queue of Out and the header's VC
	Out    weft.PortID // of one that is queued
	Before Arrived     // of one that is queued, for Config.Requeue
}

// Arrived is what the header of a packet was when it came, where it has changed since.
type Arrived struct {
	Fields         weft.Fields
	Hops, Reroutes uint16
	Size           uint32
	VC             weft.VC
}

// HeldRegister is the value of a register, in the order declared.
type HeldRegister struct {
	Value uint64
	Left  weft.Time // until it is zeroed; weft.Never: it has no timer running
}

// ErrHandOver is wrapped by every error about what cannot be taken over.
var ErrHandOver = errors.New("unusable hand-over of a switch")

// Await has port p send nothing until the neighbour, which moves to another host, has begun anew;
// see [link.End.Await]. A time that is over ends that.
func (s *Switch) Await(now weft.Time, p weft.PortID, until weft.Time, out *weft.Actions) {
	s.now = now
	port := &s.ports[p]
	port.end.Await(now, until)
	s.lookAt(&port.end)
	if s.sendable(p) {
		s.markReady(p, out)
	}
	s.wake(out)
}

// Refuse has port p hear no epoch of its neighbour up to one, see [link.End.Refuse].
func (s *Switch) Refuse(p weft.PortID, epoch weft.Epoch) { s.ports[p].end.Refuse(epoch) }

// Leave ends the switch here: it returns what the switch holds, and takes signal from all ports.
// The switch is then as one that was crashed, but that nothing is lost.
func (s *Switch) Leave(now weft.Time, out *weft.Actions) (h HandOver) {
	s.now = now
	for id := s.wait.blockedAfter(0); id != noSlot; id = s.wait.blockedAfter(id + 1) {
		s.wait.leave(id)
	}
	for i := range s.registers {
		r := &s.registers[i]
		kept := HeldRegister{Value: r.value, Left: weft.Never}
		if r.expires != weft.Never {
			kept.Left = max(0, r.expires-now)
		}
		h.Registers = append(h.Registers, kept)
		r.value, r.expires = 0, weft.Never
	}
	for c := range s.in {
		p, vc := s.portVC(channel(c))
		for q := &s.in[c]; q.n > 0; {
			id := q.head
			h.Packets = append(h.Packets, s.held(id))
			s.slots.remove(q, id)
			s.ports[p].end.Free(vc)
			s.slots.give(id)
		}
	}
	for c := range s.out {
		p, _ := s.portVC(channel(c))
		for q := &s.out[c].queue; q.n > 0; {
			id := q.head
			if s.slots.slot[id].stranded {
				s.swap(id)
				s.stranded--
			}
			k := s.held(id)
			k.Queued, k.Out = true, p
			if s.requeues {
				o := s.other[id]
				k.Before = Arrived{Fields: o.fields, Hops: o.hops, Reroutes: o.reroutes, Size: o.size, VC: o.vc}
			}
			h.Packets = append(h.Packets, k)
			s.slots.remove(q, id)
			s.ports[p].queued--
			s.slots.give(id)
		}
		s.out[c].stalled = false
	}
	for p := range s.ports {
		s.ports[p].end.Leave()
		s.ports[p].ready = false
	}
	s.rest(out)
	return h
}

func (s *Switch) held(id slotID) HeldPacket {
	sl := &s.slots.slot[id]
	return HeldPacket{Header: sl.hdr, In: sl.port, InVC: sl.vc, Age: s.now - sl.arrived, Waited: sl.waited, Why: sl.why}
}

// Come begins the switch here with what it holds. It is new, or has left before; no port has
// signal. Its links begin above an epoch, the latest that it may have used elsewhere. After an
// error, which wraps [ErrHandOver], it holds nothing.
func (s *Switch) Come(now weft.Time, above weft.Epoch, h *HandOver, out *weft.Actions) error {
	if s.Held() > 0 {
		return fmt.Errorf("%w: switch %s holds %d packets of its own", ErrHandOver, s.place.Name, s.Held())
	}
	s.now = now
	if err := s.fits(h); err != nil {
		return fmt.Errorf("%w: switch %s: %w", ErrHandOver, s.place.Name, err)
	}
	for p := range s.ports {
		s.ports[p].end.Come(above)
	}
	s.rest(out)
	for i := range h.Registers {
		if k := &h.Registers[i]; i < len(s.registers) {
			s.registers[i].value, s.registers[i].expires = k.Value, weft.Never
			if k.Left != weft.Never {
				s.registers[i].expires = now + k.Left
			}
		}
	}
	for i := range h.Packets {
		s.keep(&h.Packets[i])
	}
	s.wake(out)
	return nil
}

// rest has the switch wait until it has signal again.
func (s *Switch) rest(out *weft.Actions) {
	s.changed()
	s.holdPorts()
	s.look, s.suspect = weft.Never, weft.Never
	for p := range s.ports {
		s.lookAt(&s.ports[p].end)
	}
	s.wake(out)
}

// fits says why the queues cannot take h.
func (s *Switch) fits(h *HandOver) error {
	in, queued := make([]int, len(s.in)), make([]int, len(s.out))
	for i := range h.Packets {
		k := &h.Packets[i]
		at, vc, n, most := k.In, k.InVC, in, s.cfg.InputBuffer
		if k.Queued {
			at, vc, n, most = k.Out, k.Header.VC, queued, s.outputBuffer
		}
		if max(int(at), int(k.In)) >= len(s.ports) || max(int(vc), int(k.InVC), int(k.Header.VC)) >= s.vcs {
			return fmt.Errorf("packet %d is in %v %v, which there is not", i, at, vc)
		}
		c := s.channel(at, vc)
		if n[c]++; n[c] > most {
			return fmt.Errorf("more than %d packets in %v %v", most, at, vc)
		}
	}
	return nil
}

// keep puts a packet into its queue. One that is in an input queue waits until the links are up.
func (s *Switch) keep(k *HeldPacket) {
	id := s.slots.take()
	sl := &s.slots.slot[id]
	*sl = slot{
		hdr: k.Header, arrived: s.now - k.Age, in: s.channel(k.In, k.InVC), port: k.In, vc: k.InVC,
		waited: k.Waited, why: k.Why,
	}
	flow := flowOf(&k.Header)
	s.slots.link[id].flow = flow
	if k.Queued {
		c := s.channel(k.Out, k.Header.VC)
		sl.out = c
		if k.Header.Traced {
			s.traceQueued(id, c)
		}
		if s.requeues {
			b := &k.Before
			s.other[id] = mark{fields: b.Fields, hops: b.Hops, reroutes: b.Reroutes, size: b.Size, vc: b.VC}
		}
		s.slots.push(&s.out[c].queue, id)
		s.ports[k.Out].queued++
		return
	}
	q := &s.in[sl.in]
	mustWait := q.n > 0 && (s.queueing == FIFO || s.slots.sameFlow(q.head, flow) != noSlot)
	s.slots.push(q, id)
	if !s.ports[k.In].end.Keep(k.InVC) {
		panic("switching: BUG: no place for a packet that fits")
	}
	if !mustWait {
		s.wait.enter(id, sl.in) // until openPorts routes it
	}
}
