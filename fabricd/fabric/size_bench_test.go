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
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Start-up time and memory of a fabric with the papers' buffers over an embedded broker, with and
// per port of its switches and NICs. Memory is what the Go runtime holds for heap and stacks once
// traffic flows, less what it held before.
func BenchmarkSize(b *testing.B) {
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:8,3", "mport-tree:36,2"} {
		b.Run("topology="+spec, func(b *testing.B) {
			g := topologytest.Parse(b, spec)
			ports := 2 * len(g.Links)
			var start time.Duration
			var bytes uint64
			for b.Loop() {
				before := held()
				broker, err := bus.StartBroker(bus.BrokerConfig{Fabric: "size", NoListen: true})
				require.NoError(b, err)
				tr, err := bus.NewNATS(bus.NATSConfig{Fabric: "size", Broker: broker})
				require.NoError(b, err)
				began := time.Now()
				f, err := fabric.New(fabric.Options{
					Topology: g, Firmware: firmware.AdaptiveLink{}.Firmware(), Transport: tr, Seed: 1,
					Link: settings.Link{Paced: true}, Traffic: nic.Traffic{Pattern: "uniform", Load: 0.05},
				})
				require.NoError(b, err)
				require.NoError(b, f.Start(context.Background()))
				start += time.Since(began)
				for f.Totals().Delivered < uint64(len(g.NICs)) {
					runtime.Gosched()
				}
				bytes += max(held(), before) - before
				f.Stop()
				require.NoError(b, tr.Close())
				broker.Shutdown()
			}
			n := float64(b.N)
			b.ReportMetric(start.Seconds()*1e3/n, "start-ms")
			b.ReportMetric(start.Seconds()*1e6/n/float64(ports), "start-us/port")
			b.ReportMetric(float64(bytes)/n/1e6, "MB")
			b.ReportMetric(float64(bytes)/n/float64(ports), "B/port")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// held is the memory of heap and stacks after a collection, in bytes.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
