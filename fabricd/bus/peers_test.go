package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/switch/wire"
)

func openPeers(tb testing.TB, cfg bus.PeersConfig) *bus.Peers {
	tb.Helper()
	cfg.Fabric = "lab"
	if cfg.OnError == nil {
		cfg.OnError = func(err error) { tb.Error(err) }
	}
	p, err := bus.NewPeers(cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Close()) })
	return p
}

// openProcess is the control of a switch that is a process of its own.
func openProcess(tb testing.TB, url string, c bus.Credentials, node string) *bus.Control {
	tb.Helper()
	p, err := bus.NewControl(bus.ControlConfig{
		Fabric: "lab", Node: node, URL: url, Credentials: c, OnError: func(err error) { tb.Error(err) },
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Close()) })
	return p
}

func admitted(tb testing.TB, b *bus.Broker, node string) *bus.Control {
	tb.Helper()
	return openProcess(tb, b.ClientURL(), admit(tb, b, bus.NodeAccess{Node: node, Layout: bus.Hashed(1)}), node)
}

// outsideBroker is a server that is nobody's of ours, with one user who may do everything.
func outsideBroker(tb testing.TB) string {
	tb.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, Username: "owner", Password: "secret",
	})
	require.NoError(tb, err)
	s.Start()
	tb.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(tb, s.ReadyForConnections(patience))
	return s.ClientURL()
}

type told struct{ node, kind, data string }

// hearAll returns what the processes tell.
func hearAll(tb testing.TB, p *bus.Peers) <-chan told {
	tb.Helper()
	all := make(chan told, 4096)
	require.NoError(tb, p.Hear(func(node, kind string, data []byte) { all <- told{node, kind, string(data)} }))
	return all
}

func nextTold(tb testing.TB, c <-chan told) told {
	tb.Helper()
	select {
	case x := <-c:
		return x
	case <-time.After(patience):
		tb.Fatal("nothing is told")
		return told{}
	}
}

func TestFabricAndProcessTalk(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	owner := bus.Credentials{User: "owner", Password: "secret"}
	boxed := owner
	boxed.InboxPrefix = "_INBOX.mine"
	outside := outsideBroker(t)
	for name, c := range map[string]struct {
		peers   bus.PeersConfig
		url     string
		process bus.Credentials
	}{
		"a broker in this process": {bus.PeersConfig{Broker: b}, b.ClientURL(), admit(t, b, bus.NodeAccess{Node: "s1.03", Layout: bus.Hashed(1)})},
		"a broker of ours by URL": {
			bus.PeersConfig{URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric)},
			b.ClientURL(),
			admit(t, b, bus.NodeAccess{Node: "s1.03", Layout: bus.Hashed(1)}),
		},
		"an outside broker":                {bus.PeersConfig{URL: outside, Credentials: owner}, outside, owner},
		"an outside broker, with an inbox": {bus.PeersConfig{URL: outside, Credentials: boxed}, outside, owner},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share the names of the nodes
			talk(t, openPeers(t, c.peers), openProcess(t, c.url, c.process, "s1.03"))
		})
	}
}

func talk(t *testing.T, peers *bus.Peers, process *bus.Control) {
	t.Helper()
	require.NoError(t, process.Serve("port", func(_ context.Context, req []byte) (any, error) {
		var l link
		if err := json.Unmarshal(req, &l); err != nil || l.A == "" {
			return nil, fmt.Errorf("no such port %s", req)
		}
		return link{l.B, l.A}, nil
	}))
	require.NoError(t, process.Serve("get.state", func(_ context.Context, req []byte) (any, error) {
		require.Empty(t, req)
		return []int{1, 2}, nil
	}))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var got link
	require.NoError(t, peers.Ask(ctx, "s1.03", "port", link{"a", "b"}, &got))
	require.Equal(t, link{"b", "a"}, got)
	var state []int
	require.NoError(t, peers.Ask(context.Background(), "s1.03", "get.state", nil, &state))
	require.Equal(t, []int{1, 2}, state)
	require.NoError(t, peers.Ask(ctx, "s1.03", "get.state", nil, nil))

	err := peers.Ask(ctx, "s1.03", "port", link{}, nil)
	require.ErrorIs(t, err, bus.ErrSwitchRefused)
	require.ErrorContains(t, err, `ask port of switch "s1.03": the switch process refuses: no such port {"a":"","b":""}`)
	require.ErrorContains(t, peers.Ask(ctx, "s1.03", "get.state", nil, &got), "answer to get.state")
	require.ErrorContains(t, peers.Ask(ctx, "s1.03", "port", func() {}, nil), "ask port")
	require.ErrorIs(t, peers.Ask(ctx, "s_1", "port", nil, nil), wire.ErrName)
	require.ErrorIs(t, peers.Ask(ctx, "s1.03", "Port", nil, nil), wire.ErrName)

	all := hearAll(t, peers)
	for i := range 100 {
		require.NoError(t, process.Publish("port.down", i))
	}
	for i := range 100 {
		require.Equal(t, told{"s1.03", "port.down", fmt.Sprint(i)}, nextTold(t, all))
	}
	require.ErrorContains(t, peers.Hear(nil), "heard already")
	require.Zero(t, peers.Lost())

	// At once: none of these waits for ctx.
	require.ErrorIs(t, peers.Ask(ctx, "s1.03", "nothing", nil, nil), bus.ErrNoProcess)
	require.ErrorIs(t, peers.Ask(ctx, "s9", "port", nil, nil), bus.ErrNoProcess)
	require.NoError(t, process.Close())
	// The broker may learn only now that it has ended, when the request has been sent down its connection.
	require.ErrorIs(t, peers.Ask(ctx, "s1.03", "port", nil, nil), bus.ErrNoProcess)
	require.NoError(t, ctx.Err())
}

// A process that is stopped has its connection and its subscriptions, and does not answer.
func TestAskOfAStoppedProcessEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	peers := openPeers(t, bus.PeersConfig{Broker: b})
	process := admitted(t, b, "s1")
	asked := make(chan struct{}, 4)
	require.NoError(t, process.Serve("slow", func(ctx context.Context, _ []byte) (any, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := peers.Ask(ctx, "s1", "slow", nil, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `ask slow of switch "s1" of fabric "lab": its process does not answer`)
	require.NotContains(t, err.Error(), "context deadline exceeded")
	<-asked
	require.ErrorIs(t, peers.Ask(ctx, "s1", "slow", nil, nil), context.DeadlineExceeded, "it is over before it begins")

	require.NoError(t, process.Serve("slower", func(ctx context.Context, _ []byte) (any, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	answer := make(chan error, 1)
	go func() { answer <- peers.Ask(context.Background(), "s1", "slower", nil, nil) }()
	<-asked
	require.NoError(t, peers.Close())
	require.ErrorIs(t, <-answer, wire.ErrClosed)
	require.ErrorIs(t, peers.Ask(context.Background(), "s1", "slow", nil, nil), wire.ErrClosed)
	require.ErrorIs(t, peers.Hear(func(string, string, []byte) {}), wire.ErrClosed)
}

// A process that babbles while nobody listens loses its own tellings, and no other's.
func TestHearKeepsProcessesApart(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	errs := make(chan error, 64)
	peers := openPeers(t, bus.PeersConfig{Broker: b, Waiting: 3, OnError: func(err error) { errs <- err }})
	begun, goOn, all := make(chan struct{}, 64), make(chan struct{}), make(chan told, 64)
	require.NoError(t, peers.Hear(func(node, kind string, data []byte) {
		begun <- struct{}{}
		<-goOn
		all <- told{node, kind, string(data)}
	}))
	babbler, quiet := admitted(t, b, "s1"), admitted(t, b, "s2")
	require.NoError(t, babbler.Publish("x", 0))
	<-begun // 0 is being heard, so it waits no more
	for i := 1; i <= 8; i++ {
		require.NoError(t, babbler.Publish("x", i))
	}
	require.Eventually(t, func() bool { return peers.Lost() == 5 }, patience, time.Millisecond)
	require.NoError(t, quiet.Publish("y", 0))
	require.NoError(t, babbler.Serve("up", func(context.Context, []byte) (any, error) { return 1, nil }))
	require.NoError(t, peers.Ask(context.Background(), "s1", "up", nil, nil), "a slow hearer does not hold up asking")
	for _, want := range []string{"1 so far", "2 so far", "4 so far"} {
		err := <-errs
		require.ErrorIs(t, err, bus.ErrLost)
		require.ErrorContains(t, err, `switch "s1" of fabric "lab": `+want)
	}
	close(goOn)
	heard := make(map[string][]string)
	for range 5 {
		x := nextTold(t, all)
		heard[x.node] = append(heard[x.node], x.data)
	}
	require.Equal(t, map[string][]string{"s1": {"0", "1", "2", "3"}, "s2": {"0"}}, heard)
	require.Equal(t, uint64(5), peers.Lost())
	require.Empty(t, errs)
}

func TestHearTellsOfNonsense(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	errs := make(chan error, 8)
	peers := openPeers(t, bus.PeersConfig{Broker: b, OnError: func(err error) { errs <- err }})
	all := hearAll(t, peers)
	conn := login(t, b, admit(t, b, bus.NodeAccess{Node: "s1", Layout: bus.Hashed(1)}))
	for range 3 {
		require.NoError(t, conn.Publish("weft.lab.sw.s1.tell.NO", nil))
	}
	require.NoError(t, conn.Publish("weft.lab.sw.s1.tell.port", []byte("not JSON")))
	require.Equal(t, told{"s1", "port", "not JSON"}, nextTold(t, all), "data are the hearer's business")
	require.ErrorIs(t, <-errs, wire.ErrName)
	require.ErrorContains(t, <-errs, "2 tellings of no kind")
	require.Empty(t, errs)
}

// A process that ends before it answers, as by kill -9, is not waited for.
func TestAskSeesTheProcessEnd(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	peers := openPeers(t, bus.PeersConfig{Broker: b})
	c := admit(t, b, bus.NodeAccess{Node: "s1", Layout: bus.Hashed(1)})
	asked := make(chan struct{})
	process, err := bus.NewControl(bus.ControlConfig{Fabric: "lab", Node: "s1", URL: b.ClientURL(), Credentials: c})
	require.NoError(t, err)
	require.NoError(t, process.Serve("slow", func(ctx context.Context, _ []byte) (any, error) {
		close(asked)
		<-ctx.Done()
		return 1, nil
	}))
	answer := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() { answer <- peers.Ask(ctx, "s1", "slow", nil, nil) }()
	<-asked
	b.Revoke(c.User)
	require.ErrorIs(t, <-answer, bus.ErrNoProcess)
	require.NoError(t, ctx.Err())
	require.NoError(t, process.Close())
}

func TestAskWithoutRights(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	peers := openPeers(t, bus.PeersConfig{URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleOperator)})
	err := peers.Ask(context.Background(), "s1", "port", nil, nil)
	require.ErrorIs(t, err, bus.ErrDenied)
	require.ErrorContains(t, err, "user operator")
}

func TestAskWithoutBroker(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	peers := openPeers(t, bus.PeersConfig{URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric), OnError: func(error) {}})
	b.Shutdown()
	require.Eventually(t, func() bool { // until the connection has noticed, asks wait for their context
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		err := peers.Ask(ctx, "s1", "port", nil, nil)
		return !errors.Is(err, context.DeadlineExceeded) && err != nil
	}, patience, time.Millisecond)
	require.ErrorContains(t, peers.Ask(context.Background(), "s1", "port", nil, nil), "no connection to the broker now")
}

func TestPeersConfigErrors(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{NoListen: true})
	for want, cfg := range map[string]bus.PeersConfig{
		"fabric name":              {Broker: b},
		"neither a broker":         {Fabric: "lab"},
		`serves fabric "lab", not`: {Fabric: "other", Broker: b},
		"may wait":                 {Fabric: "lab", Broker: b, Waiting: -1},
		"below _INBOX.":            {Fabric: "lab", URL: "nats://127.0.0.1:1", Credentials: bus.Credentials{InboxPrefix: "mine"}},
		"no broker answers":        {Fabric: "lab", URL: "nats://127.0.0.1:1"},
	} {
		_, err := bus.NewPeers(cfg)
		require.ErrorContains(t, err, want)
	}
	_, err := bus.NewControl(bus.ControlConfig{Fabric: "lab", Broker: b, Node: "s*"})
	require.ErrorIs(t, err, wire.ErrName)
}
