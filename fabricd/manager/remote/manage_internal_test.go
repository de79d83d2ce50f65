package remote

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/reply"
)

func TestWhateverIsNoticedFirstOfAFabricThatHasEndedItHasEnded(t *testing.T) {
	t.Parallel()
	other := errors.New("the store is gone")
	require.Equal(t, reply.ErrEnded, noticed(other, true))
	require.Equal(t, other, noticed(other, false))
	require.NoError(t, noticed(nil, true), "it was interrupted, and the fabric has ended since")
}

// It ends as one that manages does when it is interrupted: quietly.
func TestAManagerThatIsInterruptedWhileItStartsSaysNothing(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{StoreDir: t.TempDir()})
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	c := bus.ClientConfig{
		Fabric: bustest.Name, URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleManager), Program: "manage",
	}
	require.NoError(t, Manage(ctx, c, "", slog.New(slog.DiscardHandler),
		func(text string) { t.Error(text) }, func(n manager.Note) { t.Error(n) }))
}
