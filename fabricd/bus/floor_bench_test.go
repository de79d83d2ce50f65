package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/wire"
)

// The benchmarks of this file measure a whole fabric, a line of switches with a NIC at each end,
// and in the same run its floor: a chain of as many bare NATS subscriptions, both ways, that
// publish what they get to the next subject, nothing else.

const lineSwitches = 8

// eastWest routes on a line: port 0 leads to lower switches, port 1 to higher ones, port 2 to the
// NIC of an end.
func eastWest(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	s := sw.Place().Switch
	p := weft.PortID(1)
	switch {
	case pkt.Dst == 0 && s == 0, pkt.Dst == 1 && s == lineSwitches-1:
		p = 2
	case pkt.Dst == 0:
		p = 0
	}
	return switching.To(sw, p, at.VC, pkt.Fields, "line")
}

func line(tb testing.TB) *topology.Graph {
	tb.Helper()
	var switches []topology.Switch
	var links []topology.Link
	nics := []topology.NIC{{ID: 0, Name: "n0"}, {ID: 1, Name: "n1"}}
	link := func(a, b weft.End) { links = append(links, topology.Link{A: a, B: b}) }
	for i := range weft.SwitchID(lineSwitches) {
		switches = append(switches, topology.Switch{ID: i, Name: fmt.Sprintf("s%d", i), Ports: 3})
		if i > 0 {
			link(weft.End{Node: (i - 1).Node(), Port: 1}, weft.End{Node: i.Node(), Port: 0})
		}
	}
	link(weft.End{Node: weft.SwitchID(0).Node(), Port: 2}, weft.End{Node: weft.NICID(0).Node()})
	link(weft.End{Node: weft.SwitchID(lineSwitches - 1).Node(), Port: 2}, weft.End{Node: weft.NICID(1).Node()})
	g, err := topology.New("line", switches, nics, links)
	require.NoError(tb, err)
	return g
}

// startLine starts the line over t; the NICs inject by load of a link rate that no machine reaches.
func startLine(tb testing.TB, t wire.Transport, buffer int, load float64, r fabric.Recorder) *fabric.Fabric {
	tb.Helper()
	o := fabric.Options{
		Topology: line(tb), Firmware: switching.Firmware{Name: "eastWest", Route: eastWest},
		Transport: t, Seed: 1, Record: r,
		Switch: settings.Switch{InputBuffer: buffer, OutputBuffer: buffer},
		Link:   settings.Link{Rate: 256 * 50_000 * float64(buffer)}, // about twice what it carries
		NIC:    settings.NIC{QueueBytes: 256 << 10},
	}
	if load > 0 {
		o.Traffic = nic.Traffic{Pattern: "uniform", Load: load}
	}
	f, err := fabric.New(o)
	require.NoError(tb, err)
	require.NoError(tb, f.Start(context.Background()))
	return f
}

// load is what measureLine found.
type load struct {
	hopsPerCPU   float64 // packet-hops per CPU-second
	batch        float64 // packets per frame that has any
	frameBytes   int     // of such a frame, on average
	creditFrames float64 // frames without packets per frame with
}

// measureLine lets the line forward so many packets and reports what they cost.
func measureLine(b *testing.B, f *fabric.Fabric, hops int) load {
	b.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for f.PacketHops() < 10_000 {
		<-tick.C // filling
	}
	first, drivers, cpu := f.PacketHops(), f.Drivers(), testenv.CPU()
	b.ResetTimer()
	done := uint64(0)
	for done < uint64(hops) {
		<-tick.C
		done = f.PacketHops() - first
	}
	used := testenv.CPU() - cpu
	b.StopTimer()
	d := f.Drivers()
	frames, credits := float64(d.FramesOut-drivers.FramesOut), float64(d.CreditFrames-drivers.CreditFrames)
	batch := float64(done) * (lineSwitches + 1) / lineSwitches / (frames - credits) // the NICs' links carry packets too
	header := len(wire.AppendHeader(nil,
		&weft.Header{Seq: 1 << 20, Injected: weft.Second, Size: 256, Hops: 4, Fields: weft.NewFields()}))
	return load{
		hopsPerCPU: float64(done) / used.Seconds(), batch: batch,
		frameBytes: int(batch*float64(header)) + 16, creditFrames: credits / (frames - credits),
	}
}

// bareChain is a chain of bare NATS subscriptions.
type bareChain struct {
	links int
	from  [2]*nats.Conn    // that begins it, per direction
	out   [2]chan struct{} // per direction
}

// newBareChain subscribes to links subjects in each direction, over one in-process connection.
func newBareChain(tb testing.TB, links int) *bareChain {
	tb.Helper()
	s, err := server.NewServer(&server.Options{
		DontListen: true, NoSigs: true, NoSublistCache: true,
		NoSystemAccount: true,
	})
	require.NoError(tb, err)
	s.Start()
	tb.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.SkipSubjectValidation())
	require.NoError(tb, err)
	tb.Cleanup(nc.Close)
	c := &bareChain{from: [2]*nats.Conn{nc, nc}, links: links}
	for d := range c.out {
		c.out[d] = make(chan struct{}, links)
		for i := range links {
			next := chainSubject(d, i+1)
			_, err := nc.Subscribe(chainSubject(d, i), func(m *nats.Msg) {
				if i == links-1 {
					c.out[d] <- struct{}{}
				} else if err := nc.Publish(next, m.Data); err != nil {
					panic(err)
				}
			})
			require.NoError(tb, err)
		}
	}
	require.NoError(tb, nc.Flush())
	return c
}

func chainSubject(direction, link int) string { return fmt.Sprintf("chain.%d.%d", direction, link) }

// hopsPerCPU sends frames both ways, each standing for batch packets, with so many frames per link
// under way: what the credits of the line allow, whose buffers hold one batch, is one.
func (c *bareChain) hopsPerCPU(b *testing.B, frameBytes int, batch float64, perLink, hops int) float64 {
	b.Helper()
	frame := make([]byte, frameBytes)
	frames := max(2*c.links, int(float64(hops)/batch/float64(2*c.links)))
	cpu := testenv.CPU()
	for sent, got := 0, 0; got < frames; got++ {
		for ; sent < frames && sent-got < perLink*c.links; sent++ {
			for d := range c.out {
				require.NoError(b, c.from[d].Publish(chainSubject(d, 0), frame))
			}
		}
		for d := range c.out {
			<-c.out[d]
		}
	}
	return float64(frames) * batch * float64(2*c.links) / (testenv.CPU() - cpu).Seconds()
}

// Packet-hops per CPU-second of the pipeline over memory links, and over NATS links beside the bare
// chain that carries the same bytes in the same batches. b.N counts packet-hops.
func BenchmarkLine(b *testing.B) {
	for _, buffer := range []int{2, 16, 64, 256} {
		b.Run(fmt.Sprintf("links=memory/buffer=%d", buffer), func(b *testing.B) {
			m := wire.NewMemory()
			defer m.Close()
			f := startLine(b, m, buffer, 1, nil)
			defer f.Stop()
			b.ReportAllocs()
			l := measureLine(b, f, b.N)
			b.ReportMetric(l.hopsPerCPU, "hops/cpu-s")
			b.ReportMetric(l.batch, "packets/frame")
			b.ReportMetric(0, "ns/op")
		})
		b.Run(fmt.Sprintf("links=nats/buffer=%d", buffer), func(b *testing.B) {
			t := openNATS(b, bus.NATSConfig{Broker: bustest.Broker(b, bus.BrokerConfig{NoListen: true})})
			f := startLine(b, t, buffer, 1, nil)
			l := measureLine(b, f, b.N)
			f.Stop()
			floor := newBareChain(b, lineSwitches+1).hopsPerCPU(b, l.frameBytes, l.batch, 1, b.N)
			b.ReportMetric(l.hopsPerCPU, "hops/cpu-s")
			b.ReportMetric(floor, "floor-hops/cpu-s")
			b.ReportMetric(l.hopsPerCPU/floor, "of-floor")
			b.ReportMetric(l.batch, "packets/frame")
			b.ReportMetric(l.creditFrames, "credit-frames/frame")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// arrivals hears of every traced packet that arrives.
type arrivals chan struct{}

func (c arrivals) Record(_ weft.Time, _ weft.Node, a *weft.Actions) {
	for range a.Arrived {
		c <- struct{}{}
	}
}

// Latency of one packet at a time through an idle line, per switch, beside one hop of the bare
// chain.
func BenchmarkIdleLatency(b *testing.B) {
	t := openNATS(b, bus.NATSConfig{Broker: bustest.Broker(b, bus.BrokerConfig{NoListen: true})})
	arrived := make(arrivals, 1)
	f := startLine(b, t, 2, 0, arrived)
	defer f.Stop()
	chain := newBareChain(b, lineSwitches+1)
	frame := make([]byte, 60)
	var fabricTime, chainTime time.Duration
	for b.Loop() {
		start := time.Now()
		_, err := f.Send(0, 1, true)
		require.NoError(b, err)
		<-arrived
		fabricTime += time.Since(start)
		start = time.Now()
		require.NoError(b, chain.from[0].Publish(chainSubject(0, 0), frame))
		<-chain.out[0]
		chainTime += time.Since(start)
	}
	hops := float64(b.N) * (lineSwitches + 1)
	b.ReportMetric(float64(fabricTime.Nanoseconds())/hops, "ns/hop")
	b.ReportMetric(float64(chainTime.Nanoseconds())/hops, "floor-ns/hop")
	b.ReportMetric(float64(fabricTime)/float64(chainTime), "of-floor")
	b.ReportMetric(0, "ns/op")
}
