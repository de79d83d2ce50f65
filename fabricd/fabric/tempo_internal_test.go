package fabric

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Lateness is a share of the time on links, and counts the more, the more packets wait for theirs.
// What was measured last holds while few packets come. A host that counts anew is measured anew.
func TestLatenessIsMeasuredPerHost(t *testing.T) {
	t.Parallel()
	measured := lateness{hosts: map[ledger.HostID]*lateHost{}}
	total := switchd.Stats{}
	next := func(more switchd.Stats) (late float64) {
		for range middleOf {
			total = total.Add(more)
			late = measured.next(1, &total)
		}
		return late
	}
	some := switchd.Stats{FramesOut: 120, CreditFrames: 20, Lasted: 100 * time.Millisecond, Overdue: 50 * time.Millisecond}
	require.InDelta(t, 0.5*counts, next(some), 1e-9)
	require.Zero(t, measured.next(2, &switchd.Stats{}), "another host")
	waiting := some
	waiting.Waited = 50
	late := 0.5 * (counts + 0.5*countsQueue)
	require.InDelta(t, late, next(waiting), 1e-9, "half of them wait")
	for range idleAfter / middleOf {
		require.InDelta(t, late, next(switchd.Stats{Lasted: time.Millisecond}), 1e-9)
	}
	require.Zero(t, next(switchd.Stats{}), "nothing moves")
	next(waiting)
	total = switchd.Stats{}
	require.Zero(t, next(switchd.Stats{}), "it counts anew")
	require.InDelta(t, 0.5*counts, next(some), 1e-9)
	measured.at(0.5)
	require.Zero(t, measured.next(1, &total), "the clocks go slower")
	require.InDelta(t, 0.5*counts, next(some), 1e-9)
}

// A host that stood still once has a measurement or two of it, which hold for as long as few packets
// come, and is not late.
func TestAHostThatStoodStillOnceIsNotLate(t *testing.T) {
	t.Parallel()
	measured := lateness{hosts: map[ledger.HostID]*lateHost{}}
	total := switchd.Stats{}
	well := switchd.Stats{FramesOut: 100, Lasted: 60 * time.Millisecond}
	for range middleOf {
		total = total.Add(well)
		require.Zero(t, measured.next(1, &total))
	}
	stood := well
	stood.Overdue = 20 * time.Second
	for range 2 {
		total = total.Add(stood)
		require.Zero(t, measured.next(1, &total))
		total = total.Add(switchd.Stats{Lasted: time.Millisecond})
		require.Zero(t, measured.next(1, &total), "too few packets")
	}
	for range middleOf {
		total = total.Add(well)
		require.Zero(t, measured.next(1, &total))
	}
}
