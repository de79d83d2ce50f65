package fabric_test

import (
	"context"
	"fmt"
	"slices"
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
)

// What tracing one of so many packets costs a saturated 4-ary 3-tree over NATS: packet-hops per
// CPU-second, as a share of those without. The forms take turns, so that a machine that becomes
// slower does so for all of them; medians. With a reader it is read as linkmon and the page read
// it, four times a second. b.N is the number of turns.
func BenchmarkTracing(b *testing.B) {
	type form struct {
		every int
		read  bool
	}
	forms := []form{{0, false}, {1000, false}, {1000, true}, {100, true}, {1, false}}
	rates := map[form][]float64{}
	for range b.N {
		for _, f := range forms {
			rates[f] = append(rates[f], tracedRate(b, f.every, f.read))
		}
	}
	median := func(f form) float64 {
		slices.Sort(rates[f])
		return rates[f][len(rates[f])/2]
	}
	off := median(forms[0])
	b.ReportMetric(off, "hops/cpu-s")
	for _, f := range forms[1:] {
		name := fmt.Sprintf("of-it/every=%d", f.every)
		if f.read {
			name += "+reader"
		}
		b.ReportMetric(median(f)/off, name)
	}
	b.ReportMetric(0, "ns/op")
}

func tracedRate(b *testing.B, every int, read bool) float64 {
	b.Helper()
	broker, err := bus.StartBroker(bus.BrokerConfig{Fabric: "tree", NoListen: true})
	require.NoError(b, err)
	defer broker.Shutdown()
	tr, err := bus.NewNATS(bus.NATSConfig{Fabric: "tree", Broker: broker})
	require.NoError(b, err)
	defer func() { require.NoError(b, tr.Close()) }()
	g := topologytest.Parse(b, tree)
	f, err := fabric.New(fabric.Options{
		Topology: g, Firmware: firmware.DeterministicLink(), Transport: tr, Seed: 1,
		Switch:  settings.Switch{VCs: 2, InputBuffer: 16, OutputBuffer: 16},
		Link:    settings.Link{Rate: 1e6},
		NIC:     settings.NIC{QueueBytes: 64 << 10, TraceEvery: every},
		Traffic: nic.Traffic{Pattern: "uniform", Load: 1},
	})
	require.NoError(b, err)
	require.NoError(b, f.Start(context.Background()))
	defer f.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for f.PacketHops() < 20_000 {
		<-tick.C // filling
	}
	first, cpu, last := f.PacketHops(), testenv.CPU(), uint64(0)
	for n := 0; f.PacketHops()-first < 200_000; n++ {
		<-tick.C
		if read && n%50 == 0 {
			_, last, _ = f.Hops(last)
		}
	}
	return float64(f.PacketHops()-first) / (testenv.CPU() - cpu).Seconds()
}
