package remote

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/reply"
)

func TestWhateverIsNoticedFirstOfAFabricThatHasEndedItHasEnded(t *testing.T) {
	t.Parallel()
	other := errors.New("the store is gone")
	require.Equal(t, reply.ErrEnded, noticed(other, true))
	require.Equal(t, other, noticed(other, false))
	require.NoError(t, noticed(nil, true), "it was interrupted, and the fabric has ended since")
}
