package bus_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/switch/wire"
)

// halves are the layouts of a line s0-s1-s2-s3 on two hosts, west with s0 and s1, as each host and
// whoever leads sees it.
func halves(tb testing.TB) (west, east *bus.Layout) {
	tb.Helper()
	w, e := bus.HostShards{First: 4, N: 2, Nodes: []string{"s0", "s1"}}, bus.HostShards{
		First: 255, N: 1,
		Nodes: []string{"s2", "s3"},
	}
	west, err := bus.NewLayout(w, w, e)
	require.NoError(tb, err)
	east, err = bus.NewLayout(e, w, e)
	require.NoError(tb, err)
	return west, east
}

func TestLayoutIsTheSameForAllHosts(t *testing.T) {
	t.Parallel()
	west, east := halves(t)
	for node, want := range map[string][2]int{"s0": {4, 5}, "s1": {4, 5}, "s2": {255, 255}, "s3": {255, 255}} {
		require.Equal(t, west.Shard(node), east.Shard(node), node)
		require.Contains(t, want, west.Shard(node), node)
	}
	require.Contains(t, []int{4, 5}, west.Shard("beat-0"), "what is on no host is ours")
	require.Equal(t, 255, east.Shard("beat-0"))
	only := west.Only("s1")
	first, n := only.Own()
	require.Equal(t, [2]int{west.Shard("s1"), 1}, [2]int{first, n}, "who runs one node shares its shard, and no other")
	for _, node := range []string{"s0", "s1", "s2", "s3", "beat-0"} {
		require.Equal(t, west.Shard(node), only.Shard(node), node)
	}
	moved, err := bus.NewLayout(bus.HostShards{First: 4, N: 2, Nodes: []string{"s1"}},
		bus.HostShards{First: 4, N: 2, Nodes: []string{"s0", "s1"}},
		bus.HostShards{First: 255, N: 1, Nodes: []string{"s2", "s3"}})
	require.NoError(t, err)
	for _, node := range []string{"s0", "s1", "s2", "s3"} {
		require.Equal(t, west.Shard(node), moved.Only("s1").Shard(node), "as its home and all others see it: %s", node)
	}
	for _, p := range []bus.HostShards{{First: -1, N: 1}, {First: 0, N: 0}, {First: 0, N: 5}, {First: 254, N: 3}} {
		_, err := bus.NewLayout(bus.HostShards{N: 1}, p)
		require.ErrorContains(t, err, "a host with shards")
		_, err = bus.NewLayout(p)
		require.ErrorContains(t, err, "a host with shards")
	}
}

// Two hosts, each with its own credentials, carry frames between them and cut at either end.
func TestHostsCarryFrames(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	wl, el := halves(t)
	open := func(name string, l *bus.Layout) *bus.NATS {
		first, n := l.Own()
		c, err := b.Admit(bus.HostAccess{Host: name, First: first, N: n})
		require.NoError(t, err)
		return openNATS(t, bus.NATSConfig{URL: b.ClientURL(), Credentials: c, Layout: l})
	}
	west, east := open("west", wl), open("east", el)
	require.Equal(t, 2, west.Shards())
	require.Equal(t, -1, west.Shard("s2"))
	require.Equal(t, 0, east.Shard("s2"))

	there, back, local := hop(1), hop(1).Reverse(), hop(0)
	inEast, inWest, inside := listen(t, east, there, 8), listen(t, west, back, 8), listen(t, west, local, 8)
	ready(t, east)
	ready(t, west)
	for _, c := range []struct {
		from  wire.Transport
		d     wire.Direction
		inbox chan wire.Message
	}{{west, there, inEast}, {east, back, inWest}, {west, local, inside}} {
		out := sender(t, c.from, c.d)
		require.NoError(t, out.Send([]byte("one")))
		require.Equal(t, "one", next(t, c.inbox))
		for _, by := range []wire.Transport{west, east} {
			if by == east && c.d == local {
				continue
			}
			require.NoError(t, by.Cut(c.d))
			require.NoError(t, out.Send([]byte("cut")))
			ready(t, c.from)
			require.NoError(t, by.Restore(c.d))
			if by != c.from { // its sender is cut at once, its receiver hears what came meanwhile first
				ready(t, by)
			}
		}
		require.NoError(t, out.Send([]byte("two")))
		for got := ""; got != "two"; got = next(t, c.inbox) {
			require.NotEqual(t, "one", got)
		}
	}
	require.NoError(t, east.Cut(local), "which is nothing, without a broker of ours")
	require.NoError(t, sender(t, west, local).Send([]byte("through")))
	require.Equal(t, "through", next(t, inside))
	require.ErrorIs(t, west.Listen(hop(2), make(chan wire.Message, 1)), bus.ErrElsewhere)
	_, err := west.Sender(back)
	require.ErrorIs(t, err, bus.ErrElsewhere)
	require.ErrorIs(t, west.Listen(there, make(chan wire.Message, 1)), bus.ErrElsewhere)
	require.NoError(t, west.Unlisten(there), "somebody else listens, as ever")
}

func TestHostMayDoWhatItsPlaceNeeds(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c, err := b.Admit(bus.HostAccess{Host: "west", First: 4, N: 2})
	require.NoError(t, err)
	probe(t, login(t, b, c, nats.ErrorHandler(quiet)), c.User, map[string]bool{
		"weft.lab.l.4.255.s1.1":       true,
		"weft.lab.l.5.4.s0.0":         true,
		"weft.lab.l.3.4.s1.1":         false,
		"weft.lab.l.6.4.s1.1":         false,
		"weft.other.l.4.4.s1.1":       false,
		"weft.lab.ctl.cut":            false,
		"weft.lab.ev.x":               false,
		"weft.lab.sw.west.tell.seen":  true,
		"weft.lab.sw.east.tell.seen":  false,
		"weft.lab.sw.west.do.end":     false,
		"weft.lab.sw.east.do.end":     false,
		"_INBOX.weft-fabric.a.west.7": true,
		"_INBOX.weft-fabric.a.east.7": false,
		"$JS.API.INFO":                false,
	}, map[string]bool{
		"weft.lab.l.*.4.>":      true,
		"weft.lab.l.*.5.>":      true,
		"weft.lab.l.*.6.>":      false,
		"weft.lab.l.4.>":        false,
		"weft.lab.l.>":          false,
		"weft.lab.sw.west.do.>": true,
		"weft.lab.sw.east.do.>": false,
		"weft.lab.ev.>":         false,
		c.InboxPrefix + ".x":    true,
		"_INBOX.>":              false,
	})
	for want, a := range map[string]bus.HostAccess{
		`node name ">"`:       {Host: ">", N: 1},
		"want 1 to 4 of them": {Host: "a", N: 5},
	} {
		_, err := b.Admit(a)
		require.ErrorContains(t, err, want)
	}
	_, err = (*bus.Broker)(nil).Admit(bus.HostAccess{Host: "west", N: 1})
	require.ErrorIs(t, err, bus.ErrOutsideBroker)
}

// Who has the broker cuts links there that lead between other processes, one by one: it does not
// know all ports of their nodes.
func TestCutBetweenOthersAtOurBroker(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	w, e := bus.HostShards{First: 1, N: 1, Nodes: []string{"s0", "s1", "s2"}}, bus.HostShards{
		First: 2, N: 1,
		Nodes: []string{"s3"},
	}
	own, err := bus.NewLayout(bus.HostShards{N: 1}, w, e)
	require.NoError(t, err)
	lead := openNATS(t, bus.NATSConfig{Broker: b, Layout: own})
	west, err := bus.NewLayout(w, e)
	require.NoError(t, err)
	c, err := b.Admit(bus.HostAccess{Host: "west", First: 1, N: 1})
	require.NoError(t, err)
	host := openNATS(t, bus.NATSConfig{URL: b.ClientURL(), Credentials: c, Layout: west})
	there, other := hop(0), wire.Direction{From: "s0", To: "s2", FromPort: 2}
	cut, through := listen(t, host, there, 8), listen(t, host, other, 8)
	ready(t, host)
	third := wire.Direction{From: "s0", To: "s2", FromPort: 3}
	require.NoError(t, lead.Cut(there, third))
	require.Equal(t, 2, lead.Stats().CutsAtBroker)
	require.NoError(t, sender(t, host, there).Send([]byte("cut")))
	require.NoError(t, sender(t, host, other).Send([]byte("through")))
	require.Equal(t, "through", next(t, through))
	require.NoError(t, lead.Restore(there))
	require.NoError(t, sender(t, host, there).Send([]byte("again")))
	require.Equal(t, "again", next(t, cut))
}
