package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/outside"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/part"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second // for what must happen; only a failing test waits so long

// startServer is a NATS server as others run it.
func startServer(t *testing.T, jetStream bool) string {
	t.Helper()
	var config []string
	if jetStream {
		config = append(config, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	}
	return outside.Start(t, outside.Newest, config...).URL
}

// parts stands in for parts: they do nothing until they are told to end.
type parts struct {
	mu   sync.Mutex
	made []part.Charter
	fail error
}

func (p *parts) run(ctx context.Context, c part.Charter, ready func()) error {
	p.mu.Lock()
	p.made = append(p.made, c)
	fail := p.fail
	p.mu.Unlock()
	if fail != nil {
		return fail
	}
	ready()
	<-ctx.Done()
	return nil
}

func (p *parts) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.made)
}

// agent is one that runs in this test.
type agent struct {
	parts
	kill func() // and waits
	mu   sync.Mutex
	said []string
}

func (a *agent) note(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, s)
}

func (a *agent) notes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.said...)
}

var v1 = bus.Build{Protocol: bus.Protocol, Revision: "abc"}

func startAgent(t *testing.T, url, name string, room cluster.Room, v bus.Build) *agent {
	t.Helper()
	a := &agent{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- cluster.RunAgent(ctx, cluster.AgentConfig{Name: name, URL: url, Version: v, Room: room, Run: a.run, Note: a.note})
	}()
	a.kill = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(a.kill)
	require.Eventually(t, func() bool {
		select {
		case err := <-ended:
			ended <- err
			require.NoError(t, err)
		default:
		}
		return len(a.notes()) > 0
	}, patience, time.Millisecond)
	return a
}

func dial(t *testing.T, url string) *bus.Client {
	t.Helper()
	a, err := bus.Dial(bus.ClientConfig{Leads: true, URL: url, Program: "test", Build: v1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func openStore(t *testing.T, url string) *bus.Store {
	t.Helper()
	s, err := bus.OpenStore(t.Context(), bus.StoreConfig{Fabric: "lab", URL: url})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

var errMade = errors.New("no such firmware")
