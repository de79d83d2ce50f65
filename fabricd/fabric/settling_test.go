package fabric_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/nic"
)

// What was lost so long ago that NICs do not tell its generation apart any more does not stand for
// what is on its way now.
func TestPacketsOnTheirWayAreWaitedForHoweverManyWereLostLongAgo(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2", harness.FirmwareByName("ftree"))
	f := h.Fabric()
	all := func() {
		for src := range weft.NICID(4) {
			for dst := range weft.NICID(4) {
				if src != dst {
					_, err := f.Send(src, dst, false)
					require.NoError(t, err)
				}
			}
		}
		_, err := f.Quiesce(t.Context())
		require.NoError(t, err)
	}
	h.Cut("s0.0", "s1.0")
	all()
	require.Positive(t, f.Ledger().Discarded+f.Ledger().Lost)
	h.Heal()
	for range nic.MaxGenerations + 20 {
		f.Settling()
		for src := range weft.NICID(4) {
			_, err := f.Send(src, (src+1)%4, false)
			require.NoError(t, err)
		}
	}
	all()
	f.HoldNICs()
	_, err := f.Send(0, 3, false)
	require.NoError(t, err)
	gone := f.Settling()
	require.False(t, gone())
	f.ResumeNICs()
	_, err = f.Quiesce(t.Context())
	require.NoError(t, err)
	rig.Until(t, gone)
}

// Who waits for an empty fabric is told when it will not be: a manager that had NICs held may be
// gone, and its question is still asked.
func TestWhoWaitsForAnEmptyFabricIsToldWhenNICsInjectAgain(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "kary-ntree:2,2", harness.FirmwareByName("ftree"), harness.Traffic("uniform:1"))
	f := h.Fabric()
	rig.Until(t, func() bool {
		_, err := f.Drained(t.Context()) // it may be empty by chance
		return errors.Is(err, fabric.ErrResumed)
	})
	f.HoldNICs()
	_, err := f.Drained(t.Context())
	require.NoError(t, err)
	f.ResumeNICs()
	require.NoError(t, f.StopTraffic())
	h.RequireLedger()
}
