package fabric_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	parts "github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/linkmon/fault"
	"github.com/weft-fabric/weft/nic"
)

// hosts are the agents of a test: goroutines that run parts, each with connections of its own.
type hosts struct {
	*testing.T
	base  bus.Credentials // how to connect, for those whose charter says only who
	url   string
	apart string // the part that has a way of its own to the broker,
	way   string // to this address,
	alone bool   // or is a process of its own:
	proc  *rig.Process

	mu      sync.Mutex
	running map[string]*hosted
	down    map[string]bool // agents that are not there
}

type hosted struct {
	end  context.CancelFunc
	over chan struct{}
}

func newHosts(t *testing.T) *hosts {
	h := &hosts{T: t, running: map[string]*hosted{}, down: map[string]bool{}}
	t.Cleanup(func() {
		for name := range h.running {
			h.kill(name)
		}
	})
	return h
}

// host is what fabric.Options.Host wants.
func (h *hosts) host(_ context.Context, name string, c parts.Charter) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[name] {
		return bus.ErrNoProcess
	}
	if r := h.running[name]; r != nil {
		select {
		case <-r.over:
		default:
			return parts.ErrRuns
		}
	}
	url := h.url
	if name == h.apart {
		url = h.way
		if h.alone {
			h.proc = rig.Launch(h.T, partProcess{c, h.url})
			return nil
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &hosted{cancel, make(chan struct{})}
	h.running[name] = r
	go func() {
		defer close(r.over)
		if err := parts.Run(ctx, parts.Config{Charter: c, URL: url, Credentials: h.base}); err != nil && ctx.Err() == nil {
			h.Errorf("part %s: %v", name, err)
		}
	}()
	return nil
}

// partProcess is how a test tells a process what part to be.
type partProcess struct {
	Charter parts.Charter
	URL     string
}

// be is such a process.
func (p partProcess) be(ctx context.Context) error {
	return parts.Run(ctx, parts.Config{Charter: p.Charter, URL: p.URL})
}

// kill ends a part without a word to its leader, and keeps its agent away.
func (h *hosts) kill(name string) {
	h.mu.Lock()
	r := h.running[name]
	h.down[name] = true
	h.mu.Unlock()
	if r != nil {
		r.end()
		<-r.over
	}
}

// back has the agent of a part come back.
func (h *hosts) back(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down[name] = false
}

// partLab is a running fabric of parts.
type partLab struct {
	*rig.Lab
	hosts *hosts
}

// inParts divides a topology: switch i and its NICs are in part i modulo n.
func inParts(g *topology.Graph, n int) []fabric.PartOptions {
	list := make([]fabric.PartOptions, n)
	for i := range list {
		list[i].Name = fmt.Sprintf("host%d", i)
	}
	for _, s := range g.Switches {
		p := &list[int(s.ID)%n]
		p.Switches = append(p.Switches, s.ID)
		for port := range weft.PortID(s.Ports) {
			if e, _, ok := g.Peer(weft.End{Node: s.ID.Node(), Port: port}); ok && !e.Node.IsSwitch() {
				p.NICs = append(p.NICs, weft.NICID(e.Node.Index))
			}
		}
	}
	for i := range list {
		slices.Sort(list[i].NICs)
	}
	return list
}

func startParts(t *testing.T, n int, options ...func(*fabric.Options)) *partLab {
	t.Helper()
	return startPartsOn(t, n, nil, nil, options...)
}

// startPartsOn starts a fabric with hosts as they are to be; to hears of the broker's address.
func startPartsOn(t *testing.T, n int, be func(h *hosts), to func(url string), options ...func(*fabric.Options)) *partLab {
	t.Helper()
	h := newHosts(t)
	if be != nil {
		be(h)
	}
	l := &partLab{hosts: h}
	l.Lab = rig.Start(t, rig.Config{Topology: smallTree, Routing: "adaptive-link", Options: append([]func(*fabric.Options){func(o *fabric.Options) {
		o.Parts, o.Host, o.Admitter = inParts(o.Topology, n), h.host, o.Processes.Broker
		h.url = o.Processes.Broker.ClientURL()
		if to != nil {
			to(h.url)
		}
	}}, options...)})
	return l
}

func (l *partLab) load(text string) {
	l.Helper()
	t, err := nic.ParseTraffic(text)
	require.NoError(l, err)
	require.NoError(l, l.Fabric.SetTraffic(t))
}

// more waits until n more packets are delivered.
func (l *partLab) more(n uint64) {
	l.Helper()
	before := l.Fabric.Totals().Delivered
	l.until("packets are delivered", func() bool { return l.Fabric.Totals().Delivered >= before+n })
}

func (l *partLab) until(what string, ok func() bool) {
	l.Helper()
	require.Eventually(l, ok, rig.Patience, 5*time.Millisecond, what)
}

// sound requires that every packet is accounted for, by the faults too, and that all pairs are connected.
func (l *partLab) sound() {
	l.Helper()
	l.Settle()
	assert.NoError(l, l.Fabric.LossesReported())
	assert.Empty(l, l.Fabric.LinksDown())
	l.AllPairs(l.Settle)
	assert.NoError(l, l.Fabric.CreditsHome())
}

// A fabric in parts does what one in a single process does: it carries traffic, reroutes at a cut, and its ledger is balanced.
func TestFabricOfParts(t *testing.T) {
	t.Parallel()
	l := startParts(t, 3)
	l.load("uniform:0.3")
	l.more(500)
	out := l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"}, fault.Spec{Do: fault.VerbCrash, A: "s0.01"})
	require.True(t, out[0].Fresh)
	l.more(500)
	assert.Contains(t, l.Fabric.CutLinks(), "s0.00-s1.00")
	assert.Equal(t, []string{"s0.01"}, l.Fabric.CrashedSwitches())
	assert.NotZero(t, l.Fabric.Totals().Rerouted)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.more(200)
	s := l.Fabric.NewSampler()
	l.until("single nodes are read", func() bool { s.Read(); return s.NIC(0).Stats.Delivered > 0 && s.Stats(0).Forwarded > 0 })
	assert.NotZero(t, l.Fabric.NIC(0).Stats.Delivered)
	assert.NotZero(t, l.Fabric.Latencies().TotalCount())
	l.sound()
}

// Cutting links of all kinds, impairing them and mending them while packets flow loses no account of any packet.
func TestPartsUnderFaults(t *testing.T) {
	t.Parallel()
	l := startParts(t, 2)
	l.load("uniform:0.3")
	l.more(100)
	names := []string{}
	for _, k := range betweenSwitches(l.Fabric.Topology()) {
		names = append(names, k.Name)
	}
	loss := fault.Impair{Loss: new(fault.Percent(20))}
	for i := range part(t, 6, 3) {
		l.Do(fault.Spec{Do: fault.VerbCut, A: names[i], Silent: i%2 == 1}, fault.Spec{Do: fault.VerbImpair, A: names[i+6], Impair: &loss})
		l.more(200)
		l.Do(fault.Spec{Do: fault.VerbHeal})
	}
	l.sound()
}

// The switches and NICs of a part that dies count as crashed, the others go on, and the ledger stays balanced; when its agent is back it
// is made anew and all is as before.
func TestPartThatDies(t *testing.T) {
	t.Parallel()
	l := startParts(t, 3)
	l.load("uniform:0.3")
	l.more(500)
	l.hosts.kill("host1")
	l.until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	l.more(300) // the others go on
	require.NoError(t, l.Fabric.StopTraffic())
	l.until("the ledger is balanced without it", func() bool { g := l.Fabric.Ledger(); return g.Balanced && g.InFlight == 0 })
	assert.NoError(t, l.Fabric.LossesReported())
	l.load("uniform:0.3")
	l.hosts.back("host1")
	l.until("it is back", func() bool { return len(l.Fabric.CrashedSwitches()) == 0 && len(l.Fabric.LinksDown()) == 0 })
	l.more(500)
	l.sound()
	r := l.Fabric.Faults()[0]
	assert.Equal(t, fabric.KindPart, r.Kind)
	assert.Equal(t, "host1", r.Target)
	assert.NotZero(t, r.RestoredAt)
	assert.Zero(t, l.Fabric.Totals().Duplicated)
}

// New tables come into force in parts, and in a part that is made anew.
func TestTablesOfParts(t *testing.T) {
	t.Parallel()
	l := startParts(t, 3, func(o *fabric.Options) {
		var err error
		o.Processes.Firmware = "ftree"
		o.Firmware, o.Switch.VCs, err = subnet.Firmware("ftree", o.Topology)
		require.NoError(t, err)
	})
	g := l.Fabric.Topology()
	link, err := g.LinkByName("s0.00-s1.00")
	require.NoError(t, err)
	l.load("uniform:0.3")
	l.more(100)
	l.Do(fault.Spec{Do: fault.VerbCut, A: link.Name})
	l.until("packets meet it", func() bool { return l.Fabric.Ledger().Discarded > 0 })
	require.Positive(t, upload(t, l.Fabric, 5, link))
	l.Settle()
	before := l.Fabric.Ledger().Discarded
	versions := l.Fabric.TableVersions()
	l.AllPairs(l.Settle)
	assert.Equal(t, before, l.Fabric.Ledger().Discarded, "they go round it")

	l.hosts.kill("host1")
	l.until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	l.hosts.back("host1")
	l.until("it is back", func() bool { return len(l.Fabric.LinksDown()) == 1 })
	assert.Equal(t, versions, l.Fabric.TableVersions())
	for _, s := range g.Switches {
		assert.Equal(t, versions[s.ID], l.Fabric.Switch(s.ID).Version, s.Name)
	}
	before = l.Fabric.Ledger().Discarded
	l.AllPairs(l.Settle)
	assert.Equal(t, before, l.Fabric.Ledger().Discarded, "it has the tables that it had")
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	l.load("uniform:0.3")
	l.more(100)
	l.Fabric.HoldNICs()
	_, err = l.Fabric.Drained(ctx)
	require.NoError(t, err)
	l.Fabric.ResumeNICs()
	l.more(100)
}

// A part that stands still is not waited for, and told what it has missed when it goes on; it has lost nothing by it.
func TestPartThatFreezes(t *testing.T) {
	t.Parallel()
	l := startPartsOn(t, 3, func(h *hosts) { h.apart, h.alone = "host1", true }, nil)
	l.load("uniform:0.3")
	l.more(300)
	l.hosts.proc.Signal(syscall.SIGSTOP)
	l.until("it is missed", func() bool { return l.Fabric.Parts()[1].State == fabric.SwitchQuiet })
	out := l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.10-s1.10"}, fault.Spec{Do: fault.VerbCrash, A: "s0.01"}) // which it does not hear
	require.True(t, out[0].Fresh)
	l.more(100) // the others go on
	l.hosts.proc.Signal(syscall.SIGCONT)
	l.until("it is back", func() bool { return l.Fabric.Parts()[1].State == fabric.SwitchUp })
	l.more(300)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.more(100)
	l.sound()
	l.hosts.proc.Kill()
	l.until("it is made anew", func() bool { return l.Fabric.Parts()[1].Again == 1 && len(l.Fabric.LinksDown()) == 0 })
	l.load("uniform:0.3")
	l.more(300)
	l.sound()
}

// A part that is out of reach counts as lost, goes on by itself, and is taken back as it is.
func TestPartOutOfReach(t *testing.T) {
	t.Parallel()
	w := newWay(t)
	l := startPartsOn(t, 3, func(h *hosts) { h.apart, h.way = "host1", w.url() }, w.to)
	l.load("uniform:0.3")
	l.more(300)
	number := l.Fabric.Parts()[1].Number
	w.cut()
	l.until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	l.more(200)                                                                                                   // the others go on
	out := l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.01-s1.01"}, fault.Spec{Do: fault.VerbCut, A: "s0.10-s1.10"}) // of two parts, and one is host1
	require.True(t, out[0].Fresh)
	require.NoError(t, l.Fabric.StopTraffic()) // which it does not hear
	w.restore()
	l.until("it is back", func() bool { return len(l.Fabric.CrashedSwitches()) == 0 && len(l.Fabric.LinksDown()) == 2 })
	assert.Equal(t, number, l.Fabric.Parts()[1].Number, "it has not been made anew")
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.load("uniform:0.3")
	l.more(300)
	l.sound()
}

// way is a way to a broker that can be cut.
type way struct {
	*testing.T
	listener net.Listener

	mu    sync.Mutex
	addr  string
	shut  bool
	conns []net.Conn
	wg    sync.WaitGroup
}

func newWay(t *testing.T) *way {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{T: t, listener: l}
	w.wg.Go(w.carry)
	t.Cleanup(func() {
		_ = l.Close()
		w.cut()
		w.wg.Wait()
	})
	return w
}

func (w *way) url() string { return "nats://" + w.listener.Addr().String() }

// to says where it leads.
func (w *way) to(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addr = strings.TrimPrefix(url, "nats://")
}

func (w *way) carry() {
	for {
		in, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		out, err := net.Dial("tcp", w.addr)
		if err != nil || w.shut {
			_ = in.Close()
			if err == nil {
				_ = out.Close()
			}
			w.mu.Unlock()
			continue
		}
		w.conns = append(w.conns, in, out)
		w.mu.Unlock()
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			w.wg.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_, _ = pair[0].Close(), pair[1].Close()
			})
		}
	}
}

// cut ends all connections, and lets none come again until restore.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = true
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func (w *way) restore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = false
}

// A leader that is gone leaves the parts as they are; the next one knows what the first knew, and goes on.
func TestAnotherLeader(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var kept []byte
	var options fabric.Options
	l := startParts(t, 2, func(o *fabric.Options) {
		o.Keep = func(s fabric.State) {
			data, err := json.Marshal(s)
			mu.Lock()
			defer mu.Unlock()
			assert.NoError(t, err)
			kept = data
		}
		options = *o
	})
	l.load("uniform:0.3")
	l.more(300)
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"}, fault.Spec{Do: fault.VerbCrash, A: "s0.01"})
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.10-s1.10", For: fault.Duration(3 * time.Second)})
	l.more(300)
	first := l.Fabric
	before := first.Faults()
	first.Detach()

	mu.Lock()
	var state fabric.State
	require.NoError(t, json.Unmarshal(kept, &state))
	mu.Unlock()
	peers, err := bus.NewPeers(bus.PeersConfig{Fabric: rig.Name, Broker: l.Broker})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, peers.Close()) })
	transport, err := bus.NewNATS(bus.NATSConfig{Fabric: rig.Name, Broker: l.Broker})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, transport.Close()) })
	process := *options.Processes
	process.Peers = peers
	options.Processes, options.Transport, options.Adopt, options.Keep = &process, transport, &state, nil
	next, err := fabric.New(options)
	require.NoError(t, err)
	l.Fabric = next
	require.NoError(t, l.Fabric.Start(t.Context()))
	t.Cleanup(l.Fabric.Stop)

	assert.GreaterOrEqual(t, l.Fabric.Now(), first.Now()-weft.Second)
	assert.Equal(t, first.Traffic(), l.Fabric.Traffic())
	assert.Contains(t, l.Fabric.CutLinks(), "s0.00-s1.00")
	assert.Equal(t, []string{"s0.01"}, l.Fabric.CrashedSwitches())
	after := l.Fabric.Faults()
	require.Len(t, after, len(before))
	for i := range after {
		assert.Equal(t, before[i].What, after[i].What)
		assert.GreaterOrEqual(t, after[i].Lost(), before[i].Lost())
	}
	l.more(300) // they have never stopped
	l.until("what was to end by itself has", func() bool { return !slices.Contains(l.Fabric.CutLinks(), "s0.10-s1.10") })
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.sound()
	cut := l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"})
	assert.Greater(t, cut[0].Fault.ID, len(before), "it has a number of its own")
}
