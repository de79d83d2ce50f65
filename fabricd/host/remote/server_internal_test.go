package remote

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/host"
)

// A host that was told to end, and whose credentials were taken back before it has looked, says why
// it ends, and not that the broker refuses it.
func TestAHostThatIsToEndSaysWhyAlsoWithoutItsCredentials(t *testing.T) {
	t.Parallel()
	control := bustest.Server(t, bus.ServerConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true})})
	require.NoError(t, control.Close())
	<-control.Done()
	for i := range 100 { // either may be looked at first
		p := &Server{ended: make(chan host.EndOrder, 2), control: control, log: slog.New(slog.DiscardHandler)}
		p.ended <- host.EndOrder{Why: "it is over", Stay: i%2 == 0}
		why, err := p.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "it is over", why)
	}
}
