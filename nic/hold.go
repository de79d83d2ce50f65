package nic

import (
	"slices"

	"github.com/gammazero/deque"

	"github.com/weft-fabric/weft"
)

// Hold keeps all packets in the send queue from now on, or lets them go again. Meanwhile the source
// generates as ever, and packets that arrive are taken: it is how a fabric is drained for a static
// reconfiguration.
func (n *NIC) Hold(held bool, out *weft.Actions) {
	n.held = held
	n.markSendable(out)
}

// Readdress gives the packets in the send queue addresses that Config.Addresses has for their
// destinations now, if it has theirs no more, and returns how many. The packets of a flow stay in
// their order.
func (n *NIC) Readdress(out *weft.Actions) (moved int) {
	if n.cfg.Addresses == nil {
		return 0
	}
	// Each FIFO is gone through once. What is put into a later one has an address of now, and
	// stays.
	for vc := range n.queue.fifos {
		q := &n.queue.fifos[vc]
		for range q.Len() {
			p := q.PopFront()
			list := n.cfg.Addresses(p.dst)
			a := weft.Address{Path: p.path, Layers: p.layers, VC: weft.VC(vc)}
			if !slices.Contains(list, a) && (len(list) > 0 || a != weft.Address{}) {
				if b := n.address(p.dst); b != a {
					a = b
					moved++
				}
			}
			p.path, p.layers = a.Path, a.Layers
			n.queue.move(q, &p, weft.VC(vc), a.VC)
		}
	}
	n.markSendable(out)
	return moved
}

// move puts a packet, taken from the FIFO q of one virtual channel, at the end of that of another,
// which may be the same.
func (s *sendQueue) move(q *deque.Deque[packet], p *packet, from, to weft.VC) {
	s.fifos[to].PushBack(*p)
	if p.carries {
		s.payloads[to].PushBack(s.payloads[from].PopFront())
	}
	s.waiting |= 1 << to
	if q.Len() == 0 {
		s.waiting &^= 1 << from
	}
}

// Await has the NIC send nothing until its switch, which moves to another host, has begun anew; see
// [link.End.Await]. A time that is over ends that.
func (n *NIC) Await(now, until weft.Time, out *weft.Actions) {
	n.end.Await(now, until)
	n.markSendable(out)
	n.wake(out)
}

// Refuse has the NIC hear no epoch of its switch up to one, see [link.End.Refuse].
func (n *NIC) Refuse(epoch weft.Epoch) { n.end.Refuse(epoch) }
