package virtual

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/pace"
)

// Frames chained on their wire are moved as those of a live link are, whose line is another.
func TestAChangedPaceMovesFramesAsOnALiveLink(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var virtual line
		var live pace.Line[int]
		due := weft.Time(0)
		for i := range r.IntN(6) {
			due += weft.Time(r.IntN(10))
			f := newFlight()
			f.due = due
			virtual.push(f)
			live.Push(i, due)
		}
		from, by := weft.Time(r.IntN(40)), weft.Time(r.IntN(30)-20)
		require.Equal(t, live.Shift(from, by), virtual.Shift(from, by))
		latest := weft.Time(r.IntN(40))
		live.Hasten(latest)
		virtual.Hasten(latest)
		for !live.Empty() {
			due := live.Due()
			live.Pop()
			require.Equal(t, due, virtual.pop().due)
		}
		require.Nil(t, virtual.first)
	}
}

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
