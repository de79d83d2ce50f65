package fabric_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/nic"
)

// A cut acts at once, and is answered when a later leader would know of it, or with a word that
// none would.
func TestAnOrderIsAnsweredWhenItIsKept(t *testing.T) {
	t.Parallel()
	var written atomic.Pointer[chan struct{}]
	written.Store(new(make(chan struct{})))
	l := live.Start(t, live.Config{
		Topology: smallTree, Routing: "adaptive-link",
		Options: []func(*fabric.Options){func(o *fabric.Options) {
			o.Checkpoint = func(fabric.State) <-chan struct{} { return *written.Load() }
		}},
	})
	until := func(down int) {
		rig.Until(t, func() bool { return len(l.Fabric.LinksDown()) == down })
	}
	answered := make(chan []fabric.Outcome, 1)
	go func() {
		out, _ := l.Fabric.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"})
		answered <- out
	}()
	until(1)
	require.Empty(t, answered)
	close(*written.Load())
	out := <-answered
	require.Empty(t, out[0].Note)

	written.Store(new(make(chan struct{})))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		out, _ := l.Fabric.Apply(ctx, fault.Spec{Do: fault.VerbCut, A: "s0.01-s1.01"})
		answered <- out
	}()
	until(2)
	cancel()
	require.Contains(t, (<-answered)[0].Note, "would not know")

	// So is a change of the traffic.
	written.Store(new(make(chan struct{})))
	notes := make(chan string, 1)
	replace := func(ctx context.Context, load float64) {
		note, err := l.Fabric.ReplaceTraffic(ctx, nic.Traffic{Pattern: "uniform", Load: load})
		assert.NoError(t, err)
		notes <- note
	}
	injects := func(load float64) {
		rig.Until(t, func() bool { return l.Fabric.Traffic().Load == load })
	}
	go replace(t.Context(), 0.1)
	injects(0.1)
	require.Empty(t, notes)
	close(*written.Load())
	require.Empty(t, <-notes)
	written.Store(new(make(chan struct{})))
	ctx, cancel = context.WithCancel(t.Context())
	go replace(ctx, 0.2)
	injects(0.2)
	cancel()
	require.Contains(t, <-notes, "would not know")
}
