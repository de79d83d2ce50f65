package bus_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// The benchmarks of this file measure links of fabrics of several hosts beside bare NATS hops of
// the same kind. A kind is where the two ends of a link are. Of the line n0-s0-s1- ... -s7-n1,
// links of kind within all have both ends on one host; in the other kinds every other switch is on
// another host, so that each of the seven links between switches crosses. The links of the two NICs
// do not, for a NIC is where its switch is. A hop of ours is out of the output queue of a core,
// over NATS, into the input queue of the next and through its pipeline. A bare hop is a message
// from a publisher to a subscriber, which publishes it again: on the same servers, over as many
// connections, and crossing where ours does. Servers, hosts and publishers are all in this process.

// linkKind says where the ends of links are.
type linkKind struct {
	name      string
	hosts     int
	clustered bool
}

var linkKinds = []linkKind{{"within", 1, false}, {"beside", 2, false}, {"across", 2, true}}

// hopsOfLine is how many links a packet takes.
const hopsOfLine = lineSwitches + 1

// at is the host of the node that is so many links from n0.
func (k linkKind) at(links int) int { return (min(max(links, 1), lineSwitches) - 1) % k.hosts }

// servers are the addresses of one NATS server, twice, or of two in a cluster.
func (k linkKind) servers(tb testing.TB) (urls [2]string) {
	tb.Helper()
	start := func(name string, route string) *server.Server {
		o := &server.Options{ServerName: name, Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true}
		if k.clustered {
			o.Cluster = server.ClusterOpts{Name: "hosts", Host: "127.0.0.1", Port: -1}
			if route != "" {
				o.Routes = server.RoutesFromStr(route)
			}
		}
		s, err := server.NewServer(o)
		require.NoError(tb, err)
		s.Start()
		tb.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		require.True(tb, s.ReadyForConnections(rig.Patience))
		return s
	}
	a := start("a", "")
	urls = [2]string{a.ClientURL(), a.ClientURL()}
	if k.clustered {
		b := start("b", "nats://"+a.ClusterAddr().String())
		rig.Until(tb, func() bool { return a.NumRoutes() > 0 && b.NumRoutes() > 0 })
		urls[1] = b.ClientURL()
	}
	return urls
}

// chain subscribes to the hops of the line, both ways, with the connection that each node would
// have.
func (k linkKind) chain(tb testing.TB, urls [2]string) *bareChain {
	tb.Helper()
	c := &bareChain{links: hopsOfLine}
	var conns []*nats.Conn
	for i := range k.hosts {
		nc, err := nats.Connect(urls[i], nats.SkipSubjectValidation())
		require.NoError(tb, err)
		tb.Cleanup(nc.Close)
		conns = append(conns, nc)
	}
	for d := range c.out {
		c.out[d] = make(chan struct{}, hopsOfLine)
		at := func(links int) *nats.Conn { return conns[k.at([2]int{links, hopsOfLine - links}[d])] }
		c.from[d] = at(0)
		for i := range hopsOfLine {
			next, here := chainSubject(d, i+1), at(i+1)
			_, err := here.Subscribe(chainSubject(d, i), func(m *nats.Msg) {
				if i == hopsOfLine-1 {
					c.out[d] <- struct{}{}
				} else if err := here.Publish(next, m.Data); err != nil {
					panic(err)
				}
			})
			require.NoError(tb, err)
		}
	}
	for _, nc := range conns {
		require.NoError(tb, nc.Flush())
	}
	if k.clustered { // the other server has to hear of the subscriptions too
		deadline := time.After(rig.Patience)
		for arrived := false; !arrived; {
			require.NoError(tb, c.from[0].Publish(chainSubject(0, 0), nil))
			select {
			case <-c.out[0]:
				arrived = true
			case <-time.After(10 * time.Millisecond):
			case <-deadline:
				require.Fail(tb, "nothing crosses the cluster")
			}
		}
		silence(c.out[0])
	}
	return c
}

// silence returns when nothing has arrived for a while.
func silence(ch <-chan struct{}) {
	for {
		select {
		case <-ch:
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

// BenchmarkLinkLatency sends one packet at a time through the idle line, and one message through
// the bare chain, in turns.
func BenchmarkLinkLatency(b *testing.B) {
	for _, k := range linkKinds {
		b.Run(k.name, func(b *testing.B) {
			urls := k.servers(b)
			l, chain := startHostLine(b, k, urls, 2), k.chain(b, urls)
			frame := make([]byte, 60)
			var ours, bare []time.Duration
			for b.Loop() {
				start := time.Now()
				_, err := l.nics[0].Send(1, 256, true)
				require.NoError(b, err)
				<-l.arrived
				ours = append(ours, time.Since(start))
				start = time.Now()
				require.NoError(b, chain.from[0].Publish(chainSubject(0, 0), frame))
				<-chain.out[0]
				bare = append(bare, time.Since(start))
			}
			quantile := func(list []time.Duration, q float64) float64 {
				slices.Sort(list)
				return float64(list[int(q*float64(len(list)-1))].Nanoseconds()) / hopsOfLine
			}
			for q, name := range map[float64]string{0.5: "p50", 0.99: "p99"} {
				b.ReportMetric(quantile(ours, q), name+"-ns/hop")
				b.ReportMetric(quantile(bare, q), "bare-"+name+"-ns/hop")
				b.ReportMetric(quantile(ours, q)/quantile(bare, q), name+"-of-bare")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLinkThroughput saturates the line both ways, and then the bare chain: with messages of
// the bytes that frames have, as many under way as there are links, each standing for the packets
// in a frame; and with a message for every packet, as many under way as the buffers hold. b.N
// counts hops.
func BenchmarkLinkThroughput(b *testing.B) {
	for _, k := range linkKinds {
		for _, buffer := range []int{2, 16, 64} {
			b.Run(fmt.Sprintf("%s/buffer=%d", k.name, buffer), func(b *testing.B) {
				urls := k.servers(b)
				chain := k.chain(b, urls)
				l := startHostLine(b, k, urls, buffer)
				l.saturate(b, 256*50_000*float64(buffer))
				m := l.measure(b, b.N)
				l.stop()
				floor := chain.hopsPerCPU(b, m.frameBytes, m.batch, 1, b.N)
				single := chain.hopsPerCPU(b, m.frameBytes/int(max(1, m.batch)), 1, buffer, b.N/2)
				b.ReportMetric(m.hopsPerCPU, "hops/cpu-s")
				b.ReportMetric(floor, "bare-hops/cpu-s")
				b.ReportMetric(m.hopsPerCPU/floor, "of-bare")
				b.ReportMetric(m.hopsPerCPU/single, "of-message-a-packet")
				b.ReportMetric(m.batch, "packets/frame")
				b.ReportMetric(m.creditFrames, "credit-frames/frame")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// A packet that is sent before all links of its way are up may be discarded, by a firmware that
// knows no other way; one sent after is delivered, and through hosts as through a chain of
// connections.
func TestLineInPartsDeliversOneAtATime(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	for _, k := range linkKinds {
		t.Run(k.name, func(t *testing.T) {
			urls := k.servers(t)
			l, chain := startHostLine(t, k, urls, 2), k.chain(t, urls)
			for range 100 {
				_, err := l.nics[0].Send(1, 256, true)
				require.NoError(t, err)
				select {
				case h := <-l.arrived:
					require.EqualValues(t, lineSwitches, h.Hops)
				case <-time.After(rig.Patience):
					require.Fail(t, "the packet does not arrive")
				}
				require.NoError(t, chain.from[0].Publish(chainSubject(0, 0), nil))
				<-chain.out[0]
			}
			require.EqualValues(t, 100, l.nics[1].Stats().Delivered)
		})
	}
}
