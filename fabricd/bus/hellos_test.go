package bus_test

import (
	"encoding/binary"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/wire"
)

// hello sends a hello of a link.
func hello(t *testing.T, n *bus.NATS, d wire.Direction, frame string) {
	t.Helper()
	require.NoError(t, sender(t, n, d).(wire.HelloSender).SendHello([]byte(frame)))
}

func flush(n *bus.NATS) {
	for shard := range n.Shards() {
		n.FlushHellos(shard)
	}
}

// hearLinks hears all that is sent on links, from outside.
func hearLinks(t *testing.T, b *bus.Broker) *nats.Subscription {
	t.Helper()
	conn := outsideConn(t, b, bus.RoleFabric)
	sub, err := conn.SubscribeSync("weft.lab.l.>")
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	return sub
}

// Hellos wait for each other and travel in one message, and whoever taps their links hears each.
// They keep their place among the other frames of a link.
func TestHellosTravelTogether(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	n := openNATS(t, bus.NATSConfig{Broker: b, Shards: 1})
	first, second := listen(t, n, hop(0), 64), listen(t, n, hop(1), 64)
	viewer := dial(t, b, bus.RoleViewer)
	all, err := viewer.Tap(nil, 64)
	require.NoError(t, err)
	one, err := viewer.Tap([]bus.TapEnd{{Node: hop(1).From, Port: hop(1).FromPort}}, 64)
	require.NoError(t, err)
	outside := hearLinks(t, b)
	ready(t, n)

	hello(t, n, hop(0), "a")
	hello(t, n, hop(1), "b")
	hello(t, n, hop(0), "c")
	flush(n)
	for _, want := range []string{"a", "c"} {
		require.Equal(t, want, next(t, first))
	}
	require.Equal(t, "b", next(t, second))
	msg, err := outside.NextMsg(rig.Patience)
	require.NoError(t, err)
	require.Equal(t, "weft.lab.l.0.0.~.0", msg.Subject)
	for _, want := range []string{"a", "b", "c"} {
		_, got := heard(t, all)
		require.Equal(t, want, got)
	}
	from, got := heard(t, one)
	require.Equal(t, bus.TapEnd{Node: hop(1).From, Port: hop(1).FromPort}, from)
	require.Equal(t, "b", got)

	hello(t, n, hop(0), "before")
	require.NoError(t, sender(t, n, hop(0)).Send([]byte("after")))
	require.Equal(t, "before", next(t, first))
	require.Equal(t, "after", next(t, first))
	require.EqualValues(t, 5, n.Stats().Sent)
	require.EqualValues(t, 5, n.Stats().Delivered)
}

// A hello of a link that is cut goes nowhere: neither one that waits when the cut comes, nor one
// sent after, nor one that a stranger puts among others.
func TestNoHelloPassesACut(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	n := openNATS(t, bus.NATSConfig{Broker: b, Shards: 1})
	cut, whole := listen(t, n, hop(0), 64), listen(t, n, hop(1), 64)
	ready(t, n)
	hello(t, n, hop(0), "waits")
	hello(t, n, hop(1), "passes")
	require.NoError(t, n.Cut(hop(0)))
	hello(t, n, hop(0), "late")
	flush(n)
	require.Equal(t, "passes", next(t, whole))

	var forged []byte
	for _, d := range []wire.Direction{hop(0), hop(1)} {
		name := subjectOf(d, 1)[len("weft.lab.l.0.0."):]
		for _, chunk := range []string{name, "forged"} {
			forged = append(binary.AppendUvarint(forged, uint64(len(chunk))), chunk...)
		}
	}
	conn := outsideConn(t, b, bus.RoleFabric)
	require.NoError(t, conn.Publish("weft.lab.l.0.0.~.0", forged))
	require.NoError(t, conn.Flush())
	require.Equal(t, "forged", next(t, whole))
	require.Empty(t, cut)
	require.EqualValues(t, 3, n.Stats().Cut)

	require.NoError(t, n.Restore(hop(0)))
	hello(t, n, hop(0), "back")
	flush(n)
	require.Equal(t, "back", next(t, cut))
}

// Hellos whose receiver may be elsewhere travel alone, on the subject of their link.
func TestHellosForOthersTravelAlone(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	n := openNATS(t, bus.NATSConfig{Broker: b, Shards: 1})
	listen(t, n, hop(0), 64)
	require.NoError(t, n.Unlisten(hop(0)))
	outside := hearLinks(t, b)
	ready(t, n)
	hello(t, n, hop(0), "a")
	msg, err := outside.NextMsg(rig.Patience)
	require.NoError(t, err)
	require.Equal(t, subjectOf(hop(0), 1), msg.Subject)
}

// What is no message of hellos is counted and named, and what came before it in the message is
// heard.
func TestDamagedHellosAreCounted(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	events := new(recorder)
	n := openNATS(t, bus.NATSConfig{Broker: b, Shards: 1})
	n.Watch(events.record)
	inbox := listen(t, n, hop(0), 64)
	ready(t, n)
	name := subjectOf(hop(0), 1)[len("weft.lab.l.0.0."):]
	good := append([]byte{byte(len(name))}, name+"\x01x"...)
	conn := outsideConn(t, b, bus.RoleFabric)
	for i, rest := range []string{"\x05ab", "\x80", "\x03~.0\x00"} {
		require.NoError(t, conn.Publish("weft.lab.l.0.0.~.0", append(good, rest...)))
		require.NoError(t, conn.Flush())
		require.Equal(t, "x", next(t, inbox))
		rig.Until(t, func() bool { return n.Stats().Unknown == uint64(i+1) }, "it is counted")
	}
	require.Equal(t, "weft.lab.l.0.0.~.0", events.await(t, wire.EventUnknown).Subject)
}
