package bus_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// access is what s1 in the middle of the line s0-s1-s2 needs, of a fabric with two shards.
func access() bus.NodeAccess {
	return bus.NodeAccess{
		Node: "s1", Sends: []wire.Direction{hop(0).Reverse(), hop(1)}, Hears: []wire.Direction{
			hop(0),
			hop(1).Reverse(),
		}, Layout: bus.Hashed(2),
	}
}

func admit(tb testing.TB, b *bus.Broker, a bus.NodeAccess) bus.Credentials {
	tb.Helper()
	c, err := b.Admit(a)
	require.NoError(tb, err)
	return c
}

func quiet(*nats.Conn, *nats.Subscription, error) {}

func TestAdmittedProcessMayDoWhatItsPlaceNeeds(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c := admit(t, b, access())
	own, shard, to := subjectOf(hop(1), 2), bus.ShardOf("s1", 2), bus.ShardOf("s2", 2)
	require.Equal(t, fmt.Sprintf("weft.lab.l.%d.%d.s1.1", shard, to), own)
	conn := login(t, b, c, nats.ErrorHandler(quiet))
	probe(t, conn, c.User, map[string]bool{
		own:                            true,
		subjectOf(hop(0).Reverse(), 2): true,
		fmt.Sprintf("weft.lab.l.%d.%d.s1.2", shard, to):   false, // a port it has not
		fmt.Sprintf("weft.lab.l.%d.%d.s1.1", 1-shard, to): false,
		fmt.Sprintf("weft.lab.l.%d.%d.s1.1", shard, 1-to): false,
		subjectOf(hop(0), 2):                              false, // it hears that
		subjectOf(hop(2), 2):                              false,
		"weft.lab.ctl.cut":                                false,
		"weft.lab.ctl.get.status":                         false,
		"weft.lab.ev.x":                                   false,
		"weft.lab.sw.s1.tell.port.down":                   true,
		"weft.lab.sw.s2.tell.port.down":                   false,
		"weft.lab.sw.s1.do.x":                             false,
		"weft.lab.sw.s2.do.x":                             false,
		"_INBOX.weft-fabric.a.s1.7":                       true, // an answer of its own
		"_INBOX.weft-fabric.a.s2.7":                       false,
		"_INBOX.weft-fabric.x":                            false,
		"_INBOX.weft-viewer.a.s1.7":                       false,
	}, map[string]bool{
		subjectOf(hop(0), 2):           true,
		subjectOf(hop(1).Reverse(), 2): true,
		own:                            false,
		subjectOf(hop(2), 2):           false,
		"weft.lab.l.>":                 false,
		"weft.lab.ctl.>":               false,
		"weft.lab.ev.>":                false,
		"weft.lab.sw.s1.do.>":          true,
		"weft.lab.sw.s2.do.>":          false,
		"weft.lab.sw.*.do.>":           false,
		"weft.lab.sw.s1.tell.>":        false,
		c.InboxPrefix + ".x":           true,
		"_INBOX.weft-fabric.>":         false,
		"_INBOX.>":                     false,
		">":                            false,
	})
	// The reply subject of what it hears lends it nothing: a neighbour in league cannot make it
	// cut.
	sub, err := conn.SubscribeSync(subjectOf(hop(0), 2))
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	fabric := outsideConn(t, b, bus.RoleFabric)
	require.NoError(t, fabric.PublishRequest(subjectOf(hop(0), 2), "weft.lab.ctl.cut", []byte("x")))
	_, err = sub.NextMsg(rig.Patience)
	require.NoError(t, err)
	probe(t, conn, c.User, map[string]bool{"weft.lab.ctl.cut": false}, nil)
}

func TestStrangersCannotSpeakOnALink(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	fabric := openNATS(t, bus.NATSConfig{Broker: b, Shards: 2})
	inbox := listen(t, fabric, hop(1), 8)
	ready(t, fabric)
	neighbour := admit(t, b,
		bus.NodeAccess{
			Node: "s2", Sends: []wire.Direction{hop(1).Reverse(), hop(2)}, Hears: []wire.Direction{hop(1)},
			Layout: bus.Hashed(2),
		})
	for who, c := range map[string]bus.Credentials{
		"a viewer": b.Credentials(bus.RoleViewer), "an operator": b.Credentials(bus.RoleOperator), "the neighbour": neighbour,
	} {
		conn := login(t, b, c, nats.ErrorHandler(quiet))
		probe(t, conn, who, map[string]bool{subjectOf(hop(1), 2): false}, nil)
	}
	_, err := nats.Connect(b.ClientURL())
	require.ErrorIs(t, err, nats.ErrAuthorization)

	conn := login(t, b, admit(t, b, access()))
	require.NoError(t, conn.Publish(subjectOf(hop(1), 2), []byte("mine")))
	require.Equal(t, "mine", next(t, inbox), "and nothing before")
	require.Equal(t, uint64(1), fabric.Stats().Delivered)
}

// A process over its own credentials and the fabric in the broker's process carry frames both ways,
// and cuts hold for it.
func TestAdmittedProcessCarriesFrames(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	fabric := openNATS(t, bus.NATSConfig{Broker: b, Shards: 2, Subscription: bus.PerDirection})
	process := openNATS(t, bus.NATSConfig{
		URL: b.ClientURL(), Credentials: admit(t, b, access()), Shards: 2, Subscription: bus.PerDirection,
	})
	there, back := listen(t, process, hop(0), 8), listen(t, fabric, hop(1), 8)
	ready(t, fabric)
	ready(t, process)
	toProcess, fromProcess := sender(t, fabric, hop(0)), sender(t, process, hop(1))
	require.NoError(t, toProcess.Send([]byte("there")))
	require.Equal(t, "there", next(t, there))
	require.NoError(t, fromProcess.Send([]byte("back")))
	require.Equal(t, "back", next(t, back))

	// The process is not told of the cut, and neither another process that comes nor one that goes
	// undoes it.
	require.NoError(t, fabric.Cut(hop(1)))
	b.Revoke(admit(t, b, bus.NodeAccess{Node: "s2", Layout: bus.Hashed(2)}).User)
	tap := outsideConn(t, b, bus.RoleFabric)
	heard, err := tap.SubscribeSync(subjectOf(hop(1), 2))
	require.NoError(t, err)
	require.NoError(t, tap.Flush())
	require.NoError(t, fromProcess.Send([]byte("cut")))
	ready(t, process)
	require.NoError(t, fabric.Restore(hop(1)))
	require.NoError(t, fromProcess.Send([]byte("again")))
	require.Equal(t, "again", next(t, back))
	first, err := heard.NextMsg(rig.Patience)
	require.NoError(t, err)
	require.Equal(t, "again", string(first.Data), "the broker let the cut frame pass")
}

func TestAdmitAgainGivesOthers(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	first, second := admit(t, b, access()), admit(t, b, access())
	require.NotEqual(t, first.User, second.User)
	require.NotEqual(t, first.Password, second.Password)
	mixed := bus.Credentials{User: first.User, Password: second.Password}
	_, err := nats.Connect(b.ClientURL(), nats.UserInfo(mixed.User, mixed.Password))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	b.Revoke(first.User)
	login(t, b, second)
	require.True(t, b.Connected(second.User))
}

func TestRevokeEndsConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c, other := admit(t, b, access()), admit(t, b, access())
	require.False(t, b.Connected(c.User))
	closed := make(chan struct{})
	conn := login(t, b, c, nats.ErrorHandler(quiet), nats.MaxReconnects(-1), nats.ReconnectWait(0),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	second, untouched := login(t, b, c, nats.NoReconnect()), login(t, b, other)
	_, err := conn.SubscribeSync(subjectOf(hop(0), 2))
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	require.True(t, b.Connected(c.User))

	b.Revoke(c.User)
	require.False(t, b.Connected(c.User))
	require.Error(t, second.Flush())
	<-closed // it has tried to come back, and was refused
	require.ErrorIs(t, conn.LastError(), nats.ErrAuthorization)
	_, err = nats.Connect(b.ClientURL(), nats.UserInfo(c.User, c.Password))
	require.ErrorIs(t, err, nats.ErrAuthorization)

	b.Revoke(c.User) // nothing left to do
	b.Revoke("nobody")
	b.Revoke("fabric") // not admitted, so not to be revoked
	outsideConn(t, b, bus.RoleFabric)
	require.NoError(t, untouched.Flush())
	require.True(t, b.Connected(other.User))
	require.False(t, b.Connected(""))
}

// A process that loses its credentials while it begins to answer is told that its connection is
// closed.
func TestARevokedProcessCannotBeginToAnswer(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c := admit(t, b, access())
	p := bustest.Server(t, bus.ServerConfig{
		Fabric: "lab", Node: access().Node, URL: b.ClientURL(), Credentials: c,
		OnError: func(err error) { assert.ErrorIs(t, err, nats.ErrAuthorization) }, // told if it comes back and is refused
	})
	b.Revoke(c.User)
	err := bus.Handle(p, do(access().Node, "get.state"), func(context.Context, struct{}) (any, error) { return nil, nil })
	require.ErrorIs(t, err, wire.ErrClosed)
}

// A connection that was let in while Revoke ran is ended by it, not overlooked.
func TestRevokeOverlooksNoConnection(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	for range 20 {
		c := admit(t, b, access())
		var wg sync.WaitGroup
		in := make(chan struct{}, 8)
		for range 8 {
			wg.Go(func() {
				conn, err := nats.Connect(b.ClientURL(), nats.UserInfo(c.User, c.Password), nats.NoReconnect())
				in <- struct{}{}
				if err == nil {
					defer conn.Close()
					for conn.Flush() == nil { // ends when the broker ends it
					}
				}
			})
		}
		<-in
		b.Revoke(c.User)
		require.False(t, b.Connected(c.User))
		wg.Wait()
	}
}

func TestAdmitRefuses(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{NoListen: true})
	for want, change := range map[string]func(*bus.NodeAccess){
		`node name "s*"`:       func(a *bus.NodeAccess) { a.Node = "s*" },
		"no layout":            func(a *bus.NodeAccess) { a.Layout = nil },
		"port 256":             func(a *bus.NodeAccess) { a.Sends[0].FromPort = weft.MaxPorts },
		"s0:p1>s1:p0 does not": func(a *bus.NodeAccess) { a.Sends[1] = hop(0) },
		`node name ">"`:        func(a *bus.NodeAccess) { a.Hears[0].From = ">" },
		"s1:p1>s2:p0 does not": func(a *bus.NodeAccess) { a.Hears[1] = hop(1) },
	} {
		a := access()
		change(&a)
		_, err := b.Admit(a)
		require.ErrorContains(t, err, want)
	}
	_, err := (*bus.Broker)(nil).Admit(access())
	require.ErrorIs(t, err, bus.ErrOutsideBroker)
	require.ErrorContains(t, err, "its owner's business")
}

// With an nkey in its CONNECT a connection would be listed by that, and survive Revoke.
func TestBrokerRefusesTwoNames(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c := admit(t, b, access())
	for extra, want := range map[string]string{"": "PONG", `,"nkey":"UA"`: "-ERR"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(b.ClientURL(), "nats://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "CONNECT {\"verbose\":false,\"user\":%q,\"pass\":%q%s}\r\nPING\r\n", c.User,
			c.Password,
			extra)
		require.NoError(t, err)
		in := bufio.NewReader(conn)
		_, err = in.ReadString('\n') // INFO
		require.NoError(t, err)
		answer, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, answer, want, extra)
		require.NoError(t, conn.Close())
	}
}

// A process learns that its credentials are no more.
func TestControlEndsWhenRevoked(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	b := bustest.Broker(t, bus.BrokerConfig{})
	c := admit(t, b, access())
	refused := make(chan error, 8)
	control, err := bus.NewServer(bus.ServerConfig{
		Fabric: "lab", Node: "s1", URL: b.ClientURL(), Credentials: c, OnError: func(err error) { refused <- err },
	})
	require.NoError(t, err)
	require.True(t, b.Connected(c.User))
	b.Revoke(c.User)
	<-control.Done()
	require.True(t, errors.Is(<-refused, nats.ErrAuthorization))
	require.ErrorIs(t, control.Publish("x", 1), wire.ErrClosed)
	require.NoError(t, control.Close())
}
