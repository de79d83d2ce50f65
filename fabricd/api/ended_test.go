package api

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestStreamsEndWhenTheFabricIsGone(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	s := serve(t)
	c, ctx := s.dial(false), t.Context()
	s.Cut("s0.0", "s1.0") // an event
	events, samples, ended := make(chan struct{}, 1), make(chan struct{}, 1), make(chan error, 2)
	go func() { ended <- c.Follow(ctx, 0, func(fabric.Event) error { wake(events); return nil }) }()
	go func() { ended <- c.Watch(ctx, func(Sample) error { wake(samples); return nil }) }()
	<-events
	<-samples
	s.broker.Shutdown()
	for range 2 {
		require.ErrorContains(t, <-ended, "the fabric has ended")
	}
}

func TestAStreamThatSaysNothingGoesOnWhileTheFabricIsThere(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	s := serve(t)
	c := s.dial(false)
	live, err := c.bus.Subscribe(StreamEvent, 1)
	require.NoError(t, err)
	defer live.Close()
	ctx, cancel := context.WithTimeout(t.Context(), silenceTime*3/2)
	defer cancel()
	_, err = next[Sample](ctx, c, live, "sample")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, wire.ErrClosed)
	require.Equal(t, context.DeadlineExceeded, err, "it was ctx that ended, not the fabric")
}
