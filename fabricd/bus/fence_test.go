package bus

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/weft-fabric/weft/switch/wire"
)

// Cut does not return while a delivery that began before it is under way: it would enter the inbox
// afterwards.
func TestCutWaitsForTheDeliveryUnderWay(t *testing.T) {
	t.Parallel()
	b, err := StartBroker(BrokerConfig{Fabric: "lab", NoListen: true})
	require.NoError(t, err)
	t.Cleanup(b.Shutdown)
	n, err := NewNATS(NATSConfig{Fabric: "lab", Broker: b, Shards: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })

	mu := &n.shards[0].mu
	mu.RLock() // as the demultiplexer does
	done := make(chan error, 1)
	go func() { done <- n.Cut(wire.Direction{From: "s0", To: "s1"}) }()
	for waiting := false; !waiting; runtime.Gosched() {
		if waiting = !mu.TryRLock(); !waiting { // fails once a writer waits
			mu.RUnlock()
		}
		require.Empty(t, done, "Cut has returned")
	}
	mu.RUnlock()
	require.NoError(t, <-done)
}
