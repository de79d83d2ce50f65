package fabric_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// Packet-hops per CPU-second of a saturated 4-ary 3-tree, NICs included, and how long goroutines
// waited for the lock of a core, as a share of the CPU time. b.N counts packet-hops.
func BenchmarkTree(b *testing.B) {
	for _, links := range []string{"memory", "nats"} {
		for _, buffer := range []int{2, 16} {
			b.Run(fmt.Sprintf("links=%s/buffer=%d", links, buffer), func(b *testing.B) {
				var tr wire.Transport = wire.NewMemory()
				if links == "nats" {
					tr = overNATS(b)
				}
				defer func() { require.NoError(b, tr.Close()) }()
				g := topologytest.Parse(b, "kary-ntree:4,3")
				f, err := fabric.New(fabric.Options{
					Topology: g, Firmware: firmware.DeterministicLink(), Transport: tr, Seed: 1,
					Switch:  settings.Switch{VCs: 2, InputBuffer: buffer, OutputBuffer: buffer},
					Link:    settings.Link{Rate: 1e6}, // 250,000 packets per second offered by all NICs
					NIC:     settings.NIC{QueueBytes: 64 << 10},
					Traffic: nic.Traffic{Pattern: "uniform", Load: 1},
				})
				require.NoError(b, err)
				require.NoError(b, f.Start(context.Background()))
				defer f.Stop()
				measureTree(b, f)
			})
		}
	}
}

// Packet-hops per CPU-second of a small and a large tree over NATS, with the defaults but for short
// send queues: all NICs have packets to send. b.N counts packet-hops.
func BenchmarkSaturated(b *testing.B) {
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:16,3"} {
		b.Run(spec, func(b *testing.B) {
			tr := overNATS(b)
			defer func() { require.NoError(b, tr.Close()) }()
			f, err := fabric.New(fabric.Options{
				Topology: topologytest.Parse(b, spec), Firmware: firmware.AdaptiveLink{}.Firmware(), Transport: tr,
				Seed: 1, FixedTime: true, NIC: settings.NIC{QueueBytes: 16 << 10},
				Traffic: nic.Traffic{Pattern: "uniform", Load: 1},
			})
			require.NoError(b, err)
			require.NoError(b, f.Start(context.Background()))
			defer f.Stop()
			measureTree(b, f)
		})
	}
}

// overNATS are links over a broker that the benchmark ends. The caller closes them.
func overNATS(b *testing.B) *bus.NATS {
	b.Helper()
	broker, err := bus.StartBroker(bus.BrokerConfig{Fabric: "tree", NoListen: true})
	require.NoError(b, err)
	b.Cleanup(broker.Shutdown)
	tr, err := bus.NewNATS(bus.NATSConfig{Fabric: "tree", Broker: broker})
	require.NoError(b, err)
	return tr
}

func measureTree(b *testing.B, f *fabric.Fabric) {
	b.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // to look takes long in a large fabric
	defer tick.Stop()
	for f.PacketHops() < 50_000 {
		<-tick.C // filling
	}
	first, waited, cpu := f.PacketHops(), f.Drivers().LockWait, testenv.CPU()
	b.ResetTimer()
	hops := uint64(0)
	for hops < uint64(b.N) {
		<-tick.C
		hops = f.PacketHops() - first
	}
	used := testenv.CPU() - cpu
	b.ReportMetric(float64(hops)/used.Seconds(), "hops/cpu-s")
	b.ReportMetric(float64((f.Drivers().LockWait-waited).Duration())/float64(used), "lock-wait/cpu")
	b.ReportMetric(0, "ns/op")
}
