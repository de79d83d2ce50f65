package bus_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/linkmon/liveness"
)

// hosts are the addresses of one NATS server, twice, or of two in a cluster.
func hosts(tb testing.TB, clustered bool) (urls [2]string) {
	tb.Helper()
	start := func(name string, route string) *server.Server {
		o := &server.Options{ServerName: name, Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true}
		if clustered {
			o.Cluster = server.ClusterOpts{Name: "hosts", Host: "127.0.0.1", Port: -1}
			if route != "" {
				o.Routes = server.RoutesFromStr(route)
			}
		}
		s, err := server.NewServer(o)
		require.NoError(tb, err)
		s.Start()
		tb.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		require.True(tb, s.ReadyForConnections(patience))
		return s
	}
	a := start("a", "")
	urls = [2]string{a.ClientURL(), a.ClientURL()}
	if clustered {
		b := start("b", "nats://"+a.ClusterAddr().String())
		require.Eventually(tb, func() bool { return a.NumRoutes() > 0 && b.NumRoutes() > 0 }, patience, time.Millisecond)
		urls[1] = b.ClientURL()
	}
	return urls
}

// twoParts is a link n0-s0-s1-n1 whose halves are parts of their own, under this traffic.
func twoParts(tb testing.TB, urls [2]string, rate float64, traffic string) (clients [2]*part.Client) {
	tb.Helper()
	g, err := topology.Generate("mesh:2")
	require.NoError(tb, err)
	require.Len(tb, g.NICs, 2)
	var text bytes.Buffer
	require.NoError(tb, g.WriteYAML(&text))
	packed, err := part.Compress(text.Bytes())
	require.NoError(tb, err)
	peers, err := bus.NewPeers(bus.PeersConfig{Fabric: "lab", URL: urls[0]})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = peers.Close() })
	var places []part.Place
	for i := range uint32(2) {
		places = append(places, part.Place{
			Part: fmt.Sprintf("host%d", i), Switches: []part.Span{{First: i, N: 1}}, NICs: []part.Span{{First: i, N: 1}}, Shard: int(i), Shards: 1,
		})
	}
	for i, p := range places {
		c := part.Charter{
			Fabric: "lab", Part: p.Part, Number: 1, Topology: packed, Firmware: "xy", Place: p, Layout: places,
			Switch: part.SwitchOptions{VCs: 1, InputBuffer: 64, OutputBuffer: 64}, NIC: part.NICOptions{PacketBytes: 256, QueueBytes: 256 << 10},
			Link: part.LinkOptions{Rate: rate, Inbox: 1024, Liveness: liveness.Config{Interval: 200 * weft.Millisecond, Multiplier: 10}}, Seed: 1,
		}
		opened, err := part.Open(part.Config{Charter: c, URL: urls[i]})
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, opened.Close()) })
		clients[i] = part.NewClient(peers, p.Part)
	}
	for _, c := range clients {
		_, err := c.Order(context.Background(), part.Order{Number: 1, Light: true, Traffic: &part.TrafficOrder{Spec: traffic}})
		require.NoError(tb, err)
	}
	return clients
}

// bare is a chain of bare subscriptions over the same hops, n0 to s0, s0 to s1 on the other host and s1 to n1, and back likewise, of
// messages of so many bytes: so many at once. It returns how many
// have arrived at an end.
func bare(tb testing.TB, urls [2]string, size, window int) (arrived *atomic.Int64) {
	tb.Helper()
	arrived = new(atomic.Int64)
	conns := [2]*nats.Conn{}
	for i, url := range urls {
		c, err := nats.Connect(url, nats.SkipSubjectValidation())
		require.NoError(tb, err)
		tb.Cleanup(c.Close)
		conns[i] = c
	}
	for from := range 2 {
		hop := func(i, host int, next func(data []byte)) {
			ch := make(chan *nats.Msg, 1<<16)
			_, err := conns[host].ChanSubscribe(fmt.Sprintf("bare.%d.%d", from, i), ch)
			require.NoError(tb, err)
			done := make(chan struct{})
			stop := make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case m := <-ch:
						next(m.Data)
					case <-stop:
						return
					}
				}
			}()
			tb.Cleanup(func() { close(stop); <-done })
		}
		to := 1 - from
		hop(0, from, func(d []byte) { _ = conns[from].Publish(fmt.Sprintf("bare.%d.1", from), d) })
		hop(1, to, func(d []byte) { _ = conns[to].Publish(fmt.Sprintf("bare.%d.2", from), d) })
		hop(2, to, func(d []byte) {
			arrived.Add(1)
			_ = conns[to].Publish(fmt.Sprintf("bare.%d.3", from), d) // the sender goes on when it hears of it
		})
		hop(3, from, func(d []byte) { _ = conns[from].Publish(fmt.Sprintf("bare.%d.0", from), d) })
	}
	for _, c := range conns {
		require.NoError(tb, c.Flush())
	}
	for from := range 2 {
		for range window {
			require.NoError(tb, conns[from].Publish(fmt.Sprintf("bare.%d.0", from), make([]byte, size)))
		}
	}
	return arrived
}

// BenchmarkLinkOfParts sends packets over three links, the middle one between two parts, inside a host (one server) and across two
// (clustered servers), each beside as many bare NATS hops in the same run: hops a
// CPU-second of the whole process, servers included: of packets three each, of bare messages four, for the fourth has the sender go on.
func BenchmarkLinkOfParts(b *testing.B) {
	for _, clustered := range []bool{false, true} {
		name := "inside"
		if clustered {
			name = "across"
		}
		delivered := func(b *testing.B, clients [2]*part.Client) (n uint64) {
			for _, c := range clients {
				s, err := c.Sum(context.Background(), part.SumRequest{Number: 1})
				require.NoError(b, err)
				n += s.NICs.Delivered
			}
			return n
		}
		b.Run(name, func(b *testing.B) {
			urls := hosts(b, clustered)
			perCPU := func(count func() uint64) float64 {
				for count() < 2000 {
					<-time.After(10 * time.Millisecond)
				}
				first, cpu := count(), cpuTime(b)
				<-time.After(2 * time.Second)
				return float64(count()-first) / (cpuTime(b) - cpu).Seconds()
			}
			var packets float64
			b.Run("packets", func(b *testing.B) {
				clients := twoParts(b, urls, 256*2_000_000, "uniform:1")
				packets = 3 * perCPU(func() uint64 { return delivered(b, clients) })
				b.ReportMetric(packets, "hops/cpu-s")
			})
			b.Run("bare", func(b *testing.B) {
				arrived := bare(b, urls, 80, 64)
				floor := 4 * perCPU(func() uint64 { return uint64(arrived.Load()) })
				b.ReportMetric(floor, "hops/cpu-s")
				b.ReportMetric(packets/floor, "ratio")
			})
		})
	}
}
