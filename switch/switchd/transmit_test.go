package switchd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

func TestAPacedLinkKeepsItsRate(t *testing.T) {
	t.Parallel()
	const rate, packets = 256 * 1000, 400 // a thousand packets a second, for 400 ms
	r := newRig(t, link.Pace{Rate: rate}, Config{})
	r.give(packets)
	began := r.now()
	var last weft.Time
	r.take(packets, func(_ int, at weft.Time, _ weft.Header) { last = at })
	took := (last - began).Duration()
	ideal := time.Duration(packets) * 256 * time.Second / rate
	require.Greater(t, took, ideal/2) // how late it may be is the machine's; that it catches up, package pace tests
	r.look(func(c *fake) {
		for _, n := range c.batches {
			require.Equal(t, 1, n, "each packet keeps its own time")
		}
	})
}

func TestDelayHoldsEveryPacketAndKeepsTheirOrder(t *testing.T) {
	t.Parallel()
	const delay = 30 * time.Millisecond
	for _, rate := range []float64{0, 2_560_000} {
		r := newRig(t, link.Pace{Rate: rate, Delay: delay}, Config{Batch: 8})
		r.give(100)
		var arrived []weft.Time
		r.take(100, func(i int, at weft.Time, h weft.Header) {
			require.EqualValues(t, i, h.Seq)
			arrived = append(arrived, at)
		})
		r.look(func(c *fake) {
			for i, at := range arrived {
				require.GreaterOrEqual(t, at, c.sentAt[i]+weft.FromDuration(delay), "packet %d", i)
			}
		})
		r.stop()
	}
}
