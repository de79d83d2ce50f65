package nicd

import (
	"net/netip"

	"github.com/weft-fabric/weft"
)

// Recorder remembers the connections whose packets a NIC has carried, also when they have ended.
type Recorder interface {
	// Since tells of those that sent something, or stood still, since a moment.
	Since(from weft.Time) []Suffered
}

// Suffered is what one connection has suffered in some time, of what the side of the NIC sends.
type Suffered struct {
	From, To netip.AddrPort // From is the side of the NIC
	Resent   uint64         // bytes sent again
	Still    weft.Time      // the longest in which nothing of what was sent was acknowledged
}

// Record has a recorder tell of the NIC's connections from now on. It returns the one before; nil:
// there was none.
func (n *NIC) Record(r Recorder) (before Recorder) {
	if was := n.recorder.Swap(&r); was != nil {
		before = *was
	}
	return before
}

// Recorder is the one that was set last; nil: none was.
func (n *NIC) Recorder() Recorder {
	if r := n.recorder.Load(); r != nil {
		return *r
	}
	return nil
}

// Now is the time by the clock of the fabric.
func (n *NIC) Now() weft.Time { return n.now() }
