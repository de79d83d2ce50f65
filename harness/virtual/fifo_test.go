package virtual

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestALaneGrowsInOrder(t *testing.T) {
	t.Parallel()
	f := newFIFO()
	var pushed, popped weft.Time
	for range 1000 {
		for range 3 {
			require.True(t, f.push(event{at: pushed}))
			pushed++
		}
		for range 2 {
			require.Equal(t, popped, f.pop().at)
			popped++
		}
		require.False(t, f.push(event{at: pushed - 2}), "due before the last")
	}
	require.Equal(t, uint(pushed-popped), f.n)
}
