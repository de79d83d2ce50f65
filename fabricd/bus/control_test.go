package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/wire"
)

func openControl(t *testing.T, b *bus.Broker) *bus.Server {
	t.Helper()
	c := bustest.Server(t, bus.ServerConfig{Fabric: "lab", Broker: b, OnError: func(err error) { t.Error(err) }})
	return c
}

func dial(t *testing.T, b *bus.Broker, role bus.Role) *bus.Client {
	t.Helper()
	c := bustest.Client(t, bus.ClientConfig{
		Fabric: "lab", URL: b.ClientURL(), Credentials: b.Credentials(role),
		Program: "test",
	})
	return c
}

func ctl(verb string) bus.Subject { return bus.Subject{Kind: bus.SubjectControl, Verb: verb} }

func do(node, verb string) bus.Subject {
	return bus.Subject{Kind: bus.SubjectSwitch, Node: node, Verb: verb}
}

func toAgent(name, verb string) bus.Subject {
	return bus.Subject{Kind: bus.SubjectAgent, Node: name, Verb: verb}
}

// request asks, and drops the answer.
func request(ctx context.Context, c *bus.Client, verb string, in any) error {
	return call(ctx, c, ctl(verb), in)
}

func call(ctx context.Context, c *bus.Client, to bus.Subject, in any) error {
	_, err := bus.Call[struct{}](ctx, c, to, in)
	return err
}

type cutRequest struct {
	A string `json:"a"`
	B string `json:"b"`
}

func TestControlRequests(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c := openControl(t, b)
	require.NoError(t, bus.Handle(c, ctl("cut"), func(ctx context.Context, l cutRequest) (cutRequest, error) {
		if l.B == "" {
			return cutRequest{}, errors.New("no such link s0-; did you mean s0-s1?")
		}
		require.Contains(t, bus.RequesterOf(ctx).Name, fmt.Sprintf("test, process %d on host ", os.Getpid()))
		return cutRequest{l.B, l.A}, nil
	}))
	require.NoError(t, bus.Handle(c, ctl("get.names"), func(_ context.Context, req json.RawMessage) ([]string, error) {
		require.Empty(t, req)
		return []string{"s0", "s1"}, nil
	}))
	require.NoError(t, bus.Handle(c, ctl("get.broken"),
		func(context.Context, struct{}) (any, error) { return func() {}, nil }))
	require.ErrorContains(t, bus.Handle[any, any](c, ctl("cut"), nil), "served already")
	require.ErrorIs(t, bus.Handle[any, any](c, ctl("Cut"), nil), wire.ErrName)

	ctx := context.Background()
	operator, viewer := dial(t, b, bus.RoleOperator), dial(t, b, bus.RoleViewer)
	got, err := bus.Call[cutRequest](ctx, operator, ctl("cut"), cutRequest{"s0", "s1"})
	require.NoError(t, err)
	require.Equal(t, cutRequest{"s1", "s0"}, got)
	require.NoError(t, request(ctx, operator, "cut", cutRequest{"s0", "s1"}))

	err = request(ctx, operator, "cut", cutRequest{A: "s0"})
	require.ErrorIs(t, err, reply.ErrRefused)
	require.ErrorContains(t, err, "did you mean s0-s1?")
	require.ErrorIs(t, request(ctx, operator, "get.broken", nil), reply.ErrRefused)
	require.ErrorContains(t, request(ctx, operator, "cut", []int{1}),
		"malformed request: a JSON array instead of an object")

	names, err := bus.Call[[]string](ctx, viewer, ctl("get.names"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"s0", "s1"}, names)
	_, err = bus.Call[cutRequest](ctx, viewer, ctl("get.names"), nil)
	require.ErrorContains(t, err, "ask get.names of fabric \"lab\": the answer: ")

	// A viewer that tries to cut is told at once, not after a timeout.
	err = request(ctx, viewer, "cut", cutRequest{"s0", "s1"})
	require.ErrorIs(t, err, reply.ErrDenied)
	require.ErrorContains(t, err, "user viewer")
	require.ErrorIs(t, request(ctx, operator, "get.nothing", nil), reply.ErrNobody)
	require.ErrorIs(t, request(ctx, operator, "x y", nil), wire.ErrName)
}

func TestControlCloseWaitsForHandlers(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c := openControl(t, b)
	begun, ended := make(chan struct{}), false
	require.NoError(t, bus.Handle(c, ctl("get.slow"), func(ctx context.Context, _ struct{}) (any, error) {
		close(begun)
		<-ctx.Done()
		ended = true
		return nil, errors.New("the fabric is going down")
	}))
	client := dial(t, b, bus.RoleViewer)
	answer := make(chan error, 1)
	go func() { answer <- request(context.Background(), client, "get.slow", nil) }()
	<-begun
	require.NoError(t, c.Close())
	require.True(t, ended)
	require.ErrorContains(t, <-answer, "going down")
	require.ErrorIs(t, bus.Handle[any, any](c, ctl("get.more"), nil), wire.ErrClosed)
	require.ErrorIs(t, c.Publish("more", 1), wire.ErrClosed)
	require.ErrorIs(t, request(context.Background(), client, "get.slow", nil), reply.ErrNobody)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c := openControl(t, b)
	viewer := dial(t, b, bus.RoleViewer)
	all, err := viewer.Subscribe("", 10)
	require.NoError(t, err)
	few, err := viewer.Subscribe("link.cut", 2)
	require.NoError(t, err)
	for i := range 5 {
		require.NoError(t, c.Publish("link.cut", cutRequest{A: fmt.Sprint(i)}))
	}
	require.NoError(t, c.Publish("status", "fine"))
	require.ErrorIs(t, c.Publish("*", "fine"), wire.ErrName)
	require.ErrorContains(t, c.Publish("status", func() {}), "event status")

	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	for i := range 5 {
		n, err := all.Next(ctx)
		require.NoError(t, err)
		require.Equal(t, bus.Notice{Kind: "link.cut", Data: json.RawMessage(fmt.Sprintf(`{"a":"%d","b":""}`, i))}, n)
	}
	n, err := all.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, "status", n.Kind)

	// A buffer that is full loses events, and says how many.
	lost, err := few.Lost()
	require.NoError(t, err)
	require.Equal(t, uint64(3), lost)
	require.NoError(t, few.Close())

	stopped, stop := context.WithCancel(ctx)
	stop()
	_, err = all.Next(stopped)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, viewer.Close())
	_, err = all.Next(ctx)
	require.ErrorIs(t, err, wire.ErrClosed)
	_, err = viewer.Subscribe("", 1)
	require.ErrorIs(t, err, wire.ErrClosed)
	require.ErrorIs(t, request(ctx, viewer, "get.x", nil), wire.ErrClosed)
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	_, err := bus.Dial(bus.ClientConfig{Fabric: "lab", URL: "nats://127.0.0.1:1"})
	require.ErrorContains(t, err, "no broker answers at nats://127.0.0.1:1: does it run")
	_, err = bus.Dial(bus.ClientConfig{Fabric: "lab"})
	require.ErrorContains(t, err, "no address")
	_, err = bus.Dial(bus.ClientConfig{Fabric: "-", URL: "x"})
	require.ErrorIs(t, err, wire.ErrName)

	// A broker without its fabric: the request says so.
	b := bustest.Broker(t, bus.BrokerConfig{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = request(ctx, dial(t, b, bus.RoleViewer), "get.status", nil)
	require.ErrorIs(t, err, reply.ErrNobody)
	require.ErrorContains(t, err, "is up, but no fabric")
}
