package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// An end hears no epoch that it refuses, whatever that says, and every later one.
func TestAnEndRefusesEpochsOfBefore(t *testing.T) {
	t.Parallel()
	e := New(Config{VCs: 1, Buffer: 2})
	e.Signal(0, true)
	e.Refuse(7)
	e.Refuse(5)
	for _, from := range []weft.Epoch{1, 6, 7} {
		for _, to := range []weft.Epoch{0, 1} {
			v, err := e.Receive(0, &weft.Frame{From: from, To: to, VCs: 1})
			require.NoError(t, err)
			require.Zero(t, v)
			require.Equal(t, Init, e.State(), "epoch %d", from)
		}
	}
	require.EqualValues(t, 6, e.Counters().Stale)
	mine, _ := e.Epochs()
	v, err := e.Receive(0, &weft.Frame{From: 8, To: mine, VCs: 1})
	require.NoError(t, err)
	require.True(t, v.CameUp)
}
