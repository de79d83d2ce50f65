package fabric

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/switch/switchd"
)

// Lateness is a share of the time on links, and counts the more, the more packets wait for theirs.
// What was measured last holds while few packets come. A host that counts anew is measured anew.
func TestLatenessIsMeasuredPerHost(t *testing.T) {
	t.Parallel()
	measured := lateness{}
	total := switchd.Stats{}
	next := func(more switchd.Stats) float64 {
		total = total.Add(more)
		return measured.next(1, &total)
	}
	some := switchd.Stats{FramesOut: 120, CreditFrames: 20, Lasted: 100 * time.Millisecond, Overdue: 50 * time.Millisecond}
	require.InDelta(t, 0.5*counts, next(some), 1e-9)
	require.Zero(t, measured.next(2, &switchd.Stats{}), "another host")
	waiting := some
	waiting.Waited = 50
	late := 0.5 * (counts + 0.5*countsQueue)
	require.InDelta(t, late, next(waiting), 1e-9, "half of them wait")
	for range idleAfter {
		require.InDelta(t, late, next(switchd.Stats{Lasted: time.Millisecond}), 1e-9)
	}
	require.Zero(t, next(switchd.Stats{}), "nothing moves")
	next(waiting)
	total = switchd.Stats{}
	require.Zero(t, next(switchd.Stats{}), "it counts anew")
	require.InDelta(t, 0.5*counts, next(some), 1e-9)
}
