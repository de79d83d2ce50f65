package nic

import (
	"fmt"

	"github.com/gammazero/deque"

	"github.com/weft-fabric/weft"
)

// Bounds of what a NIC holds for those who send and take payloads, in bytes of packets. Chosen by
// us: some dozens of the largest packets, so that whoever sends is held back soon, and as much as a
// program may be late for.
const (
	MostCarried = 256 << 10 // in the send queue
	MostWaiting = 1 << 20   // delivered, and not taken yet
)

// carrier is what a NIC knows of packets with payloads.
type carrier struct {
	queued  int                 // bytes of them in the send queue
	refused bool                // one has been refused since Actions.Room was last set
	waiting int                 // bytes of them delivered and not taken
	kept    [weft.MaxVCs]uint16 // per VC, places in the buffer that are not given back until then; at most weft.MaxBuffer
	away    bool                // nobody takes them now
}

// Attach has the NIC take payloads from now on: packets that carry one come up in Actions.Carried,
// and Taken must follow. Without it nothing comes of what such packets carry.
func (n *NIC) Attach() {
	if n.carrier != nil {
		n.carrier.away = false
		return
	}
	n.carrier = &carrier{}
	if n.queue.payloads == nil {
		n.queue.payloads = make([]deque.Deque[weft.Payload], len(n.queue.fifos))
	}
}

// Carry puts a packet for dst into the send queue that carries a payload of so many bytes, and
// returns its number in its flow. The payload is the NIC's unless there is an error, which wraps
// [ErrNoSuchNIC], [ErrSize] (1 to [weft.MaxPayload] bytes) or [ErrQueueFull]; after the last
// Actions.Room says when to try again. The NIC must be attached.
func (n *NIC) Carry(now weft.Time, dst weft.NICID, payload weft.Payload, bytes int, out *weft.Actions) (seq uint64,
	err error,
) {
	size := bytes + weft.PayloadOverhead
	switch {
	case int(dst) >= n.cfg.NICs:
		return 0, fmt.Errorf("nic %d: send to nic %d: %w: there are %d", n.cfg.ID, dst, ErrNoSuchNIC, n.cfg.NICs)
	case bytes < 1 || bytes > weft.MaxPayload:
		return 0, fmt.Errorf("nic %d: carry %d bytes: %w: 1 to %d", n.cfg.ID, bytes, ErrSize, weft.MaxPayload)
	}
	c := n.carrier
	// One packet always goes, also where the queue is smaller than what a packet may carry.
	if c.queued > 0 && (c.queued+size > MostCarried || n.queue.bytes+size > n.cfg.QueueBytes) {
		c.refused = true
		return 0, fmt.Errorf("nic %d: send to nic %d: %w (%d of %d bytes)", n.cfg.ID, dst, ErrQueueFull, n.queue.bytes,
			n.cfg.QueueBytes)
	}
	n.enqueue(now, dst, uint32(size), false, payload)
	c.queued += size
	n.markSendable(out)
	n.wake(out)
	return n.nextNumber(dst) - 1, nil
}

// left notes that a packet has left the send queue.
func (c *carrier) left(size uint32, out *weft.Actions) {
	c.queued -= int(size)
	if c.refused && c.queued <= MostCarried/2 {
		c.refused, out.Room = false, true
	}
}

// arrived gives a packet to whoever takes payloads.
func (c *carrier) arrived(h *weft.Header, out *weft.Actions) {
	out.Carried = append(out.Carried, *h)
	h.Payload = 0
	c.waiting += int(h.Size)
}

// keeps reports whether the place of a packet that was delivered is kept, since too much waits to
// be taken: its switch gets no credit for it yet, and the fabric holds back.
func (c *carrier) keeps(vc weft.VC) bool {
	if c.waiting <= MostWaiting {
		return false
	}
	c.kept[vc]++
	return true
}

// Detach ends Attach. What waits to be taken counts as taken; what is in the send queue goes on.
func (n *NIC) Detach(out *weft.Actions) {
	if n.carrier != nil {
		n.carrier.away = true
		n.Taken(n.carrier.waiting, out)
	}
}

// Taken tells that packets of Actions.Carried, of so many bytes by their Size, have been taken.
// Those that came before the NIC was detached do not count any more.
func (n *NIC) Taken(bytes int, out *weft.Actions) {
	c := n.carrier
	if c.waiting = max(0, c.waiting-bytes); c.waiting > MostWaiting {
		return
	}
	for vc := range c.kept[:n.cfg.VCs] {
		for ; c.kept[vc] > 0; c.kept[vc]-- {
			n.end.Free(weft.VC(vc))
		}
	}
	if n.end.Owes() {
		n.markReady(out)
	}
}
