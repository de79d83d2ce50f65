package member_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// A process makes its firmware, with tables, by the name of the routing: it is that of the rest of
// the fabric.
func TestASwitchOfEachTierAsAProcessCarriesAllPairsAndIsHandedBack(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for i, fw := range []string{
		"adaptive-link", "deterministic-link", "updown", "escape",
		"mroots:layers=2,seed=3",
	}[:testenv.Levels(5, 3, 1)] {
		tier := i % 3
		t.Run(fmt.Sprint(fw, " tier ", tier), func(t *testing.T) {
			t.Parallel()
			l := start(t, i%2 == 0, with(fw))
			name := fmt.Sprintf("s%d.10", tier)
			p := l.startSwitch(name)
			l.Fresh()
			before := l.Fabric.PacketHops()
			l.allPairs()
			assert.Greater(t, l.Fabric.PacketHops(), before)
			id := must(l.Fabric.Topology().SwitchByName(name))
			through := l.Fabric.Switch(id).Stats.Forwarded
			assert.NotZero(t, through, "some went through the process")

			after := l.last()
			p.Signal(syscall.SIGTERM)
			code, said := p.Ends()
			assert.Zero(t, code, said)
			assert.Contains(t, said, "left")
			l.event(after, fabric.EventProcessLeft)
			assert.Equal(t, through, l.Fabric.Switch(id).Stats.Forwarded, "what it has counted stays")
			l.AllUp()
			l.Fresh()
			l.allPairs()
			assert.Greater(t, l.Fabric.Switch(id).Stats.Forwarded, through)
			for _, r := range l.Fabric.Faults() {
				assert.Equal(t, fabric.KindHandover, r.Kind)
			}
		})
	}
}

func TestAProcessKilledUnderLoadIsRoutedAroundAndStartedAgain(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	tried := attack.Tally(t, "switch processes killed under load")
	onBoth(t, func(t *testing.T, embedded bool) {
		if embedded {
			testenv.Long(t)
		}
		l := start(t, embedded)
		const name = "s1.00"
		p := l.startSwitch(name)
		l.Load("uniform:0.05")
		for range testenv.N(2, 1) {
			l.crosses(name, 200)
			after := l.last()
			p.Kill()
			tried.Add(1)
			e := l.event(after, fabric.EventProcessFailed)
			require.NotNil(t, e.Fault)
			assert.Equal(t, "process", e.Fault.Kind)
			assert.Equal(t, name, e.Fault.Target)
			assert.Contains(t, e.Fault.What, "process of s1.00 is gone")
			if assert.Len(t, e.Fault.Detected, 4, "its neighbours") {
				for _, d := range e.Fault.Detected {
					assert.Contains(t, []string{fault.ByProcess, fault.BySilence}, d.How)
					assert.Less(t, d.AfterSeconds, 5.)
				}
			}
			assert.Equal(t, []string{name}, l.Fabric.CrashedSwitches())
			assert.Equal(t, [][]string{{name}, nil}, absentEnds(l.Fabric, name))
			gone := func() bool { return len(l.Fabric.SwitchProcesses()) == 0 } // just after the event
			rig.Until(t, gone, "the process is listed no more")
			l.More(200)
			p = l.startSwitch(name)
			l.AllUp()
		}
		ledger := l.settle()
		assert.Equal(t, ledger.Lost, ledger.LostWire+ledger.LostQueued+ledger.LostCrash)
		l.Fresh()
		l.allPairs()

		// Killed once more, it is taken back by the fabric.
		l.Load("uniform:0.05")
		l.crosses(name, 100)
		after := l.last()
		p.Kill()
		tried.Add(1)
		l.event(after, fabric.EventProcessFailed)
		l.Do(fault.Spec{Do: fault.VerbRestart, A: name})
		l.AllUp()
		l.crosses(name, 100)
		l.settle()
		l.Fresh()
		l.allPairs()
	})
}

// absentEnds are the failed and suspect switches at the ends of the first link of a switch.
func absentEnds(f *fabric.Fabric, name string) [][]string {
	for _, l := range f.LinkStates() {
		if l.A == name || l.B == name {
			return [][]string{l.Dead, l.Suspect}
		}
	}
	return nil
}

func TestAStoppedProcessIsRoutedAroundAndComesBack(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := start(t, false)
	const name = "s0.00"
	p := l.startSwitch(name)
	l.Load("uniform:0.05")
	const frozen = 3
	for range frozen - 1 {
		l.crosses(name, 100)
		after := l.last()
		p.Signal(rig.Freeze)
		e := l.event(after, fabric.EventProcessSuspect)
		assert.Equal(t, "process", e.Fault.Kind)
		assert.Contains(t, e.Fault.What, "does not answer")
		took := rig.Fastest(func() { assert.NotZero(t, l.Fabric.Ledger().Injected) })
		assert.Less(t, took, 200*time.Millisecond, "nobody waits for it")
		rig.Until(t, func() bool { return len(l.Fabric.Faults()[e.Fault.ID-1].Detected) == 2 })
		l.More(200)
		assert.False(t, l.Fabric.SwitchProcesses()[0].Answers)
		assert.Equal(t, [][]string{nil, {name}}, absentEnds(l.Fabric, name))
		p.Signal(rig.Thaw)
		l.event(after, fabric.EventProcessBack)
		l.AllUp()
		assert.True(t, l.Fabric.SwitchProcesses()[0].Answers)
		assert.Equal(t, [][]string{nil, nil}, absentEnds(l.Fabric, name))
		report := l.Fabric.Faults()[e.Fault.ID-1]
		assert.NotZero(t, report.RestoredAt)
		assert.Len(t, report.Detected, 2)
		for _, d := range report.Detected {
			assert.Contains(t, []string{fault.BySilence, fault.ByNeighbour}, d.How)
		}
	}
	assert.False(t, p.Ended())
	l.crosses(name, 100)
	l.settle()
	l.Fresh()
	l.allPairs()

	// Killed while it is stopped, it is one fault, not two.
	after := l.last()
	p.Signal(rig.Freeze)
	silent := l.event(after, fabric.EventProcessSuspect)
	p.Kill()
	lost := l.event(after, fabric.EventProcessFailed)
	assert.Equal(t, silent.Fault.ID, lost.Fault.ID)
	attack.Count(t, "a switch process frozen under load, and killed while it is frozen", frozen+1)
}

func TestASecondProcessForASwitchIsRefusedAndTheFirstUnharmed(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, true)
	const name = "s2.01"
	p := l.startSwitch(name)
	refused := func(hint string) {
		c := l.operator
		c.Switch = name
		code, said := rig.Launch(t, c).Ends()
		assert.Equal(t, 1, code)
		assert.Contains(t, said, "another process is this switch: process "+fmt.Sprint(p.PID)+" on ")
		assert.Contains(t, said, hint)
	}
	before := l.last()
	refused("end that first")
	l.AllUp()
	l.allPairs()
	for _, e := range l.Fabric.Events().Since(before) {
		assert.NotContains(t, []string{fabric.KindHandover, fabric.EventLinkDown, fabric.EventProcessFailed}, e.Kind)
	}
	p.Signal(rig.Freeze)
	refused("does not answer just now")
	after := l.event(before, fabric.EventProcessSuspect).Seq
	p.Signal(rig.Thaw)
	l.event(after, fabric.EventProcessBack)
	l.AllUp()
	l.allPairs()
}

func TestWhatIsNoSwitchAndWhoMayNotJoinIsToldSo(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, true)
	c := l.operator
	c.Switch = "s1.0"
	code, said := rig.Launch(t, c).Ends()
	assert.Equal(t, 1, code)
	assert.Contains(t, said, `unknown switch "s1.0": did you mean "s1.00"`)

	c.Switch, c.Credentials = "s1.00", bus.Credentials{User: "operator", Password: "wrong"}
	code, said = rig.Launch(t, c).Ends()
	assert.Equal(t, 1, code)
	assert.Contains(t, said, "refuses user operator: give credentials that it knows")

	c.Credentials = l.Broker.Credentials(bus.RoleViewer)
	code, said = rig.Launch(t, c).Ends()
	assert.Equal(t, 1, code)
	assert.Contains(t, said, "user viewer: not permitted")

	c.URL = "nats://127.0.0.1:1"
	code, said = rig.Launch(t, c).Ends()
	assert.Equal(t, 1, code)
	assert.Contains(t, said, "no broker answers at nats://127.0.0.1:1")
	l.AllUp()
	l.allPairs()
	assert.Empty(t, l.Fabric.Faults())

	custom := start(t, true, func(o *fabric.Options) { o.Processes.Routing = "" })
	c = custom.operator
	c.Switch = "s1.00"
	code, said = rig.Launch(t, c).Ends()
	assert.Equal(t, 1, code)
	assert.Contains(t, said, "has no name by which a process could make it")
	custom.AllUp()
}

func TestProcessesEndWithTheFabric(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, true)
	a, b := l.startSwitch("s0.00"), l.startSwitch("s1.00")
	l.Load("uniform:0.05")
	l.crosses("s1.00", 100)
	ledger := l.settle()
	l.Fabric.Stop()
	for _, p := range []*rig.Process{a, b} {
		code, said := p.Ends()
		assert.Equal(t, 1, code)
		assert.Contains(t, said, "told to end: fabric lab has been stopped")
	}
	assert.Equal(t, ledger, l.Fabric.Ledger(), "the counters can still be read")
}

// hops counts the decisions that switches tell of, and the packets that they drop.
type hops struct {
	mu    sync.Mutex
	at    map[weft.SwitchID]int
	drops int
}

func (h *hops) Record(_ weft.Time, _ weft.Node, a *weft.Actions) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hop := range a.Hops {
		h.at[hop.Switch]++
	}
	h.drops += len(a.Drops)
}

func (h *hops) of(id weft.SwitchID) (hops, drops int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at[id], h.drops
}

func TestAProcessTellsOfEveryTracedPacketAndEveryDrop(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	seen := &hops{at: map[weft.SwitchID]int{}}
	l := start(t, true, record(seen))
	const name = "s2.00"
	id := must(l.Fabric.Topology().SwitchByName(name))
	l.startSwitch(name)
	l.Fresh()
	before, _ := seen.of(id)
	decided := l.Fabric.Switch(id).Stats.Forwarded
	l.allPairs()
	decided = l.Fabric.Switch(id).Stats.Forwarded - decided
	require.NotZero(t, decided)
	rig.Until(t, func() bool {
		n, _ := seen.of(id)
		return uint64(n-before) == decided
	})

	l.Load("uniform:0.05")
	l.crosses(name, 100)
	l.Do(fault.Spec{Do: fault.VerbCrash, A: name})
	l.Do(fault.Spec{Do: fault.VerbRestart, A: name})
	ledger := l.settle()
	rig.Until(t, func() bool {
		_, n := seen.of(id)
		return uint64(n) == ledger.LostCrash+ledger.LostQueued+ledger.Discarded
	}, "%+v", ledger)
}

func TestAProcessOutlivesItsBrokerAndEndsWhenThatStaysAway(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := start(t, false)
	const name, returns = "s1.00", 2
	p := l.startSwitch(name)
	l.Load("uniform:0.05")
	for range returns {
		l.crosses(name, 50)
		l.server.Kill()
		rig.Until(t, func() bool { return len(l.Fabric.LinksDown()) > 12 })
		l.server.Start()
		l.AllUp()
	}
	l.crosses(name, 50)
	assert.Empty(t, l.Fabric.CrashedSwitches())
	require.NoError(t, l.Fabric.StopTraffic())
	rig.Until(t, func() bool {
		ledger := l.Fabric.Ledger()
		return ledger.Balanced && ledger.InFlight == 0
	})
	l.server.Kill()
	code, said := p.Ends()
	assert.Equal(t, 1, code)
	assert.Contains(t, said, "the fabric is gone: it has asked nothing for 10 s")
	attack.Count(t, "the NATS server of a switch process killed under load", returns+1)
}

func TestAProcessThatDoesNotAttachCanBeReplacedByTheFabric(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, true)
	c := must(l.Fabric.Join(host.JoinRequest{Switch: "s1.00", PID: 17, Host: "far"}))
	for _, p := range l.Fabric.Switch(must(l.Fabric.Topology().SwitchByName("s1.00"))).Ports {
		assert.Less(t, p.Mine, c.Epoch, "neighbours take lower epochs for old frames")
	}
	_, err := l.Fabric.Join(host.JoinRequest{Switch: "s1.00", PID: 18, Host: "far"})
	require.ErrorIs(t, err, fabric.ErrHeld)
	require.ErrorContains(t, err, "process 17 on far is about to join")
	require.ErrorContains(t, l.Fabric.Attach(t.Context(), host.AttachRequest{Switch: "s1.00", Number: c.Number}),
		"cannot reach process")
	assert.Empty(t, l.Fabric.CrashedSwitches(), "the fabric's own emulation goes on")
	require.NoError(t, l.Fabric.Leave(t.Context(), host.AttachRequest{Switch: "s1.00", Number: c.Number}))
	require.ErrorContains(t, l.Fabric.Attach(t.Context(), host.AttachRequest{Switch: "s1.00", Number: c.Number}),
		"join again")
	l.AllUp()
	l.allPairs()
	l.startSwitch("s1.00")
	l.Fresh()
	l.allPairs()
}

func TestATracedPacketTellsItsWayThroughAProcess(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, true) // nobody records
	const name = "s2.00"
	l.startSwitch(name)
	l.Fresh()
	g := l.Fabric.Topology()
	order, err := l.Fabric.Trace(must(g.NICByName("n000")), must(g.NICByName("n111")), 3)
	require.NoError(t, err)
	require.Equal(t, 3, order.Sent)
	hops, ended, after := 0, 0, order.After
	rig.Until(t, func() bool {
		views, last, _ := l.Fabric.Hops(after)
		after = last
		for _, v := range views {
			if v.Node == name {
				hops++
				assert.Len(t, v.Candidates, 2)
				assert.NotEmpty(t, v.Rule)
			}
			if v.End == fabric.EndDelivered {
				ended++
			}
		}
		return ended == 3 && hops == 3 // what a process tells may be late
	})
}
