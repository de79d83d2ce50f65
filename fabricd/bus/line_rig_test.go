package bus_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/nic/nicd"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
)

// hostLine is the line as the machines of its hosts drive it, without a leader.
type hostLine struct {
	nics    [2]*nicd.NIC
	drivers []*switchd.Driver
	arrived chan weft.Header // traced packets
	stop    func()           // ends it, once
	up      []func() bool    // per end
}

// arrivedAt passes traced packets on.
type arrivedAt chan weft.Header

func (c arrivedAt) Observe(_ weft.Time, a *weft.Actions) {
	for _, h := range a.Arrived {
		c <- h
	}
}

// startHostLine starts the line on hosts of its own at these servers, and returns when all links
// are up.
func startHostLine(tb testing.TB, k linkKind, urls [2]string, buffer int) *hostLine {
	tb.Helper()
	g := line(tb)
	l := &hostLine{arrived: make(chan weft.Header, 1)}
	places, nodes := make([]bus.HostShards, k.hosts), make([][]weft.Node, k.hosts)
	put := func(n weft.Node, links int) {
		p := k.at(links)
		places[p] = bus.HostShards{First: p, N: 1, Nodes: append(places[p].Nodes, g.Name(n))}
		nodes[p] = append(nodes[p], n)
	}
	put(weft.NICID(0).Node(), 0)
	for s := range weft.SwitchID(lineSwitches) {
		put(s.Node(), int(s)+1)
	}
	put(weft.NICID(1).Node(), hopsOfLine)

	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var links []*bus.NATS
	l.stop = sync.OnceFunc(func() {
		end()
		running.Wait()
		for _, t := range links {
			require.NoError(tb, t.Close())
		}
	})
	tb.Cleanup(l.stop)
	clock := host.NewClock(0, nil)
	for i, own := range places {
		layout, err := bus.NewLayout(own, slices.Delete(slices.Clone(places), i, i+1)...)
		require.NoError(tb, err)
		t, err := bus.NewNATS(bus.NATSConfig{Fabric: "lab", URL: urls[i], Layout: layout})
		require.NoError(tb, err)
		links = append(links, t)
		m := l.startHost(tb, g, t, nodes[i], buffer, clock)
		running.Go(func() { m.Run(ctx) })
	}
	rig.Until(tb, func() bool { return !slices.ContainsFunc(l.up, func(up func() bool) bool { return !up() }) })
	return l
}

// startHost makes the nodes of one host and gives their ends signal.
func (l *hostLine) startHost(tb testing.TB, g *topology.Graph, t *bus.NATS, nodes []weft.Node, buffer int,
	clock *host.Clock,
) *host.NodeRuntime {
	tb.Helper()
	alive := settings.Liveness{Interval: "200ms", Multiplier: 10}
	fw := switching.Firmware{Name: "eastWest", Route: eastWest}
	program := host.NewProgram(fw)
	made := host.NodeFactory{
		Graph: g, Firmware: fw, Seed: 1, Program: func(weft.SwitchID) *host.Program { return program },
		Switch: settings.Switch{VCs: 1, InputBuffer: buffer, OutputBuffer: buffer},
		NIC:    settings.NIC{PacketBytes: 256, QueueBytes: 256 << 10}, Liveness: alive,
	}
	cfg := host.NodeRuntimeConfig{
		Graph: g, Transport: t, Clock: clock, Nodes: nodes, Batch: switchd.DefaultBatch, Inbox: 1024, Seed: 1,
		Interval: alive.Detector().Interval,
		Watch: func(n weft.Node) switchd.Observer {
			if n.IsSwitch() {
				return nil
			}
			return arrivedAt(l.arrived)
		},
	}
	flows := make([]func(p weft.PortID) link.Flow, len(nodes))
	nics := map[weft.Node]*nic.NIC{}
	for i, n := range nodes {
		if n.IsSwitch() {
			s, err := made.MakeSwitch(weft.SwitchID(n.Index))
			require.NoError(tb, err)
			cfg.Cores, flows[i] = append(cfg.Cores, s), s.Flow
			continue
		}
		c, err := made.MakeNIC(weft.NICID(n.Index))
		require.NoError(tb, err)
		nics[n] = c
		cfg.Cores, flows[i] = append(cfg.Cores, c), func(weft.PortID) link.Flow { return c.Read().Flow }
	}
	m, err := host.NewNodeRuntime(cfg)
	require.NoError(tb, err)
	require.NoError(tb, t.Ready(context.Background()))
	for i, n := range nodes {
		d := m.Driver(n)
		l.drivers = append(l.drivers, d)
		if c := nics[n]; c != nil {
			l.nics[n.Index] = nicd.New(c, d, clock.Now)
		}
		for p := range weft.PortID(cfg.Cores[i].Ports()) {
			if _, _, linked := g.Peer(weft.End{Node: n, Port: p}); !linked {
				continue
			}
			d.Signal(p, true)
			l.up = append(l.up, func() (up bool) {
				d.Do(func(weft.Time, *weft.Actions) { up = flows[i](p).State == link.Up })
				return up
			})
		}
	}
	return m
}

// saturate has both NICs send so many bytes a second, which is to be more than the line carries.
func (l *hostLine) saturate(tb testing.TB, rate float64) {
	tb.Helper()
	sources, err := nic.Traffic{
		Pattern: "uniform",
		Load:    1,
	}.Sources(nic.Over{NICs: 2, Rate: rate, PacketBytes: 256, Rand: rand.New(rand.NewPCG(1, 2))})
	require.NoError(tb, err)
	for i, n := range l.nics {
		require.NoError(tb, n.SetSource(sources[i]))
	}
}

// hops is how many links packets that were delivered have taken, and stats what all drivers have
// sent.
func (l *hostLine) hops() uint64 {
	return hopsOfLine * (l.nics[0].Stats().Delivered + l.nics[1].Stats().Delivered)
}

func (l *hostLine) stats() (s switchd.Stats) {
	for _, d := range l.drivers {
		s = s.Add(d.Stats())
	}
	return s
}

// measure lets the line carry packets over so many links and reports what they cost.
func (l *hostLine) measure(b *testing.B, hops int) load {
	b.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for l.hops() < 10_000 {
		<-tick.C // filling
	}
	first, before, cpu := l.hops(), l.stats(), testenv.CPU()
	b.ResetTimer()
	done := uint64(0)
	for done < uint64(hops) {
		<-tick.C
		done = l.hops() - first
	}
	used := testenv.CPU() - cpu
	b.StopTimer()
	after := l.stats()
	frames, credits := float64(after.FramesOut-before.FramesOut), float64(after.CreditFrames-before.CreditFrames)
	return load{
		hopsPerCPU: float64(done) / used.Seconds(), batch: float64(done) / (frames - credits),
		creditFrames: credits / (frames - credits),
		frameBytes:   int(float64(after.BytesOut-before.BytesOut) / (frames - credits)),
	}
}
