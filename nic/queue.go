package nic

import (
	"math/bits"

	"github.com/gammazero/deque"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// packet is one entry of the send queue.
type packet struct {
	seq        uint64
	injected   weft.Time
	dst        weft.NICID
	size       uint32
	generation uint16
	path       uint16 // see weft.Fields
	layers     uint16 // see weft.Fields
	traced     bool
	carries    bool // its payload is in sendQueue.payloads
}

// sendQueue holds the packets that wait to enter the fabric, one FIFO per virtual channel that they
// enter by, so that a layer without credits holds up none of the others. Bound: Config.QueueBytes,
// all of them together.
type sendQueue struct {
	fifos   []deque.Deque[packet] // per VC; one alone when all packets enter in VC 0
	waiting uint16                // bit i: FIFO i has a packet
	next    weft.VC               // whose turn it is
	packets int32                 // in all
	bytes   int                   // of these
	// payloads are what the packets carry that carry something, per FIFO, in its order; nil before
	// the first.
	payloads []deque.Deque[weft.Payload]
}

// pushed and popped count a packet that the FIFO of vc has been given, or that was taken from it.
// Whoever does so goes to the FIFO itself: a packet is copied once less.
func (q *sendQueue) pushed(vc weft.VC, size uint32) {
	q.waiting |= 1 << vc
	q.packets++
	q.bytes += int(size)
}

func (q *sendQueue) popped(vc weft.VC, size uint32) {
	if q.fifos[vc].Len() == 0 {
		q.waiting &^= 1 << vc
	}
	q.packets--
	q.bytes -= int(size)
}

// sendable is how many of the packets have a credit.
func (q *sendQueue) sendable(end *link.End) (n int) {
	if len(q.fifos) == 1 {
		return min(int(q.packets), end.Credits(0))
	}
	for w := q.waiting; w != 0; w &= w - 1 {
		vc := bits.TrailingZeros16(w)
		n += min(q.fifos[vc].Len(), end.Credits(weft.VC(vc)))
	}
	return n
}

// turn is the VC that sends next: round robin over those with a packet and a credit, of which there
// is one.
func (q *sendQueue) turn(end *link.End) weft.VC {
	w := uint32(q.waiting)
	for w = w>>q.next<<q.next | w<<16; w != 0; w &= w - 1 { // those from next on, then the others
		if vc := weft.VC(bits.TrailingZeros32(w) % weft.MaxVCs); end.Credits(vc) > 0 {
			q.next = (vc + 1) % weft.MaxVCs
			return vc
		}
	}
	return 0
}

// address is by which address and in which layer a packet for dst enters the fabric, where
// Config.Addresses says.
func (n *NIC) address(dst weft.NICID) (a weft.Address) {
	switch list := n.cfg.Addresses(dst); len(list) {
	case 0:
	case 1:
		a = list[0]
	default:
		a = list[below(n.cfg.Rand, uint64(len(list)))]
	}
	if int(a.VC) >= n.cfg.VCs {
		a.VC = 0
	}
	return a
}
