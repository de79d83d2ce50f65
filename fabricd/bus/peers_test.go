package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

func openPeers(tb testing.TB, cfg bus.ClientConfig) *bus.Client {
	tb.Helper()
	cfg.Fabric, cfg.Leads = "lab", true
	if cfg.OnError == nil {
		cfg.OnError = func(err error) { tb.Error(err) }
	}
	p := bustest.Client(tb, cfg)
	return p
}

// openProcess is the control of a switch that is a process of its own.
func openProcess(tb testing.TB, url string, c bus.Credentials, node string) *bus.Server {
	tb.Helper()
	p := bustest.Server(tb, bus.ServerConfig{
		Fabric: "lab", Node: node, URL: url, Credentials: c, OnError: func(err error) { tb.Error(err) },
	})
	return p
}

func admitted(tb testing.TB, b *bus.Broker, node string) *bus.Server {
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
	require.True(tb, s.ReadyForConnections(rig.Patience))
	return s.ClientURL()
}

type hostEvent struct{ node, data string }

// hearAll returns what the processes tell.
func hearAll(tb testing.TB, p *bus.Client) <-chan hostEvent {
	tb.Helper()
	all := make(chan hostEvent, 4096)
	require.NoError(tb, bus.Hear(p, "port.down", func(node string, n int) { all <- hostEvent{node, fmt.Sprint(n)} }))
	return all
}

func nextHeard(tb testing.TB, c <-chan hostEvent) hostEvent {
	tb.Helper()
	return rig.Next(tb, c, "something is told")
}

func TestFabricAndProcessTalk(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	owner := bus.Credentials{User: "owner", Password: "secret"}
	boxed := owner
	boxed.InboxPrefix = "_INBOX.mine"
	outside := outsideBroker(t)
	for name, c := range map[string]struct {
		peers   bus.ClientConfig
		url     string
		process bus.Credentials
	}{
		"a broker in this process": {
			bus.ClientConfig{Broker: b},
			b.ClientURL(),
			admit(t, b, bus.NodeAccess{Node: "s1.03", Layout: bus.Hashed(1)}),
		},
		"a broker of ours by URL": {
			bus.ClientConfig{URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric)},
			b.ClientURL(),
			admit(t, b, bus.NodeAccess{Node: "s1.03", Layout: bus.Hashed(1)}),
		},
		"an outside broker":                {bus.ClientConfig{URL: outside, Credentials: owner}, outside, owner},
		"an outside broker, with an inbox": {bus.ClientConfig{URL: outside, Credentials: boxed}, outside, owner},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share the names of the nodes
			talk(t, openPeers(t, c.peers), openProcess(t, c.url, c.process, "s1.03"))
		})
	}
}

func talk(t *testing.T, peers *bus.Client, process *bus.Server) {
	t.Helper()
	require.NoError(t, bus.Handle(process, do("", "port"), func(_ context.Context, l cutRequest) (cutRequest, error) {
		if l.A == "" {
			return l, fmt.Errorf("no such port %q", l.A)
		}
		return cutRequest{l.B, l.A}, nil
	}))
	require.NoError(t, bus.Handle(process, do("", "get.state"),
		func(_ context.Context, req json.RawMessage) ([]int, error) {
			require.Empty(t, req)
			return []int{1, 2}, nil
		}))
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	got, err := bus.Call[cutRequest](ctx, peers, do("s1.03", "port"), cutRequest{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, cutRequest{"b", "a"}, got)
	state, err := bus.Call[[]int](context.Background(), peers, do("s1.03", "get.state"), nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, state)
	require.NoError(t, call(ctx, peers, do("s1.03", "get.state"), nil))

	err = call(ctx, peers, do("s1.03", "port"), cutRequest{})
	require.ErrorIs(t, err, reply.ErrRefused)
	require.ErrorContains(t, err,
		`ask port of switch "s1.03" of fabric "lab": the switch process refuses: no such port ""`)
	_, err = bus.Call[cutRequest](ctx, peers, do("s1.03", "get.state"), nil)
	require.ErrorContains(t, err, "ask get.state of switch \"s1.03\" of fabric \"lab\": the answer: ")
	require.ErrorContains(t, call(ctx, peers, do("s1.03", "port"), func() {}), "ask port")
	require.ErrorIs(t, call(ctx, peers, do("s_1", "port"), nil), wire.ErrName)
	require.ErrorIs(t, call(ctx, peers, do("s1.03", "Port"), nil), wire.ErrName)

	all := hearAll(t, peers)
	for i := range 100 {
		require.NoError(t, process.Publish("port.down", i))
	}
	for i := range 100 {
		require.Equal(t, hostEvent{"s1.03", fmt.Sprint(i)}, nextHeard(t, all))
	}
	require.ErrorContains(t, bus.Hear[int](peers, "port.down", nil), "heard already")
	require.Zero(t, peers.Lost())

	// At once: none of these waits for ctx.
	require.ErrorIs(t, call(ctx, peers, do("s1.03", "nothing"), nil), reply.ErrNobody)
	require.ErrorIs(t, call(ctx, peers, do("s9", "port"), nil), reply.ErrNobody)
	require.NoError(t, process.Close())
	// The broker may learn only now that it has ended, when the request has been sent down its
	// connection.
	require.ErrorIs(t, call(ctx, peers, do("s1.03", "port"), nil), reply.ErrNobody)
	require.NoError(t, ctx.Err())
}

// A process that is stopped has its connection and its subscriptions, and does not answer.
func TestAskOfAStoppedProcessEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	peers := openPeers(t, bus.ClientConfig{Broker: b})
	process := admitted(t, b, "s1")
	asked := make(chan struct{}, 4)
	require.NoError(t, bus.Handle(process, do("", "slow"), func(ctx context.Context, _ struct{}) (any, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	var ctx context.Context
	var err error
	rig.Until(t, func() bool { // a busy machine may not get to ask in that time
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err = call(ctx, peers, do("s1", "slow"), nil)
		return len(asked) > 0
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `ask slow of switch "s1" of fabric "lab": the switch process does not answer in `)
	require.ErrorIs(t, call(ctx, peers, do("s1", "slow"), nil), context.DeadlineExceeded, "it is over before it begins")

	again := make(chan struct{})
	require.NoError(t, bus.Handle(process, do("", "slower"), func(ctx context.Context, _ struct{}) (any, error) {
		close(again)
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	answer := make(chan error, 1)
	go func() { answer <- call(context.Background(), peers, do("s1", "slower"), nil) }()
	<-again
	require.NoError(t, peers.Close())
	require.ErrorIs(t, <-answer, wire.ErrClosed)
	require.ErrorIs(t, call(context.Background(), peers, do("s1", "slow"), nil), wire.ErrClosed)
	require.ErrorIs(t, bus.Hear(peers, "x", func(string, int) {}), wire.ErrClosed)
}

// A process that was stopped has a backlog when it goes on: whoever asks then is answered late, and
// not refused.
func TestAskOfABusyProcessWaitsItsTurn(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	peers := openPeers(t, bus.ClientConfig{Broker: b})
	process := admitted(t, b, "s1")
	begun, proceed := make(chan struct{}, 200), make(chan struct{})
	release := sync.OnceFunc(func() { close(proceed) })
	t.Cleanup(release)
	require.NoError(t, bus.Handle(process, do("", "slow"), func(context.Context, int) (int, error) {
		begun <- struct{}{}
		<-proceed
		return 7, nil
	}))
	answers := make(chan error, 100)
	for i := range cap(answers) {
		go func() { answers <- call(t.Context(), peers, do("s1", "slow"), i) }()
	}
	<-begun
	rig.Until(t, func() bool { // on a busy machine the time may be over before the request is sent
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err := call(short, peers, do("s1", "slow"), 0)
		require.NotErrorIs(t, err, reply.ErrRefused)
		return errors.Is(err, reply.ErrSilent)
	})
	release()
	for range cap(answers) {
		require.NoError(t, <-answers)
	}
}

// A process that babbles while nobody listens loses its own events, and no other's.
func TestHearKeepsProcessesApart(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	errs := make(chan error, 64)
	peers := openPeers(t, bus.ClientConfig{Broker: b, Waiting: 3, OnError: func(err error) { errs <- err }})
	begun, proceed, all := make(chan struct{}, 64), make(chan struct{}), make(chan hostEvent, 64)
	require.NoError(t, bus.Hear(peers, "x", func(node string, n int) {
		begun <- struct{}{}
		<-proceed
		all <- hostEvent{node, fmt.Sprint(n)}
	}))
	babbler, other := admitted(t, b, "s1"), admitted(t, b, "s2")
	require.NoError(t, babbler.Publish("x", 0))
	<-begun // 0 is being heard, so it waits no more
	for i := 1; i <= 8; i++ {
		require.NoError(t, babbler.Publish("x", i))
	}
	rig.Until(t, func() bool { return peers.Lost() == 5 })
	require.NoError(t, other.Publish("x", 0))
	require.NoError(t, bus.Handle(babbler, do("", "up"), func(context.Context, struct{}) (int, error) { return 1, nil }))
	require.NoError(t, call(context.Background(), peers, do("s1", "up"), nil), "a slow hearer does not hold up asking")
	for _, want := range []string{"1 so far", "2 so far", "4 so far"} {
		err := <-errs
		require.ErrorIs(t, err, bus.ErrLost)
		require.ErrorContains(t, err, `switch "s1" of fabric "lab": `+want)
	}
	close(proceed)
	heard := make(map[string][]string)
	for range 5 {
		x := nextHeard(t, all)
		heard[x.node] = append(heard[x.node], x.data)
	}
	require.Equal(t, map[string][]string{"s1": {"0", "1", "2", "3"}, "s2": {"0"}}, heard)
	require.Equal(t, uint64(5), peers.Lost())
	require.Empty(t, errs)
}

func TestHearTellsOfNonsense(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	errs := make(chan error, 8)
	peers := openPeers(t, bus.ClientConfig{Broker: b, OnError: func(err error) { errs <- err }})
	all := hearAll(t, peers)
	conn := login(t, b, admit(t, b, bus.NodeAccess{Node: "s1", Layout: bus.Hashed(1)}))
	for range 3 {
		require.NoError(t, conn.Publish("weft.lab.sw.s1.tell.NO", nil))
	}
	require.ErrorIs(t, <-errs, wire.ErrName)
	require.ErrorContains(t, <-errs, "2 events that cannot be read")
	require.NoError(t, conn.Publish("weft.lab.sw.s1.tell.port.down", []byte{7}))
	require.ErrorContains(t, <-errs,
		`4 events that cannot be read, the last: switch "s1" of fabric "lab" is of an older version`)
	now := nats.Header{"Weft-Build": {bus.Build{Protocol: bus.Protocol}.String()}}
	for _, data := range [][]byte{[]byte("no number"), {}, {0xdd, 0xff, 0xff, 0xff, 0xff}, {7, 7}, {7}} {
		require.NoError(t, conn.PublishMsg(&nats.Msg{Subject: "weft.lab.sw.s1.tell.port.down", Header: now, Data: data}))
	}
	require.Equal(t, hostEvent{"s1", "7"}, nextHeard(t, all))
	require.ErrorContains(t, <-errs, "8 events that cannot be read")
	require.Empty(t, errs)
}

// A process that ends before it answers, as by kill -9, is not waited for.
func TestAskSeesTheProcessEnd(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	b := bustest.Broker(t, bus.BrokerConfig{})
	peers := openPeers(t, bus.ClientConfig{Broker: b})
	c := admit(t, b, bus.NodeAccess{Node: "s1", Layout: bus.Hashed(1)})
	asked := make(chan struct{})
	process, err := bus.NewServer(bus.ServerConfig{Fabric: "lab", Node: "s1", URL: b.ClientURL(), Credentials: c})
	require.NoError(t, err)
	require.NoError(t, bus.Handle(process, do("", "slow"), func(ctx context.Context, _ struct{}) (any, error) {
		close(asked)
		<-ctx.Done()
		return 1, nil
	}))
	answer := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	go func() { answer <- call(ctx, peers, do("s1", "slow"), nil) }()
	<-asked
	b.Revoke(c.User)
	require.ErrorIs(t, <-answer, reply.ErrNobody)
	require.NoError(t, ctx.Err())
	require.NoError(t, process.Close())
}

func TestAskWithoutRights(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	peers := openPeers(t, bus.ClientConfig{URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleOperator)})
	err := call(context.Background(), peers, do("s1", "port"), nil)
	require.ErrorIs(t, err, reply.ErrDenied)
	require.ErrorContains(t, err, "user operator")
}

func TestAskWithoutBroker(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	peers := openPeers(t,
		bus.ClientConfig{URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric), OnError: func(error) {}})
	b.Shutdown()
	rig.Until(t, func() bool { // until the connection has noticed, asks wait for their context
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		err := call(ctx, peers, do("s1", "port"), nil)
		return !errors.Is(err, context.DeadlineExceeded) && err != nil
	})
	require.ErrorContains(t, call(context.Background(), peers, do("s1", "port"), nil), "no connection to the broker now")
}

func TestPeersConfigErrors(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{NoListen: true})
	for want, cfg := range map[string]bus.ClientConfig{
		"fabric name":              {Broker: b},
		"no address":               {Fabric: "lab"},
		`serves fabric "lab", not`: {Fabric: "other", Broker: b},
		"may wait":                 {Fabric: "lab", Broker: b, Waiting: -1},
		"below _INBOX.": {
			Fabric: "lab", URL: "nats://127.0.0.1:1",
			Credentials: bus.Credentials{InboxPrefix: "mine"},
		},
		"no broker answers": {Fabric: "lab", URL: "nats://127.0.0.1:1"},
	} {
		_, err := bus.Dial(cfg)
		require.ErrorContains(t, err, want)
	}
	_, err := bus.NewServer(bus.ServerConfig{Fabric: "lab", Broker: b, Node: "s*"})
	require.ErrorIs(t, err, wire.ErrName)
}
