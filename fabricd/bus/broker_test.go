package bus_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/harness/rig"
)

// The server enforces what a role may do, whatever client it uses.
func TestBrokerPermissions(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	link := subjectOf(hop(0), 2)
	cases := []struct {
		role      bus.Role
		publish   map[string]bool
		subscribe map[string]bool
	}{
		{
			bus.RoleFabric,
			map[string]bool{
				link: true, "weft.lab.ctl.cut": true, "weft.lab.ev.cut": true, "weft.other.ctl.cut": true,
				"other": true,
			},
			map[string]bool{"weft.lab.l.>": true, "weft.other.>": false, ">": false, "$SYS.>": false},
		},
		{
			bus.RoleOperator,
			map[string]bool{
				link: false, "weft.lab.ctl.cut": true, "weft.lab.ctl.get.status": true, "weft.lab.ev.cut": false,
				"_INBOX.weft-viewer.x": false, "weft.lab.sw.s0.do.x": false, "weft.lab.sw.s0.tell.x": false,
			},
			map[string]bool{
				"weft.lab.ev.>": true, "weft.lab.l.>": true, "weft.other.l.>": false, "weft.lab.ctl.>": false,
				"_INBOX.weft-operator.x": true, "_INBOX.>": false, "weft.lab.sw.s0.do.x": false,
				"weft.lab.sw.*.tell.>": false,
			},
		},
		{
			bus.RoleViewer,
			map[string]bool{
				link: false, "weft.lab.ctl.cut": false, "weft.lab.ctl.get.status": true, "weft.lab.ctl.get": false,
				"weft.lab.ev.cut": false, "weft.lab.sw.s0.do.x": false, "weft.lab.sw.s0.tell.x": false,
			},
			map[string]bool{
				"weft.lab.ev.>": true, "weft.lab.l.>": true, "weft.other.l.>": false, ">": false,
				"_INBOX.weft-viewer.x": true, "_INBOX.weft-operator.>": false, "weft.lab.sw.>": false,
			},
		},
	}
	for _, c := range cases {
		conn := outsideConn(t, b, c.role, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		probe(t, conn, c.role.String(), c.publish, c.subscribe)
	}
}

// probe tries subjects and compares what the broker lets conn do with what it should.
func probe(t *testing.T, conn *nats.Conn, who string, publish, subscribe map[string]bool) {
	t.Helper()
	try := func(allowed bool, what, subject string, do func() error) {
		t.Helper()
		before := conn.LastError()
		require.NoError(t, do())
		require.NoError(t, conn.Flush()) // the broker answers in order: a denial comes before the flush's answer
		err := conn.LastError()
		if allowed {
			require.Equal(t, before, err, "%s must be able to %s %s", who, what, subject)
			return
		}
		require.NotEqual(t, before, err, "%s may %s %s", who, what, subject)
		require.ErrorIs(t, err, nats.ErrPermissionViolation)
		require.ErrorContains(t, err, subject)
	}
	for subject, ok := range publish {
		try(ok, "publish", subject, func() error { return conn.Publish(subject, []byte("x")) })
	}
	for subject, ok := range subscribe {
		try(ok, "subscribe", subject, func() error {
			_, err := conn.SubscribeSync(subject)
			return err
		})
	}
}

func TestBrokerRefusesStrangers(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	_, err := nats.Connect(b.ClientURL())
	require.ErrorIs(t, err, nats.ErrAuthorization)
	_, err = nats.Connect(b.ClientURL(), nats.UserInfo("fabric", "guess"))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	_, err = bus.Dial(bus.ClientConfig{Fabric: "lab", URL: b.ClientURL()})
	require.ErrorContains(t, err, "it wants to know who we are: give --user")
}

func TestBrokerListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	require.True(t, strings.HasPrefix(b.ClientURL(), "nats://127.0.0.1:"), b.ClientURL())
	require.Equal(t, "lab", b.Fabric())
	require.Empty(t, bustest.Broker(t, bus.BrokerConfig{NoListen: true}).ClientURL())
}

func TestBrokerPortInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = bus.StartBroker(bus.BrokerConfig{Fabric: "lab", Listen: l.Addr().String()})
	require.ErrorIs(t, err, bus.ErrPortInUse)
	require.ErrorContains(t, err, l.Addr().String())
}

func TestBrokerConfigErrors(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]bus.BrokerConfig{
		"fabric name":     {Fabric: ""},
		"want host:port":  {Fabric: "lab", Listen: "4222"},
		"0 to 65535":      {Fabric: "lab", Listen: "127.0.0.1:99999"},
		"name the host":   {Fabric: "lab", Listen: ":4222"},
		"Error listening": {Fabric: "lab", Listen: "192.0.2.1:0"},
	} {
		_, err := bus.StartBroker(cfg)
		require.ErrorContains(t, err, want)
	}
}

func TestCredentialsKeepTheirSecret(t *testing.T) {
	t.Parallel()
	a, b := bustest.Broker(t, bus.BrokerConfig{NoListen: true}), bustest.Broker(t, bus.BrokerConfig{NoListen: true})
	c := a.Credentials(bus.RoleViewer)
	require.NotEqual(t, c.Password, b.Credentials(bus.RoleViewer).Password, "made for one run")
	require.NotContains(t, fmt.Sprintf("%v %+v %s", c, c, c.LogValue()), c.Password)
	require.Equal(t, bus.Credentials{}, a.Credentials(0))
}

// A request may not borrow the rights of the fabric by asking for the answer on a link or on a
// verb.
func TestControlAnswersInboxesOnly(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	errs := make(chan error, 8)
	c := bustest.Server(t, bus.ServerConfig{Fabric: "lab", Broker: b, OnError: func(err error) { errs <- err }})
	require.NoError(t, bus.Handle(c, ctl("get.status"),
		func(context.Context, struct{}) (string, error) { return "fine", nil }))
	heard := make(chan *nats.Msg, 8)
	_, err := outsideConn(t, b, bus.RoleFabric).ChanSubscribe("weft.lab.ctl.cut", heard)
	require.NoError(t, err)
	viewer := outsideConn(t, b, bus.RoleViewer)
	require.NoError(t, viewer.PublishRequest("weft.lab.ctl.get.status", "weft.lab.ctl.cut", nil))
	require.ErrorContains(t, rig.Next(t, errs), `the reply subject "weft.lab.ctl.cut" is no inbox`)
	require.Empty(t, heard)
}
