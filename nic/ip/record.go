package ip

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/nicd"
)

// Connection is what the packets of a NIC tell of a connection of TCP, of what its side sends.
type Connection struct {
	From     netip.AddrPort `json:"from"` // the side of the NIC
	To       netip.AddrPort `json:"to"`
	Bytes    uint64         `json:"bytes"`                 // sent for the first time
	Rate     float64        `json:"bytes_per_second"`      // of them, in about the last second
	Resent   uint64         `json:"resent"`                // bytes sent again
	Longest  weft.Time      `json:"longest_standstill_ps"` // in which nothing of what was sent was acknowledged
	Standing weft.Time      `json:"standing_ps"`           // for how long that is so now; 0: it is not
	Ended    bool           `json:"ended"`
}

// maxConnections bounds what a record remembers; those that ended, then those that were silent for
// longest, are forgotten first. Chosen by us.
const maxConnections = 256

// Record is what the packets of one NIC tell of its connections. It is for one goroutine at a time;
// the zero value is empty.
type Record struct {
	list map[way]*connection
}

type way struct{ from, to netip.AddrPort }

// connection is a connection as seen from its sender.
type connection struct {
	Connection
	next, acked uint32    // the next byte to be sent for the first time, and to be acknowledged
	since       weft.Time // when something was acknowledged last, or sent with nothing unacknowledged
	heard       weft.Time // of its latest packet
	fresh       meter     // of what is sent for the first time
	history     history
	past        bool // of a port before
}

// Sent notes a packet that leaves the NIC.
func (r *Record) Sent(now weft.Time, packet []byte) {
	s, ok := ReadSegment(packet)
	if !ok {
		return
	}
	w := way{s.From, s.To}
	c := r.list[w]
	if c == nil && s.Reset {
		return // the answer to a packet of a connection that is gone
	}
	if c == nil || s.Opens && c.Ended {
		if c == nil {
			r.makeRoom()
		}
		c = &connection{Connection: Connection{From: s.From, To: s.To}, next: s.Seq, acked: s.Seq}
		r.list[w] = c
	}
	c.heard, c.Ended = now, c.Ended || s.Ends
	if s.Bytes == 0 {
		return
	}
	if c.next == c.acked {
		c.since = now
	}
	fresh := int32(s.Seq + s.Bytes - c.next) // sequence numbers go round (RFC 9293, section 3.4)
	fresh = min(max(fresh, 0), int32(s.Bytes))
	c.fresh.add(now, uint64(fresh))
	if again := uint64(s.Bytes) - uint64(fresh); again > 0 {
		c.history.sentAgain(now, c.Resent)
		c.Resent += again
	}
	c.next += uint32(fresh)
}

// Came notes a packet that comes to the NIC.
func (r *Record) Came(now weft.Time, packet []byte) {
	s, ok := ReadSegment(packet)
	if !ok {
		return
	}
	c := r.list[way{s.To, s.From}]
	if c == nil {
		return
	}
	c.heard, c.Ended = now, c.Ended || s.Reset
	if int32(s.Ack-c.acked) <= 0 || int32(s.Ack-c.next) > 0 {
		return
	}
	c.Longest = max(c.Longest, now-c.since)
	c.history.stood(c.since, now)
	c.acked, c.since = s.Ack, now
}

// Connections are those that are remembered, by address.
func (r *Record) Connections(now weft.Time) (list []Connection) {
	for _, c := range r.list {
		if c.past {
			continue
		}
		one := c.Connection
		one.Bytes, one.Rate = c.fresh.bytes, c.fresh.rate(now)
		if c.next != c.acked && !c.Ended {
			one.Standing = now - c.since
		}
		one.Longest = max(one.Longest, one.Standing)
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Connection) int {
		return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To))
	})
	return list
}

// Since are the connections that sent something, or stood still, since a moment.
func (r *Record) Since(now, from weft.Time) (list []nicd.Suffered) {
	for _, c := range r.list {
		still := c.history.longest(from)
		if c.next != c.acked && !c.Ended {
			still = max(still, now-max(c.since, from))
		}
		if again := c.history.again(from, c.Resent); again > 0 || still > 0 {
			list = append(list, nicd.Suffered{From: c.From, To: c.To, Resent: again, Still: still})
		}
	}
	return list
}

// End notes that nothing is sent any more: all connections have ended, and only Since tells of
// them.
func (r *Record) End() {
	for _, c := range r.list {
		c.Ended, c.past = true, true
	}
}

// makeRoom forgets a connection where there are as many as can be.
func (r *Record) makeRoom() {
	if r.list == nil {
		r.list = map[way]*connection{}
	}
	if len(r.list) < maxConnections {
		return
	}
	var oldest *connection
	for _, c := range r.list {
		if oldest == nil || c.Ended && !oldest.Ended || c.Ended == oldest.Ended && c.heard < oldest.heard {
			oldest = c
		}
	}
	delete(r.list, way{oldest.From, oldest.To})
}
