package command

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCtrlCEndsRoutesWhileAnEngineComputes(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	begun, end := make(chan struct{}), make(chan struct{})
	go func() {
		<-begun
		interrupt()
	}()
	_, err := UnlessInterrupted(ctx, "no routes are computed", func() (int, error) {
		close(begun)
		<-end
		return 1, nil
	})
	require.EqualError(t, err, "interrupted, no routes are computed")
	close(end)
}
