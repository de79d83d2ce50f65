package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestMain(m *testing.M) {
	testenv.MostlyWaits()
	goleak.VerifyTestMain(m)
}

// startServer is a NATS server as others run it.
func startServer(t *testing.T, jetStream bool) string {
	t.Helper()
	var config []string
	if jetStream {
		config = append(config, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	}
	return natstest.Start(t, natstest.Newest, config...).URL
}

// hosts stands in for hosts: they do nothing until they are told to end.
type madeHosts struct {
	mu   sync.Mutex
	made []host.Spec
	fail error
}

func (p *madeHosts) run(ctx context.Context, c host.Spec, ready func()) error {
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

func (p *madeHosts) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.made)
}

// agent is one that runs in this test.
type agent struct {
	madeHosts
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
		ended <- cluster.RunAgent(ctx,
			cluster.AgentConfig{Name: name, URL: url, Version: v, Room: room, Run: a.run, Note: a.note})
	}()
	a.kill = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(a.kill)
	rig.Until(t, func() bool {
		select {
		case err := <-ended:
			ended <- err
			require.NoError(t, err)
		default:
		}
		return len(a.notes()) > 0
	})
	return a
}

func dial(t *testing.T, url string) *bus.Client {
	t.Helper()
	return bustest.Client(t, bus.ClientConfig{Leads: true, URL: url, Program: "test", Build: v1})
}

func openStore(t testing.TB, url string) *bus.Store {
	t.Helper()
	return bustest.Store(t, bus.StoreConfig{URL: url})
}

var errMade = errors.New("no such firmware")

// servers is a cluster of three NATS servers, which keeps a store on all of them.
type servers struct {
	t       testing.TB
	servers []*natstest.Server
}

func startCluster(t testing.TB) *servers {
	t.Helper()
	c := &servers{t: t}
	const n = 3
	var ports, routes [n]int
	var urls []string
	for i := range n {
		ports[i], routes[i] = rig.FreePort(t), rig.FreePort(t)
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", routes[i]))
	}
	for i := range n {
		dir := t.TempDir()
		config := fmt.Sprintf(`server_name: s%d
listen: "127.0.0.1:%d"
ping_interval: "1s"
ping_max: 2
cluster { name: weft, listen: "127.0.0.1:%d", ping_interval: "500ms", routes: [ %s ] }
jetstream { store_dir: %q }
`, i, ports[i], routes[i], strings.Join(urls, ", "), dir)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "nats.conf"), []byte(config), 0o600))
		c.servers = append(c.servers, natstest.StartIn(t, natstest.Newest, dir, "127.0.0.1", ports[i]))
	}
	for copies := 0; copies < n; { // until they have found each other
		s, err := bus.OpenStore(t.Context(), bus.StoreConfig{Fabric: "lab", URL: c.urls()})
		if err == nil {
			copies = s.Copies()
			s.Close()
			require.Equal(t, n, copies)
		}
	}
	return c
}

func (c *servers) urls() string {
	var all []string
	for _, s := range c.servers {
		all = append(all, s.URL)
	}
	return strings.Join(all, ",")
}

func (c *servers) store() *bus.Store { return openStore(c.t, c.urls()) }

// killWriter kills the server that writes, which is the last to have said that it does.
func (c *servers) killWriter() *natstest.Server {
	c.t.Helper()
	var writer *natstest.Server
	last := ""
	for _, s := range c.servers {
		for line := range strings.Lines(s.Output()) {
			if _, said, ok := strings.Cut(line, "] "); ok &&
				strings.Contains(said, "new stream leader for '$G > KV_weft-lab'") && said > last {
				writer, last = s, said
			}
		}
	}
	require.NotNil(c.t, writer)
	writer.Kill()
	return writer
}

// writes waits until the store takes a write.
func (c *servers) writes(s *bus.Store) {
	c.t.Helper()
	rig.Until(c.t, func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		defer cancel()
		return s.Put(ctx, "test", nil) == nil
	})
}
