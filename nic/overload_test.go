package nic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// A source far faster than its link is caught up with in one Tick: what the full send queue owes is
// refused without being drawn, and the count stays right.
func TestAnOverloadedSourceDoesNotHoldUpItsDriver(t *testing.T) {
	r := newRig(t, Config{QueueBytes: 10 * DefaultPacketBytes})
	draws := 0
	r.cfg.Rand = counting{r.cfg.Rand, &draws}
	require.NoError(t, r.SetSource(0, Source{To: only(1), Mean: weft.Nanosecond}, &r.out))
	r.Tick(weft.Second, &r.out)
	require.Less(t, draws, 1000, "of a billion packets")
	require.EqualValues(t, 10, r.Stats().Injected)
	require.InEpsilon(t, 1e9, r.Stats().Refused, 0.01)
	require.Greater(t, r.nextAt, weft.Second)
}

// A queue that is full for the large packets of a mix still takes small ones.
func TestASourceOfManySizesIsNotRefusedWhileSmallPacketsFit(t *testing.T) {
	r := newRig(t, Config{QueueBytes: 10_000})
	require.NoError(t, r.SetSource(0, Source{To: only(1), Mean: weft.Nanosecond, Sizes: Sizes{{9000, 0.5}, {10, 0.5}}},
		&r.out))
	r.Tick(weft.Microsecond, &r.out)
	require.Greater(t, r.queue.bytes, 9990, "filled up")
	require.EqualValues(t, 101, r.Stats().Injected)
}

// A NIC with nobody to send to sets no timer.
func TestANICWithoutAPartnerSleeps(t *testing.T) {
	r := newRig(t, Config{})
	require.NoError(t, r.SetSource(0, Source{To: nowhere{}, Mean: weft.Nanosecond}, &r.out))
	r.out.Reset()
	r.Tick(weft.Second, &r.out)
	require.Equal(t, weft.Never, r.out.WakeAt)
	require.Zero(t, r.Stats().Injected+r.Stats().Refused)
}

// A packet that does not come is missing; one that comes late is not.
func TestSkippedPacketsAreMissingUntilTheyArrive(t *testing.T) {
	r := newRig(t, Config{})
	for _, c := range []struct{ seq, missing uint64 }{{0, 0}, {3, 2}, {1, 1}, {1, 1}, {4, 1}, {2, 0}} {
		r.hand(weft.Header{Src: 5, Seq: c.seq, Fields: weft.NewFields()})
		require.Equal(t, c.missing, r.Stats().Missing, "after number %d", c.seq)
		if r.end.Owes() {
			r.take(0) // the credits
		}
	}
}

// counting counts the draws of a source.
type counting struct {
	Rand
	n *int
}

func (c counting) Uint64() uint64 {
	*c.n++
	return c.Rand.Uint64()
}

// A full send queue sets no timer for each packet that it refuses. What it has refused is counted
// by the time that there is room, and from then on the source generates again.
func TestAFullSendQueueCostsNothingUntilThereIsRoom(t *testing.T) {
	r := newRig(t, Config{QueueBytes: 4 * DefaultPacketBytes})
	require.NoError(t, r.SetSource(0, Source{To: only(1), Mean: weft.Microsecond}, &r.out))
	r.out.Reset()
	r.Tick(weft.Millisecond, &r.out)
	require.EqualValues(t, 4, r.Stats().Injected)
	require.GreaterOrEqual(t, r.out.WakeAt, min(weft.Millisecond+refusesEvery, r.end.Due()))
	before := r.Stats().Refused
	var f weft.Frame
	r.out.Reset()
	require.True(t, r.Transmit(2*weft.Millisecond, 0, 1, &f, &r.out))
	require.InDelta(t, 1000, r.Stats().Refused-before, 2, "of the millisecond between")
	require.Less(t, r.out.WakeAt, 2*weft.Millisecond+20*weft.Microsecond, "there is room")
}
