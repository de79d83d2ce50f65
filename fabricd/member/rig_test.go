package member_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/outside"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/linkmon/fault"
	"github.com/weft-fabric/weft/linkmon/liveness"
	"github.com/weft-fabric/weft/nic"
)

const (
	patience  = 30 * time.Second // for what must happen; only a failing test waits so long
	smallTree = "kary-ntree:2,3" // 12 switches, 8 NICs
	configEnv = "WEFT_TEST_SWITCH"
)

// The test binary is also the switch process: it is one when it is given a configuration.
func TestMain(m *testing.M) {
	if text := os.Getenv(configEnv); text != "" {
		os.Exit(beSwitch(text))
	}
	goleak.VerifyTestMain(m)
}

// identity is how a test tells a process what to be.
type identity struct {
	Fabric, URL, Switch string
	Credentials         bus.Credentials
}

func beSwitch(text string) int {
	var as identity
	if err := json.Unmarshal([]byte(text), &as); err != nil {
		fmt.Println(err)
		return 3
	}
	c := member.Config{Fabric: as.Fabric, URL: as.URL, Switch: as.Switch, Credentials: as.Credentials}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.Attached = func(member.Charter) { fmt.Println("attached") }
	if err := member.Run(ctx, c); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("left")
	return 0
}

// patient is more so than the default, for processes under the race detector on a machine that is shared.
var patient = liveness.Config{Interval: 200 * weft.Millisecond, Multiplier: 5}

// lab is a running fabric that takes processes.
type lab struct {
	*testing.T
	fabric   *fabric.Fabric
	operator identity    // but for the switch
	broker   *bus.Broker // nil: outside
	server   *outside.Server
}

type option func(*fabric.Options)

func with(fw string) option {
	return func(o *fabric.Options) {
		o.Firmware, o.Switch.VCs, _ = subnet.Firmware(fw, o.Topology)
		o.Processes.Firmware = fw
	}
}

func record(r fabric.Recorder) option { return func(o *fabric.Options) { o.Record = r } }

// start starts a fabric over an embedded broker, or an outside one.
func start(t *testing.T, embedded bool, options ...option) *lab {
	t.Helper()
	l := &lab{T: t, operator: identity{Fabric: "lab"}}
	links := bus.NATSConfig{Fabric: "lab"}
	peers := bus.PeersConfig{Fabric: "lab"}
	control := bus.ControlConfig{Fabric: "lab"}
	if embedded {
		b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "lab"})
		require.NoError(t, err)
		t.Cleanup(b.Shutdown)
		l.broker, links.Broker, peers.Broker, control.Broker = b, b, b, b
		l.operator.URL, l.operator.Credentials = b.ClientURL(), b.Credentials(bus.RoleOperator)
	} else {
		l.server = outside.Start(t, outside.Newest)
		links.URL, peers.URL, control.URL, l.operator.URL = l.server.URL, l.server.URL, l.server.URL, l.server.URL
	}
	transport, err := bus.NewNATS(links)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, transport.Close()) })
	p, err := bus.NewPeers(peers)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	c, err := bus.NewControl(control)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	g, err := topology.Parse(smallTree)
	require.NoError(t, err)
	o := fabric.Options{
		Topology: g, Transport: transport, Seed: 1, Link: fabric.LinkOptions{Rate: 1_000_000, Liveness: patient},
		NIC:       fabric.NICOptions{QueueBytes: 16 << 10},
		Processes: &fabric.ProcessOptions{Fabric: "lab", Peers: p, Broker: l.broker},
	}
	for _, f := range append([]option{with("adaptive-link")}, options...) {
		f(&o)
	}
	l.fabric, err = fabric.New(o)
	require.NoError(t, err)
	_, err = api.NewServer(l.fabric, c, api.Info{Name: "lab"})
	require.NoError(t, err)
	require.NoError(t, l.fabric.Start(t.Context()))
	t.Cleanup(l.fabric.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			for _, e := range l.fabric.Events().Kept(0) {
				if s := e.Story(); s != "" {
					t.Logf("%.3f %s", e.At, s)
				} else {
					t.Logf("%.3f %s %s %s %s", e.At, e.Kind, e.Link, e.Node, e.Detail)
				}
			}
		}
	})
	return l
}

// onBoth runs a test over an embedded broker and over one that is not ours.
func onBoth(t *testing.T, test func(t *testing.T, embedded bool)) {
	for name, embedded := range map[string]bool{"embedded": true, "outside": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, embedded)
		})
	}
}

// switchProcess is a process of its own.
type switchProcess struct {
	*testing.T
	cmd  *exec.Cmd
	out  *output
	done chan struct{} // closed when it has ended
}

type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// launch starts a process for a switch. It is killed with the test.
func (l *lab) launch(c identity) *switchProcess {
	l.Helper()
	text, err := json.Marshal(c)
	require.NoError(l, err)
	p := &switchProcess{T: l.T, cmd: exec.Command(os.Args[0]), out: &output{}, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), configEnv+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	require.NoError(l, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	l.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// be starts a process for a switch and waits until it is that.
func (l *lab) be(name string) *switchProcess {
	l.Helper()
	c := l.operator
	c.Switch = name
	p := l.launch(c)
	p.says("attached")
	return p
}

func (p *switchProcess) says(what string) {
	p.Helper()
	require.Eventually(p, func() bool { return strings.Contains(p.out.String(), what) || p.ended() }, patience, time.Millisecond)
	require.Contains(p, p.out.String(), what)
}

func (p *switchProcess) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ends waits for its end and returns its exit code and what it said.
func (p *switchProcess) ends() (code int, said string) {
	p.Helper()
	require.Eventually(p, p.ended, patience, time.Millisecond, "%s", p.out)
	return p.cmd.ProcessState.ExitCode(), p.out.String()
}

func (p *switchProcess) signal(s syscall.Signal) {
	p.Helper()
	require.NoError(p, p.cmd.Process.Signal(s))
}

// kill ends it at once, and returns when it has ended.
func (p *switchProcess) kill() {
	p.Helper()
	p.signal(syscall.SIGKILL)
	p.ends()
}

// event waits for an event of a kind after one with the number, and returns its number.
func (l *lab) event(after uint64, kind string) fabric.Event {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	for {
		e, err := l.fabric.Events().After(ctx, after)
		require.NoError(l, err, "no event %s", kind)
		if e.Kind == kind {
			return e
		}
		after = e.Seq
	}
}

func (l *lab) last() uint64 { return l.fabric.Events().Last() }

func (l *lab) load() {
	l.Helper()
	require.NoError(l, l.fabric.SetTraffic(must(nic.ParseTraffic("uniform:0.3"))))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// more waits until n more packets are delivered.
func (l *lab) more(n uint64) {
	l.Helper()
	before := l.fabric.Totals().Delivered
	require.Eventually(l, func() bool { return l.fabric.Totals().Delivered >= before+n }, patience, time.Millisecond)
}

// crosses waits until n more packets have gone through a switch.
func (l *lab) crosses(name string, n uint64) {
	l.Helper()
	id := must(l.fabric.Topology().SwitchByName(name))
	before := l.fabric.Switch(id).Stats.Forwarded
	require.Eventually(l, func() bool { return l.fabric.Switch(id).Stats.Forwarded >= before+n }, patience, 5*time.Millisecond)
}

// settle stops the traffic and requires that every packet is accounted for, with what the faults account for.
func (l *lab) settle() fabric.Ledger {
	l.Helper()
	require.NoError(l, l.fabric.StopTraffic())
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	ledger, err := l.fabric.Quiesce(ctx)
	for ctx.Err() == nil && err != nil {
		stuck, is := errors.AsType[*fabric.StuckError](err)
		require.True(l, is && len(stuck.Cycle) == 0, "%v", err)
		ledger, err = l.fabric.Quiesce(ctx) // so loaded is this machine at times that nothing moves for a moment
	}
	require.NoError(l, err, "%v", l.fabric.CreditsHome())
	require.True(l, ledger.Balanced, "%+v", ledger)
	require.Zero(l, ledger.InFlight)
	require.NoError(l, l.fabric.CreditsHome())
	var lost [3]uint64
	for _, r := range l.fabric.Faults() {
		lost[0], lost[1], lost[2] = lost[0]+r.LostWire, lost[1]+r.LostQueued, lost[2]+r.LostCrash
	}
	wire, queued := l.unrelated(ledger)
	assert.Equal(l, [3]uint64{ledger.LostWire - wire, ledger.LostQueued - queued, ledger.LostCrash}, lost, "what the reports say is lost: %+v", ledger)
	assert.Zero(l, l.fabric.Totals().Duplicated)
	return ledger
}

// unrelated is what was lost on links that no fault has touched: on a machine that stands still for a second their ends take
// each other for dead.
func (l *lab) unrelated(ledger fabric.Ledger) (wire, queued uint64) {
	touched := map[string]bool{}
	for _, r := range l.fabric.Faults() {
		touched[r.Target] = true
	}
	g := l.fabric.Topology()
	for name, lost := range ledger.LostOn {
		k := must(g.LinkByName(name))
		if !touched[name] && !touched[g.Name(k.A.Node)] && !touched[g.Name(k.B.Node)] {
			l.Logf("%s lost %+v by itself", name, lost)
			wire, queued = wire+lost.Wire, queued+lost.Queued
		}
	}
	return wire, queued
}

// allPairs sends a packet from every NIC to every other and requires that all arrive.
func (l *lab) allPairs() {
	l.Helper()
	before := l.settle().Delivered
	nics := weft.NICID(len(l.fabric.Topology().NICs))
	for src := range nics {
		for dst := range nics {
			if src != dst {
				must(l.fabric.Send(src, dst, true))
			}
		}
	}
	require.EqualValues(l, nics*(nics-1), l.settle().Delivered-before)
}

// fresh waits until every re-route vector has expired.
func (l *lab) fresh() {
	l.Helper()
	require.Eventually(l, func() bool {
		for _, s := range l.fabric.Topology().Switches {
			if slices.ContainsFunc(l.fabric.Switch(s.ID).Registers, isSet) {
				return false
			}
		}
		return true
	}, patience, 10*time.Millisecond)
}

func (l *lab) do(specs ...fault.Spec) []fabric.Outcome {
	l.Helper()
	out, err := l.fabric.Apply(l.Context(), specs...)
	require.NoError(l, err)
	return out
}

// allUp requires that every link is up.
func (l *lab) allUp() {
	l.Helper()
	require.Eventually(l, func() bool { return len(l.fabric.LinksDown()) == 0 }, patience, 5*time.Millisecond)
}
