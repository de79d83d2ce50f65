package fabric_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
)

// At saturation on a machine that has other things to do, 50 ms x 3 must not take a live neighbour
// for dead, however long that lasts.
func TestASaturatedFabricOnABusyMachineTakesNobodyForDead(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	calm := testenv.For(t, 2*time.Second, 10*time.Minute)
	g := topologytest.Parse(t, tree)
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "calm", NoListen: true})
	require.NoError(t, err)
	defer b.Shutdown()
	tr, err := bus.NewNATS(bus.NATSConfig{Fabric: "calm", Broker: b})
	require.NoError(t, err)
	defer tr.Close()
	f, err := fabric.New(fabric.Options{
		Topology: g, Firmware: firmware.AdaptiveLink{}.Firmware(), Transport: tr, Seed: 1,
		Traffic: nic.Traffic{Pattern: "uniform", Load: 1}, NIC: settings.NIC{QueueBytes: 16 << 10},
		Link: settings.Link{Rate: 4_000_000},
	})
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	defer f.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), calm)
	defer cancel()
	busy(t, runtime.NumCPU()) // the other things
	<-ctx.Done()
	require.Positive(t, f.Totals().Refused, "it was saturated")
	for _, e := range f.Events().Since(0) {
		require.NotEqual(t, fabric.EventLinkDown, e.Kind, "%+v", e)
	}
	t.Logf("%v, %d packet-hops", calm, f.PacketHops())
	attack.Count(t, "a saturated fabric beside busy loops", 1)
}
