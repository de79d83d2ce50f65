package member_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

const smallTree = "kary-ntree:2,3" // 12 switches, 8 NICs

// The test binary is also the switch process.
func TestMain(m *testing.M) {
	rig.Be(hosttest.RunProcess)
	if !testenv.Race { // under it processes compute more than they wait
		testenv.MostlyWaits()
	}
	goleak.VerifyTestMain(m)
}

// lab is a running fabric that takes processes.
type lab struct {
	*live.Lab
	operator hosttest.Process // but for the switch
	server   *natstest.Server // nil: the broker is in this process
}

type option func(*fabric.Options)

func with(fw string) option {
	return func(o *fabric.Options) {
		o.Firmware, o.Switch.VCs, _ = subnet.Firmware(context.Background(), fw, o.Topology)
		o.Processes.Routing = fw
	}
}

func record(r fabric.Recorder) option { return func(o *fabric.Options) { o.Record = r } }

// start starts a fabric over an embedded broker, or an outside one.
func start(t *testing.T, embedded bool, options ...option) *lab {
	t.Helper()
	l := &lab{operator: hosttest.Process{Fabric: live.Name}}
	c := live.Config{Topology: smallTree, Routing: "adaptive-link"}
	for _, o := range options {
		c.Options = append(c.Options, o)
	}
	if !embedded {
		l.server = natstest.Start(t, natstest.Newest)
		c.URL, l.operator.URL = l.server.URL, l.server.URL
	}
	l.Lab = live.Start(t, c)
	if embedded {
		l.operator.URL, l.operator.Credentials = l.Broker.ClientURL(), l.Broker.Credentials(bus.RoleOperator)
	}
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

// startSwitch starts a process for a switch and waits until it is that.
func (l *lab) startSwitch(name string) *rig.Process {
	l.Helper()
	c := l.operator
	c.Switch = name
	p := rig.Launch(l.T, c)
	p.Says("attached")
	return p
}

// event waits for an event of a kind after one with the number, and returns its number.
func (l *lab) event(after uint64, kind string) fabric.Event {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), rig.Patience)
	defer cancel()
	for {
		e, err := l.Fabric.Events().After(ctx, after)
		require.NoError(l, err, "no event %s", kind)
		if e.Kind == kind {
			return e
		}
		after = e.Seq
	}
}

func (l *lab) last() uint64 { return l.Fabric.Events().Last() }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// crosses waits until n more packets have gone through a switch.
func (l *lab) crosses(name string, n uint64) {
	l.Helper()
	id := must(l.Fabric.Topology().SwitchByName(name))
	before := l.Fabric.Switch(id).Stats.Forwarded
	rig.Until(l, func() bool { return l.Fabric.Switch(id).Stats.Forwarded >= before+n })
}

// settle is Settle, and requires that the faults account for what was lost.
func (l *lab) settle() fabric.Ledger {
	l.Helper()
	ledger := l.Settle()
	rig.Until(l, func() bool { return l.Fabric.CreditsHome() == nil }, "credits come home") // a slow process answers later
	var lost [3]uint64
	for _, r := range l.Fabric.Faults() {
		lost[0], lost[1], lost[2] = lost[0]+r.LostWire, lost[1]+r.LostQueued, lost[2]+r.LostCrash
	}
	wire, queued := l.unrelated(ledger)
	assert.Equal(l, [3]uint64{ledger.LostWire - wire, ledger.LostQueued - queued, ledger.LostCrash}, lost,
		"what the reports say is lost: %+v", ledger)
	assert.Zero(l, l.Fabric.Totals().Duplicated)
	return ledger
}

// unrelated is what was lost on links that no fault has touched: on a machine that stands still for
// a second their ends take each other for dead.
func (l *lab) unrelated(ledger fabric.Ledger) (wire, queued uint64) {
	touched := map[string]bool{}
	for _, r := range l.Fabric.Faults() {
		touched[r.Target] = true
	}
	g := l.Fabric.Topology()
	for name, lost := range ledger.LostOn {
		k := must(g.LinkByName(name))
		if !touched[name] && !touched[g.Name(k.A.Node)] && !touched[g.Name(k.B.Node)] {
			l.Logf("%s lost %+v by itself", name, lost)
			wire, queued = wire+lost.Wire, queued+lost.Queued
		}
	}
	return wire, queued
}

func (l *lab) allPairs() {
	l.Helper()
	l.AllPairs(l.settle)
}
