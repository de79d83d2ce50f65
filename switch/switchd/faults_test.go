package switchd

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

// What a neighbour does thousands of times a second is told at once, and then ever more rarely;
// nothing of it is left out of the count.
func TestFaultsAreLimitedPerSourceAndCounted(t *testing.T) {
	t.Parallel()
	var o observer
	r := newRig(t, link.Pace{}, Config{Watch: &o})
	r.stop() // the test is its clock
	violation := errors.New("no credit")
	at := func(now weft.Time, p weft.PortID, n int, damaged bool) {
		var out weft.Actions
		out.Reset()
		for range n {
			f := weft.Fault{Port: p, Err: violation, Damaged: damaged}
			if damaged {
				f.Err = wire.ErrDamaged
			}
			out.Faults = append(out.Faults, f)
		}
		r.d.act(now, now, &out)
	}
	heard := func() (counts []uint64) {
		for _, f := range o.faults {
			counts = append(counts, f.Count)
		}
		o.faults = nil
		return counts
	}
	at(0, 0, 1000, false)
	require.Equal(t, []uint64{1}, heard(), "the first at once")
	at(0, 0, 10, true)
	at(0, 1, 10, true)
	require.Equal(t, []uint64{1, 1}, heard(), "other sources are not held up")
	require.Equal(t, weft.Second, r.d.tellAt)
	r.d.tellFaults(weft.Second - 1)
	require.Empty(t, heard())
	r.d.tellFaults(weft.Second)
	require.ElementsMatch(t, []uint64{999, 9, 9}, heard())
	require.Equal(t, weft.Never, r.d.tellAt)

	// While it goes on it is told after 1, 2, 4, ... 60 s.
	var told, count uint64
	for now := weft.Second; now < 600*weft.Second; now += weft.Second / 10 {
		at(now, 0, 10, false)
		if now >= r.d.tellAt {
			r.d.tellFaults(now)
		}
		for _, n := range heard() {
			told, count = told+1, count+n
		}
	}
	require.LessOrEqual(t, told, uint64(16))
	r.d.tellFaults(700 * weft.Second)
	for _, n := range heard() {
		count += n
	}
	require.EqualValues(t, 10*10*599, count)

	// Once it has stopped for long, the next is told at once again.
	at(1000*weft.Second, 0, 1, false)
	require.Equal(t, []uint64{1}, heard())
	at(1000*weft.Second+1, 0, 1, false)
	require.Equal(t, 1001*weft.Second, r.d.tellAt)
}
