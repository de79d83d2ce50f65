package fabric

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/wire"
)

// A timer that is set once the fabric has been stopped never fires: Stop could not wait for it.
func TestNoTimerFiresAfterStop(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	fw, _, err := subnet.Firmware("updn", g)
	require.NoError(t, err)
	f, err := New(Options{Topology: g, Firmware: fw, Transport: wire.NewMemory()})
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
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
