package nic

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// MaxMarks bounds the packets of one NIC that are to be traced when they leave, chosen by us: more
// than anybody reads.
const MaxMarks = 1 << 16

// Mark has the next packets for dst traced, so many beside those that are marked already: those
// that wait in the send queue come first. The error wraps ErrNoSuchNIC, or says that there are more
// than MaxMarks.
func (n *NIC) Mark(dst weft.NICID, count int) error {
	switch {
	case int(dst) >= n.cfg.NICs:
		return fmt.Errorf("nic %d: mark packets for nic %d: %w: there are %d", n.cfg.ID, dst, ErrNoSuchNIC, n.cfg.NICs)
	case count < 1 || n.marks[dst]+count > MaxMarks:
		return fmt.Errorf("nic %d: mark %d packets for nic %d, beside %d: expected 1 to %d in all", n.cfg.ID, count, dst,
			n.marks[dst], MaxMarks)
	}
	if n.marks == nil {
		n.marks = map[weft.NICID]int{}
	}
	n.marks[dst] += count
	return nil
}

// Unmark takes back the marks for dst, at most so many, that no packet has taken, and returns how
// many those were.
func (n *NIC) Unmark(dst weft.NICID, most int) (left int) {
	left = min(n.marks[dst], most)
	if n.marks[dst] == left {
		delete(n.marks, dst)
	} else {
		n.marks[dst] -= left
	}
	return left
}

// marked takes a mark for dst, if there is one.
func (n *NIC) marked(dst weft.NICID) bool { return n.Unmark(dst, 1) == 1 }

// Generates reports whether the source goes on generating packets.
func (n *NIC) Generates() bool { return n.nextAt != weft.Never }

// Attached reports whether somebody has packets with payloads to send.
func (n *NIC) Attached() bool { return n.carrier != nil && !n.carrier.away }

// Waits reports whether packets wait in the send queue.
func (n *NIC) Waits() bool { return n.queue.packets > 0 }
