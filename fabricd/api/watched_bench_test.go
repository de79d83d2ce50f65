package api

import (
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// BenchmarkWatched is what it costs a saturated 4-ary 3-tree over NATS to be watched, by two
// browsers and a linkmon: packet-hops per CPU-second without and with them, in turns of half a
// second. What viewers do with frames is not in it, that they read them is.
func BenchmarkWatched(b *testing.B) {
	x := serveTopology(b, "kary-ntree:4,3", harness.Transport(overNATS), harness.VCs(2),
		harness.Links(settings.Link{Rate: 1e6}), harness.NICs(settings.NIC{QueueBytes: 64 * nic.DefaultPacketBytes}),
		harness.Traffic("uniform:1")).serveWeb()
	var alone, watched []float64
	x.turn(nil) // warm
	for b.Loop() {
		alone = append(alone, x.turn(nil))
		watched = append(watched, x.turn(x.watch))
	}
	median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	b.ReportMetric(median(alone), "hops/cpu-s")
	b.ReportMetric(median(watched), "watched-hops/cpu-s")
	b.ReportMetric(100*median(watched)/median(alone), "%")
	b.ReportMetric(0, "ns/op")
}

// overNATS is as that of harness/live, which imports this package.
func overNATS(t testing.TB) wire.Transport {
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "links", NoListen: true})
	tr := bustest.Links(t, bus.NATSConfig{Fabric: "links", Broker: b})
	return tr
}

// turn is how many packet-hops a CPU-second brings for half a second, while with runs.
func (x *webbed) turn(with func(ctx context.Context)) float64 {
	ctx, stop := context.WithCancel(x.t.Context())
	var viewers sync.WaitGroup
	if with != nil {
		viewers.Go(func() { with(ctx) })
	}
	hops, cpu := x.Fabric().PacketHops(), testenv.CPU()
	<-time.After(500 * time.Millisecond)
	rate := float64(x.Fabric().PacketHops()-hops) / (testenv.CPU() - cpu).Seconds()
	stop()
	viewers.Wait()
	return rate
}

// watch is two who read the stream and one over the broker.
func (x *webbed) watch(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for range 2 {
		s := x.stream("")
		wg.Go(func() { _, _ = io.Copy(io.Discard, s.answer.Body) })
		defer s.close()
	}
	c, err := Dial(x.entry(), "test", false)
	if err != nil {
		x.t.Error(err)
		return
	}
	defer c.Close()
	live, err := c.bus.Subscribe(StreamFrame, frameBuffer)
	if err != nil {
		x.t.Error(err)
		return
	}
	for {
		if err := askNone(ctx, c, VerbWatch, nil); err != nil {
			return
		}
		if _, err := live.Next(ctx); err != nil {
			return
		}
	}
}

// BenchmarkFrame is what a frame costs in which every link and switch has changed, all viewers
// together.
func BenchmarkFrame(b *testing.B) {
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:36,2", "irregular:1000,4000,1"} {
		b.Run(spec, func(b *testing.B) {
			h := harness.New(b, spec, harness.Firmware(firmware.None()), harness.NoLiveness())
			s, smp := NewStream(h.Fabric()), newSampling(h.Fabric())
			s.add(smp.frame(true))
			for b.Loop() {
				clear(smp.links)
				clear(smp.views)
				s.add(smp.frame(true))
			}
			b.ReportMetric(float64(len(s.frames[len(s.frames)-1].data))/1000, "kB")
		})
	}
}
