package fabric

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is done in the loop is done one at a time and in the sequence in which somebody asks for it:
// before a fabric starts, while it runs, while it is stopped and after that.
func TestTheLoopDoesOneThingAtATime(t *testing.T) {
	t.Parallel()
	f := newRing(t)
	const callers, times = 8, 500
	var done [callers]int // nobody but the loop touches these
	var inside, total int
	var all sync.WaitGroup
	for who := range done {
		all.Go(func() {
			for n := range times {
				f.inLoop(func(loop) {
					inside++
					if inside == 1 && done[who] == n {
						total++
					}
					done[who]++
					inside--
				})
				if who == 0 && n == times/4 {
					if err := f.Start(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
				if who == 0 && n == times/2 {
					f.Stop()
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, callers*times, total)
	f.inLoop(func(loop) { total = 0 })
	require.Zero(t, total)
}
