package bus_test

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/switch/wire"
)

// plainServer is a NATS server as others run it, in this process.
func plainServer(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(patience))
	return s.ClientURL()
}

func service(t *testing.T, url, name string) *bus.Service {
	t.Helper()
	s, err := bus.NewService(bus.ServiceConfig{Name: name, URL: url, Version: "1.0.0+x", Metadata: map[string]string{"name": name}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func dialAgents(t *testing.T, url string) *bus.Agents {
	t.Helper()
	a, err := bus.DialAgents(bus.AgentsConfig{URL: url, Program: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func TestAgentsAreFoundAndAsked(t *testing.T) {
	t.Parallel()
	url := plainServer(t)
	a := dialAgents(t, url)
	all := func([]bus.AgentFound) bool { return false }
	found, err := a.Discover(t.Context(), all)
	require.NoError(t, err)
	require.Empty(t, found)
	require.ErrorIs(t, a.Ask(t.Context(), "h1", "parts", nil, nil), bus.ErrNoAgent)

	one := service(t, url, "h1.example.net")
	require.NoError(t, one.Serve("parts", func(_ context.Context, req []byte) (any, error) { return "heard " + string(req), nil }))
	require.ErrorContains(t, one.Serve("parts", nil), "served already")
	require.NoError(t, one.Serve("host", func(context.Context, []byte) (any, error) { return nil, errors.New("no room") }))
	service(t, url, "h2")
	found, err = a.Discover(t.Context(), all)
	require.NoError(t, err)
	names := map[string]string{}
	for _, f := range found {
		names[f.Metadata["name"]] = f.Version
	}
	require.Equal(t, map[string]string{"h1.example.net": "1.0.0+x", "h2": "1.0.0+x"}, maps.Clone(names))
	began := time.Now()
	_, err = a.Discover(t.Context(), func(f []bus.AgentFound) bool { return len(f) == 2 })
	require.NoError(t, err)
	require.Less(t, time.Since(began), 250*time.Millisecond, "it waits for no others")

	var answer string
	require.NoError(t, a.Ask(t.Context(), "h1.example.net", "parts", 7, &answer))
	require.Equal(t, "heard 7", answer)
	err = a.Ask(t.Context(), "h1.example.net", "host", nil, nil)
	require.ErrorIs(t, err, bus.ErrAgentRefused)
	require.ErrorContains(t, err, "agent h1.example.net: host: the agent refuses: no room")
	require.ErrorIs(t, a.Ask(t.Context(), "h2", "parts", nil, nil), bus.ErrNoAgent, "it serves nothing")
	require.NoError(t, one.Close())
	require.ErrorIs(t, a.Ask(t.Context(), "h1.example.net", "parts", nil, nil), bus.ErrNoAgent)
	require.ErrorIs(t, one.Serve("drop", nil), wire.ErrClosed)
}

func TestAnAgentThatIsStuckIsToldFromOneThatIsGone(t *testing.T) {
	t.Parallel()
	url := plainServer(t)
	s := service(t, url, "h1")
	var ended atomic.Bool
	require.NoError(t, s.Serve("parts", func(ctx context.Context, _ []byte) (any, error) {
		<-ctx.Done()
		ended.Store(true)
		return nil, ctx.Err()
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := dialAgents(t, url).Ask(ctx, "h1", "parts", nil, nil)
	require.ErrorIs(t, err, bus.ErrSilent)
	require.NotContains(t, err.Error(), "context deadline exceeded")
	require.NoError(t, s.Close())
	require.True(t, ended.Load(), "Close waits for the handler")
}

func TestNamesThatAreNotThoseOfAgentsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := bus.NewService(bus.ServiceConfig{Name: "a b", URL: "nats://127.0.0.1:1"})
	require.ErrorIs(t, err, wire.ErrName)
	require.ErrorContains(t, err, `agent name "a b"`)
	require.ErrorContains(t, bus.ValidateFabric("agent"), "choose another")
	_, err = bus.DialAgents(bus.AgentsConfig{URL: "nats://127.0.0.1:1", Program: "test"})
	require.ErrorContains(t, err, "no broker answers at nats://127.0.0.1:1")
	s, err := bus.ParseSubject("weft.agent.h1_net.host")
	require.NoError(t, err)
	require.Equal(t, bus.Subject{Kind: bus.SubjectAgent, Node: "h1.net", Verb: "host"}, s)
	require.Equal(t, "weft.agent.h1_net.host", s.String())
}
