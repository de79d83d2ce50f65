package fabric

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// A leader that takes a fabric over goes on with the numbers of the one before, and keeps none of
// its events.
func TestAHubWhoseNumbersGoOnHasNoneOfTheEventsBefore(t *testing.T) {
	t.Parallel()
	h := NewHub()
	h.resume(41)
	require.Empty(t, h.Since(0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.After(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
	h.Publish(weft.Second, Event{Kind: EventTraffic})
	e, err := h.After(t.Context(), 0)
	require.NoError(t, err)
	require.EqualValues(t, 42, e.Seq)
	require.EqualValues(t, 41, e.Missed)
	require.Len(t, h.Since(7), 1)
}
