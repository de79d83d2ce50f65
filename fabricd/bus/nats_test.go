package bus_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/wire"
)

// Whatever a stranger sends, it is counted and named, and nothing else is lost.
func TestNATSStrangerOnTheLinks(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	events := new(recorder)
	n := openNATS(t, bus.NATSConfig{Broker: b, Shards: 2})
	n.Watch(events.record)
	full, fine := listen(t, n, hop(0), 2), listen(t, n, hop(1), 100)
	ready(t, n)
	conn := outsideConn(t, b, bus.RoleFabric)
	for range 5 {
		require.NoError(t, conn.Publish(subjectOf(hop(0), 2), []byte("too much")))
	}
	unknown := strings.TrimSuffix(subjectOf(hop(0), 2), "1") + "77"
	require.NoError(t, conn.Publish(unknown, []byte("to nobody")))
	require.NoError(t, conn.Flush())

	e := events.await(t, wire.EventFull)
	require.Equal(t, subjectOf(hop(0), 2), e.Subject)
	require.Contains(t, e.String(), "inbox full weft.lab.l.")
	e = events.await(t, wire.EventUnknown)
	require.Equal(t, unknown, e.Subject)
	require.NoError(t, sender(t, n, hop(1)).Send([]byte("fine")))
	require.Equal(t, "fine", next(t, fine))
	require.Len(t, full, 2)
	s := n.Stats()
	require.Equal(t, uint64(3), s.Full)
	require.Equal(t, uint64(1), s.Unknown)
}

// A frame that the client library drops is reported as what it is, a bug.
func TestNATSSlowConsumerIsReported(t *testing.T) {
	t.Parallel()
	events := new(recorder)
	blocked := make(chan struct{})
	b := bustest.Broker(t, bus.BrokerConfig{})
	n := openNATS(t, bus.NATSConfig{
		URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric), Shards: 1, Pending: 1,
	})
	n.Watch(func(e wire.Event) {
		if e.Kind == wire.EventUnknown {
			<-blocked // holds up the demultiplexer, which nobody may do
		}
		events.record(e)
	})
	t.Cleanup(sync.OnceFunc(func() { close(blocked) }))
	s := sender(t, n, hop(0)) // nobody listens
	for range 10 {
		require.NoError(t, s.Send([]byte("x")))
	}
	require.Equal(t, uint64(1), events.await(t, wire.EventSlowConsumer).Count)
	require.NotZero(t, n.Stats().Dropped)
}

// The function given last is told, and nobody after Watch(nil).
func TestNATSWatchReplaces(t *testing.T) {
	t.Parallel()
	n := openNATS(t, bus.NATSConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true}), Shards: 1})
	s := sender(t, n, hop(0)) // nobody listens: each frame counts as unknown, the 1st, 2nd and 4th are told
	first, second := new(recorder), new(recorder)
	for i, f := range []func(wire.Event){first.record, nil, nil, second.record} {
		n.Watch(f)
		require.NoError(t, s.Send([]byte("x")))
		want := uint64(i + 1)
		rig.Until(t, func() bool { return n.Stats().Unknown == want })
		if i == 0 {
			first.await(t, wire.EventUnknown)
		}
	}
	require.Equal(t, uint64(4), second.await(t, wire.EventUnknown).Count)
	require.Len(t, first.kinds(0), 1)
}

func TestNATSReportsALostBroker(t *testing.T) {
	t.Parallel()
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "lab"})
	require.NoError(t, err)
	events := new(recorder)
	n := openNATS(t, bus.NATSConfig{URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric)})
	n.Watch(events.record)
	s := sender(t, n, hop(0))
	b.Shutdown()
	events.await(t, wire.EventDisconnected)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.Error(t, n.Ready(ctx))
	require.Equal(t, wire.EnforcedAtEnds, n.Enforcement())
	_ = s.Send([]byte("x")) // may or may not be told; it must not hang
}

func TestNATSConfigErrors(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{NoListen: true})
	for want, cfg := range map[string]bus.NATSConfig{
		"fabric name":         {Fabric: "Lab", Broker: b},
		"5 shards":            {Fabric: "lab", Broker: b, Shards: 5},
		"pending frames":      {Fabric: "lab", Broker: b, Pending: -1},
		"neither a broker":    {Fabric: "lab"},
		`serves fabric "lab"`: {Fabric: "other", Broker: b},
		"no broker answers":   {Fabric: "lab", URL: "nats://u:secret@127.0.0.1:1"},
	} {
		_, err := bus.NewNATS(cfg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}

// A proxy, or the address of a service, takes connections also while no broker is behind it.
func TestAProxyWithoutABrokerIsNoBroker(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	_, err = bus.NewNATS(bus.NATSConfig{Fabric: "lab", URL: "nats://" + l.Addr().String()})
	require.ErrorContains(t, err, "no broker answers at nats://"+l.Addr().String())
}

// observe subscribes a connection to everything on the links, and returns what it hears.
func observe(tb testing.TB, conn *nats.Conn) <-chan *nats.Msg {
	tb.Helper()
	heard := make(chan *nats.Msg, 1<<16)
	_, err := conn.ChanSubscribe("weft.lab.l.>", heard)
	require.NoError(tb, err)
	require.NoError(tb, conn.Flush())
	return heard
}

func hear(tb testing.TB, heard <-chan *nats.Msg) string {
	tb.Helper()
	return string(rig.Next(tb, heard, "something is heard").Data)
}

// A cut holds at the broker: neither our ports nor anybody else hear what a foreign connection with
// full rights publishes, 60 times over, while another link carries on.
func TestBrokerCutHoldsForEveryPublisher(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	n := openNATS(t, bus.NATSConfig{Broker: b, Shards: 1})
	const frames = 20_000
	cutIn, otherIn := listen(t, n, hop(0), 1000), listen(t, n, hop(9), frames)
	ready(t, n)
	require.Equal(t, wire.EnforcedByBroker, n.Enforcement())
	foreign, watcher := outsideConn(t, b, bus.RoleFabric), outsideConn(t, b, bus.RoleFabric)
	heard := make(chan *nats.Msg, 1000)
	_, err := watcher.ChanSubscribe(subjectOf(hop(0), 1), heard)
	require.NoError(t, err)
	require.NoError(t, watcher.Flush())

	var wg sync.WaitGroup
	defer wg.Wait()
	other := sender(t, n, hop(9))
	wg.Go(func() {
		for i := range frames {
			if err := other.Send(fmt.Append(nil, i)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 60 {
		require.NoError(t, n.Cut(hop(0)))
		require.NoError(t, foreign.Publish(subjectOf(hop(0), 1), []byte("into the cut")))
		require.NoError(t, foreign.Flush()) // the broker has seen it
		require.NoError(t, n.Restore(hop(0)))
		want := fmt.Sprint("after cut ", i)
		require.NoError(t, foreign.Publish(subjectOf(hop(0), 1), []byte(want)))
		require.Equal(t, want, next(t, cutIn))
		require.Equal(t, want, hear(t, heard))
	}
	for i := range frames {
		require.Equal(t, fmt.Sprint(i), next(t, otherIn), "the other link loses nothing")
	}
	require.Zero(t, n.Stats().CutsAtBroker)
}

// A whole node takes one mapping, and cuts beyond the limit hold at the ends.
func TestBrokerCutsFewMappings(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	n := openNATS(t, bus.NATSConfig{Broker: b, Shards: 1})
	port := func(node string, p int) wire.Direction {
		return wire.Direction{From: node, To: "x", FromPort: weft.PortID(p), ToPort: 0}
	}
	var node, singles []wire.Direction
	for p := range 4 {
		node = append(node, port("s1.00", p))
		listen(t, n, node[p], 10)
	}
	inboxes := make([]chan wire.Message, 4)
	for i := range 4 {
		singles = append(singles, port(fmt.Sprint("s2.0", i), 0))
		inboxes[i] = listen(t, n, singles[i], 10)
	}
	marker := listen(t, n, hop(9), 1)
	for i := range 29 { // of 32
		require.NoError(t, n.Cut(port(fmt.Sprint("s3.", i), 0)))
	}
	require.NoError(t, n.Cut(node...))
	require.Equal(t, 30, n.Stats().CutsAtBroker)
	require.NoError(t, n.Restore(node[0]))
	require.Equal(t, 32, n.Stats().CutsAtBroker)
	require.NoError(t, n.Cut(node[0]))
	require.NoError(t, n.Cut(singles...))
	require.Equal(t, 32, n.Stats().CutsAtBroker)
	require.Equal(t, 2, n.Stats().CutsAtEnds)

	// All four hold in any case, and for strangers.
	foreign := outsideConn(t, b, bus.RoleFabric)
	heard := observe(t, outsideConn(t, b, bus.RoleFabric))
	for _, d := range append(node, singles...) {
		require.NoError(t, foreign.Publish(subjectOf(d, 1), []byte("cut")))
	}
	require.NoError(t, foreign.Publish(subjectOf(hop(9), 1), []byte("marker")))
	require.Equal(t, "marker", next(t, marker), "the demultiplexer has seen all before it")
	require.NoError(t, n.Restore(node...))
	require.Equal(t, 32, n.Stats().CutsAtBroker, "a free place goes to a cut that waited for one")
	require.NoError(t, n.Restore(singles...))
	require.Equal(t, 29, n.Stats().CutsAtBroker+n.Stats().CutsAtEnds)
	for i, d := range singles {
		require.NoError(t, foreign.Publish(subjectOf(d, 1), []byte("restored")))
		require.Equal(t, "restored", next(t, inboxes[i]))
	}
	for range 2 {
		require.Equal(t, "cut", hear(t, heard), "the two that only the ends enforced")
	}
	require.Equal(t, "marker", hear(t, heard))
	require.Equal(t, "restored", hear(t, heard))
	require.Equal(t, uint64(2), n.Stats().Cut)
}
