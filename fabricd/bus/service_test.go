package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
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
	require.True(t, s.ReadyForConnections(rig.Patience))
	return s.ClientURL()
}

func service(t *testing.T, url, name string) *bus.Server {
	t.Helper()
	s := bustest.Server(t, bus.ServerConfig{
		Agent: name, URL: url,
		Build: bus.Build{Protocol: bus.Protocol, Revision: "x"}, Metadata: map[string]string{"name": name},
	})
	return s
}

func dialAgents(t *testing.T, url string) *bus.Client {
	t.Helper()
	a := bustest.Client(t, bus.ClientConfig{Leads: true, URL: url, Program: "test"})
	return a
}

func TestAgentsAreFoundAndAsked(t *testing.T) {
	t.Parallel()
	url := plainServer(t)
	a := dialAgents(t, url)
	all := func([]bus.Found) bool { return false }
	found, err := a.Discover(t.Context(), bus.AgentService, all)
	require.NoError(t, err)
	require.Empty(t, found)
	require.ErrorIs(t, call(t.Context(), a, toAgent("h1", "status"), nil), reply.ErrNobody)

	one := service(t, url, "h1.example.net")
	require.NoError(t, bus.Handle(one, toAgent("", "status"),
		func(_ context.Context, n int) (string, error) { return fmt.Sprint("heard ", n), nil }))
	require.ErrorContains(t, bus.Handle[any, any](one, toAgent("", "status"), nil), "served already")
	require.NoError(t, bus.Handle(one, toAgent("", "host"),
		func(context.Context, struct{}) (any, error) { return nil, errors.New("no room") }))
	service(t, url, "h2")
	rig.Until(t, func() bool { // on a busy machine one may take far longer than the other
		found, err = a.Discover(t.Context(), bus.AgentService, all)
		require.NoError(t, err)
		return len(found) >= 2
	})
	names := map[string]string{}
	for _, f := range found {
		names[f.Metadata["name"]] = f.Version
	}
	require.Equal(t, map[string]string{"h1.example.net": "5.0.0+x", "h2": "5.0.0+x"}, names)
	require.Len(t, found, 2)
	found, err = a.Discover(t.Context(), bus.AgentService, func(f []bus.Found) bool { return len(f) == 1 })
	require.NoError(t, err)
	require.Len(t, found, 1, "it waits for no others")

	answer, err := bus.Call[string](t.Context(), a, toAgent("h1.example.net", "status"), 7)
	require.NoError(t, err)
	require.Equal(t, "heard 7", answer)
	err = call(t.Context(), a, toAgent("h1.example.net", "host"), nil)
	require.ErrorIs(t, err, reply.ErrRefused)
	require.ErrorContains(t, err, "ask host of agent h1.example.net: the agent refuses: no room")
	require.ErrorIs(t, call(t.Context(), a, toAgent("h2", "status"), nil), reply.ErrNobody, "it serves nothing")
	require.NoError(t, one.Close())
	require.ErrorIs(t, call(t.Context(), a, toAgent("h1.example.net", "status"), nil), reply.ErrNobody)
	require.ErrorIs(t, bus.Handle[any, any](one, toAgent("", "drop"), nil), wire.ErrClosed)
}

// Agents that a busy machine lets answer late are found: the first is waited for, and the second as
// long as the first took.
func TestAgentsThatAnswerLateAreFound(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := plainServer(t)
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	defer nc.Close()
	subject, err := micro.ControlSubject(micro.InfoVerb, bus.AgentService, "")
	require.NoError(t, err)
	late := func(after time.Duration, m *nats.Msg, id string, then func()) {
		time.AfterFunc(after, func() {
			_ = m.Respond([]byte(`{"id": "` + id + `"}`))
			then()
		})
	}
	_, err = nc.Subscribe(subject, func(m *nats.Msg) {
		late(600*time.Millisecond, m, "first", func() { late(350*time.Millisecond, m, "second", func() {}) })
	})
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	found, err := dialAgents(t, url).Discover(t.Context(), bus.AgentService,
		func(f []bus.Found) bool { return len(f) == 2 })
	require.NoError(t, err)
	require.Equal(t, []bus.Found{{ID: "first"}, {ID: "second"}}, found)
}

func TestAnAgentThatIsStuckIsToldFromOneThatIsGone(t *testing.T) {
	t.Parallel()
	url := plainServer(t)
	s := service(t, url, "h1")
	var asked, ended atomic.Bool
	require.NoError(t, bus.Handle(s, toAgent("", "status"), func(ctx context.Context, _ struct{}) (any, error) {
		asked.Store(true)
		<-ctx.Done()
		ended.Store(true)
		return nil, ctx.Err()
	}))
	a := dialAgents(t, url)
	var err error
	rig.Until(t, func() bool { // a busy machine may not get to ask in that time
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err = call(ctx, a, toAgent("h1", "status"), nil)
		return asked.Load()
	})
	require.ErrorIs(t, err, reply.ErrSilent)
	require.NoError(t, s.Close())
	require.True(t, ended.Load(), "Close waits for the handler")
}

func TestNamesThatAreNotThoseOfAgentsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := bus.NewServer(bus.ServerConfig{Agent: "a b", URL: "nats://127.0.0.1:1"})
	require.ErrorIs(t, err, wire.ErrName)
	require.ErrorContains(t, err, `agent name "a b"`)
	require.ErrorContains(t, bus.ValidateFabric("agent"), "choose another")
	_, err = bus.Dial(bus.ClientConfig{Leads: true, URL: "nats://127.0.0.1:1", Program: "test"})
	require.ErrorContains(t, err, "no broker answers at nats://127.0.0.1:1")
	s, err := bus.ParseSubject("weft.agent.h1_net.host")
	require.NoError(t, err)
	require.Equal(t, bus.Subject{Kind: bus.SubjectAgent, Node: "h1.net", Verb: "host"}, s)
	require.Equal(t, "weft.agent.h1_net.host", s.String())
}
