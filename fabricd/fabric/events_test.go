package fabric_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
)

const withOlder = 4096 // events that a hub keeps

func TestAFollowerHearsFromAnyNumberOn(t *testing.T) {
	t.Parallel()
	hub := fabric.NewHub()
	for i := range 100 {
		hub.Publish(weft.Time(i)*weft.Second, fabric.Event{Kind: fabric.EventTraffic})
	}
	for from := range uint64(100) {
		e, err := hub.After(t.Context(), from)
		require.NoError(t, err)
		require.Equal(t, fabric.Event{Seq: from + 1, At: float64(from), Kind: fabric.EventTraffic}, e)
	}
	assert.EqualValues(t, 100, hub.Last())
}

func TestASlowFollowerIsToldHowManyEventsItMissed(t *testing.T) {
	t.Parallel()
	hub := fabric.NewHub()
	const published = 3*withOlder + 5
	for range published {
		hub.Publish(0, fabric.Event{Kind: fabric.EventTraffic})
	}
	e, err := hub.After(t.Context(), 10)
	require.NoError(t, err)
	assert.EqualValues(t, published-withOlder+1, e.Seq)
	assert.Equal(t, e.Seq-11, e.Missed)
	for seq := e.Seq; seq < published; seq++ { // and then nothing, to the end
		e, err = hub.After(t.Context(), seq)
		require.NoError(t, err)
		require.Equal(t, seq+1, e.Seq)
		require.Zero(t, e.Missed)
	}
}

func TestAFollowerWaitsForTheNextEventUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	hub := fabric.NewHub()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var followers sync.WaitGroup
	for range 10 {
		followers.Go(func() {
			e, err := hub.After(ctx, 0)
			assert.NoError(t, err)
			assert.EqualValues(t, 1, e.Seq)
			_, err = hub.After(ctx, e.Seq)
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	hub.Publish(0, fabric.Event{Kind: fabric.EventTraffic})
	// Those who have not asked yet find the event all the same, so there is nothing to wait for
	// here but their second turn.
	time.AfterFunc(20*time.Millisecond, cancel)
	followers.Wait()
}

// Publish has no follower to wait for: here one follows and never asks again, others as fast as
// they can.
func TestPublishingNeverWaitsForFollowers(t *testing.T) {
	t.Parallel()
	hub := fabric.NewHub()
	hub.Publish(0, fabric.Event{})
	_, err := hub.After(t.Context(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var followers sync.WaitGroup
	for range 4 {
		followers.Go(func() {
			seen := uint64(0)
			for {
				e, err := hub.After(ctx, seen)
				if err != nil {
					return
				}
				assert.Equal(t, seen+1+e.Missed, e.Seq, "each event once, or counted as missed")
				seen = e.Seq
			}
		})
	}
	for range 5 * withOlder {
		hub.Publish(0, fabric.Event{})
	}
	cancel()
	followers.Wait()
	assert.EqualValues(t, 5*withOlder+1, hub.Last())
}

// A cut or restore is told once both ends have acted on it, with what it cost, so their views come
// first.
func TestAFollowerSeesBothEndsLoseAndRegainTheLinkInOrder(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree)
	seq := h.Fabric().Events().Last()
	fault := h.Cut("s0.00", "s1.00")
	h.Restore("s0.00", "s1.00")
	h.Crash("s0.01")
	h.Restart("s0.01")
	var kinds []string
	for range 14 {
		e, err := h.Fabric().Events().After(t.Context(), seq)
		require.NoError(t, err)
		require.Equal(t, seq+1, e.Seq)
		seq = e.Seq
		kinds = append(kinds, e.Kind)
		switch e.Kind {
		case "cut":
			assert.Equal(t, &fault, e.Fault)
			assert.Equal(t, "s0.00-s1.00", e.Link)
		case "crash", fabric.EventRestart:
			assert.Equal(t, "s0.01", e.Switch)
		default:
			assert.NotEmpty(t, e.Link)
		}
	}
	assert.Equal(t, []string{"link_down", "link_down", "cut", "link_up", "link_up", "restore"}, kinds[:6])
	assert.Equal(t, []string{"link_down", "link_down", "link_down", "link_down", "crash"}, kinds[6:11])
	assert.Equal(t, []string{"link_up", "link_up", "link_up"}, kinds[11:])
	e, err := h.Fabric().Events().After(t.Context(), seq+1)
	require.NoError(t, err)
	assert.Equal(t, fabric.EventRestart, e.Kind)
	assert.Equal(t, e.Seq, h.Fabric().Events().Last())
}
