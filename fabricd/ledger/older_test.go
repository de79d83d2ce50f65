package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/switch/link"
)

// A leader goes on from a checkpoint in which host 2 has failed. The leader before may have had it
// back since: what its neighbours said to that one, that their ends are down, settles nothing.
func TestWhatWasSaidToAnotherLeaderSettlesNothing(t *testing.T) {
	t.Parallel()
	d := line()
	d.hears(1, link.Up, 4, 0, [2]uint64{4, 0})
	d.hears(2, link.Up, 0, 0, [2]uint64{0, 4}, [2]uint64{0, 0}) // it holds four
	d.does(HostFailed{Host: 2})
	data, err := d.Checkpoint(maxIncidents)
	require.NoError(t, err)
	answer := func() {
		d.hears(1, link.Down, 4, 0, [2]uint64{4, 0})
		d.hears(3, link.Down, 0, 0, [2]uint64{0, 0}, [2]uint64{0, 0})
		d.hears(4, link.Up, 0, 0, [2]uint64{0, 0})
	}
	answer()
	require.EqualValues(t, 4, d.Balance().WrittenOff)

	d.Ledger, err = Restore(data, d.links)
	require.NoError(t, err)
	d.does(LeaderChanged{})
	for _, h := range []HostID{1, 3, 4} { // what they said before arrives once more
		d.does(d.answers[h])
	}
	require.Equal(t, InFlight{Doubt: 4}, d.Balance().Waiting)
	answer()
	require.EqualValues(t, 4, d.Balance().WrittenOff)
}
