package fabric

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A timer that is set once the fabric has been stopped never fires: Stop could not wait for it.
func TestNoTimerFiresAfterStop(t *testing.T) {
	t.Parallel()
	f := startRing(t)
	fired := make(chan struct{})
	f.At(0, func() { close(fired) })
	<-fired
	f.Stop()
	var after atomic.Int64
	for range 100 { // were there a goroutine for it, it would find at random that it is due, or that the runtime has ended
		f.At(0, func() { after.Add(1) })
	}
	f.live.running.Wait()
	require.Zero(t, after.Load())
}
