package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/switch/wire"
)

func openControl(t *testing.T, b *bus.Broker) *bus.Control {
	t.Helper()
	c, err := bus.NewControl(bus.ControlConfig{Fabric: "lab", Broker: b, OnError: func(err error) { t.Error(err) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func dial(t *testing.T, b *bus.Broker, role bus.Role) *bus.Client {
	t.Helper()
	c, err := bus.Dial(bus.ClientConfig{Fabric: "lab", URL: b.ClientURL(), Credentials: b.Credentials(role), Program: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

type link struct {
	A string `json:"a"`
	B string `json:"b"`
}

func TestControlRequests(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	c := openControl(t, b)
	require.NoError(t, c.Serve("cut", func(_ context.Context, req []byte) (any, error) {
		var l link
		if err := json.Unmarshal(req, &l); err != nil {
			return nil, fmt.Errorf("cut: %w", err)
		}
		if l.B == "" {
			return nil, errors.New("no such link s0-; did you mean s0-s1?")
		}
		return link{l.B, l.A}, nil
	}))
	require.NoError(t, c.Serve("get.names", func(_ context.Context, req []byte) (any, error) {
		require.Empty(t, req)
		return []string{"s0", "s1"}, nil
	}))
	require.NoError(t, c.Serve("get.broken", func(context.Context, []byte) (any, error) { return func() {}, nil }))
	require.ErrorContains(t, c.Serve("cut", nil), "served already")
	require.ErrorIs(t, c.Serve("Cut", nil), wire.ErrName)

	ctx := context.Background()
	operator, viewer := dial(t, b, bus.RoleOperator), dial(t, b, bus.RoleViewer)
	var got link
	require.NoError(t, operator.Request(ctx, "cut", link{"s0", "s1"}, &got))
	require.Equal(t, link{"s1", "s0"}, got)
	require.NoError(t, operator.Request(ctx, "cut", link{"s0", "s1"}, nil))

	err := operator.Request(ctx, "cut", link{A: "s0"}, &got)
	require.ErrorIs(t, err, bus.ErrRefused)
	require.ErrorContains(t, err, "did you mean s0-s1?")
	require.ErrorIs(t, operator.Request(ctx, "get.broken", nil, nil), bus.ErrRefused)

	var names []string
	require.NoError(t, viewer.Request(ctx, "get.names", nil, &names))
	require.Equal(t, []string{"s0", "s1"}, names)
	require.ErrorContains(t, viewer.Request(ctx, "get.names", nil, &got), "answer to get.names")

	// A viewer that tries to cut is told at once, not after a timeout.
	err = viewer.Request(ctx, "cut", link{"s0", "s1"}, nil)
	require.ErrorIs(t, err, bus.ErrDenied)
	require.ErrorContains(t, err, "user viewer")
	require.ErrorIs(t, operator.Request(ctx, "get.nothing", nil, nil), bus.ErrNoFabric)
	require.ErrorIs(t, operator.Request(ctx, "x y", nil, nil), wire.ErrName)
}

func TestControlCloseWaitsForHandlers(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	c := openControl(t, b)
	begun, ended := make(chan struct{}), false
	require.NoError(t, c.Serve("get.slow", func(ctx context.Context, _ []byte) (any, error) {
		close(begun)
		<-ctx.Done()
		ended = true
		return nil, errors.New("the fabric is going down")
	}))
	client := dial(t, b, bus.RoleViewer)
	answer := make(chan error, 1)
	go func() { answer <- client.Request(context.Background(), "get.slow", nil, nil) }()
	<-begun
	require.NoError(t, c.Close())
	require.True(t, ended)
	require.ErrorContains(t, <-answer, "going down")
	require.ErrorIs(t, c.Serve("get.more", nil), wire.ErrClosed)
	require.ErrorIs(t, c.Publish("more", 1), wire.ErrClosed)
	require.ErrorIs(t, client.Request(context.Background(), "get.slow", nil, nil), bus.ErrNoFabric)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	b := startBroker(t, bus.BrokerConfig{})
	c := openControl(t, b)
	viewer := dial(t, b, bus.RoleViewer)
	all, err := viewer.Subscribe("", 10)
	require.NoError(t, err)
	few, err := viewer.Subscribe("link.cut", 2)
	require.NoError(t, err)
	for i := range 5 {
		require.NoError(t, c.Publish("link.cut", link{A: fmt.Sprint(i)}))
	}
	require.NoError(t, c.Publish("status", "fine"))
	require.ErrorIs(t, c.Publish("*", "fine"), wire.ErrName)
	require.ErrorContains(t, c.Publish("status", func() {}), "event status")

	ctx, cancel := context.WithTimeout(context.Background(), patience)
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
	require.ErrorIs(t, viewer.Request(ctx, "get.x", nil, nil), wire.ErrClosed)
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
	b := startBroker(t, bus.BrokerConfig{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = dial(t, b, bus.RoleViewer).Request(ctx, "get.status", nil, nil)
	require.ErrorIs(t, err, bus.ErrNoFabric)
	require.ErrorContains(t, err, "is up, but no fabric")
}
