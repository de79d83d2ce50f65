package remote

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
)

// A host that was told to end, and whose credentials were taken back before it has looked, says why
// it ends, and not that the broker refuses it.
func TestAHostThatIsToEndSaysWhyAlsoWithoutItsCredentials(t *testing.T) {
	t.Parallel()
	control := bustest.Server(t, bus.ServerConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true})})
	require.NoError(t, control.Close())
	<-control.Done()
	for range 100 { // either may be looked at first
		p := &Server{ended: make(chan string, 1), control: control, log: slog.New(slog.DiscardHandler)}
		p.ended <- "it is over"
		why, err := p.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "it is over", why)
	}
}
