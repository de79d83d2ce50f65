package bus_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/switch/wire"
	"github.com/weft-fabric/weft/switch/wire/wiretest"
)

// chain is a line of bare relays: each sends the frames it receives on, undecoded. It is what the
// links alone cost, the yardstick for a fabric on the same transport.
type chain struct {
	first wire.Sender
	last  chan wire.Message
	stop  func() // returns when the relays have
}

// newChain makes a chain of links directions in which at most window frames are in flight.
func newChain(tb testing.TB, t wire.Transport, links, window int) *chain {
	tb.Helper()
	inboxes := make([]chan wire.Message, links)
	senders := make([]wire.Sender, links)
	for i := range links {
		inboxes[i], senders[i] = listen(tb, t, hop(i), window), sender(tb, t, hop(i))
	}
	ready(tb, t)
	var wg sync.WaitGroup
	stopc := make(chan struct{})
	for i := range links - 1 {
		wg.Go(func() {
			for {
				select {
				case m := <-inboxes[i]:
					if err := senders[i+1].Send(m.Data); err != nil {
						tb.Error(err)
						return
					}
					m.Release()
				case <-stopc:
					return
				}
			}
		})
	}
	return &chain{senders[0], inboxes[links-1], func() { close(stopc); wg.Wait() }}
}

func benchTransports(b *testing.B, run func(b *testing.B, open func() wire.Transport)) {
	b.Run("transport=memory", func(b *testing.B) {
		run(b, func() wire.Transport { return wire.NewMemory() })
	})
	b.Run("transport=nats", func(b *testing.B) {
		run(b, func() wire.Transport {
			return openNATS(b, bus.NATSConfig{Broker: bustest.Broker(b, bus.BrokerConfig{NoListen: true})})
		})
	})
}

// BenchmarkHop is the idle latency of a link: one frame at a time goes through a chain.
func BenchmarkHop(b *testing.B) {
	benchTransports(b, func(b *testing.B, open func() wire.Transport) {
		for _, links := range []int{1, 8} {
			b.Run(fmt.Sprintf("links=%d", links), func(b *testing.B) {
				c := newChain(b, open(), links, 1)
				frame := frameOf(1)
				b.ReportAllocs()
				for b.Loop() {
					if err := c.first.Send(frame); err != nil {
						b.Fatal(err)
					}
					(<-c.last).Release()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(links), "ns/hop")
				c.stop()
			})
		}
	})
}

// BenchmarkChain is the throughput of a chain of 4 links with 1,000 frames in flight.
func BenchmarkChain(b *testing.B) {
	const links, window = 4, 1000
	benchTransports(b, func(b *testing.B, open func() wire.Transport) {
		for _, packets := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("packets=%d", packets), func(b *testing.B) {
				c := newChain(b, open(), links, window)
				frame := frameOf(packets)
				b.SetBytes(int64(len(frame)) * links)
				b.ReportAllocs()
				sent := 0
				for b.Loop() {
					if sent++; sent > window {
						(<-c.last).Release()
					}
					if err := c.first.Send(frame); err != nil {
						b.Fatal(err)
					}
				}
				for range min(sent, window) {
					(<-c.last).Release()
				}
				b.ReportMetric(float64(b.N)*float64(packets)*links/b.Elapsed().Seconds(), "packet-hops/s")
				c.stop()
			})
		}
	})
}

func frameOf(packets int) []byte {
	f := wiretest.Frame(packets)
	return wire.AppendFrame(nil, 0, &f)
}

// The chain of the benchmarks loses nothing.
func TestChain(t *testing.T) {
	t.Parallel()
	n := openNATS(t, bus.NATSConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true})})
	c := newChain(t, n, 8, 100)
	for i := range 100 {
		require.NoError(t, c.first.Send(fmt.Append(nil, i)))
	}
	for i := range 100 {
		require.Equal(t, fmt.Sprint(i), next(t, c.last))
	}
	c.stop()
}
