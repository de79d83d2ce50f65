package member_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// balances drains a fabric in which processes are frozen, as Ctrl-C does. Packets may be left, and
// each is in one account.
func (l *lab) balances() fabric.Ledger {
	l.Helper()
	require.NoError(l, l.Fabric.StopTraffic())
	ledger, err := l.Fabric.Quiesce(l.Context())
	if err != nil {
		require.ErrorAs(l, err, new(*fabric.StuckError))
	}
	require.True(l, ledger.Balanced, "%+v", ledger)
	return ledger
}

// What a process has passed on between its last word and its freeze is delivered elsewhere, and is
// not under way to it any more.
func TestTheLedgerBalancesWhileAProcessIsFrozen(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	tried := attack.Tally(t, "a switch process frozen while the fabric is drained")
	for _, name := range []string{"s0.00", "s1.01", "s2.10"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t, true)
			p := l.startSwitch(name)
			for range 2 {
				l.Load("uniform:0.05")
				l.crosses(name, 100)
				after := l.last()
				p.Signal(rig.Freeze)
				tried.Add(1)
				l.event(after, fabric.EventProcessSuspect)
				l.More(200)
				l.balances()
				p.Signal(rig.Thaw)
				l.event(after, fabric.EventProcessBack)
				l.AllUp()
				l.settle()
			}
		})
	}
}

// Of two stopped neighbours that answer one after the other, what the first has received of the
// second is more than that is known to have sent.
func TestTheLedgerBalancesWhileTwoNeighboursAreFrozenAndAnswerOneAfterTheOther(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := start(t, true)
	a, b := l.startSwitch("s0.00"), l.startSwitch("s1.00")
	rounds := testenv.Levels(2, 1, 1)
	for i := range rounds {
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		l.Load("uniform:0.05")
		l.crosses("s0.00", 100)
		l.crosses("s1.00", 100)
		after := l.last()
		a.Signal(rig.Freeze)
		b.Signal(rig.Freeze)
		silent := l.event(after, fabric.EventProcessSuspect)
		l.event(silent.Seq, fabric.EventProcessSuspect)
		l.More(100)
		l.balances()
		first.Signal(rig.Thaw)
		l.event(after, fabric.EventProcessBack)
		ledger := l.balances()
		assert.False(t, ledger.Injected == 0)
		back := l.last()
		second.Signal(rig.Thaw)
		l.event(back, fabric.EventProcessBack)
		l.AllUp()
		l.settle()
	}
	attack.Seen(t, "neighbouring switch processes frozen while the fabric is drained", 2*rounds)
}

// A process that was stopped until its neighbours gave it up, and goes on, is one fault while it is
// stopped and none afterwards: the firmware bears it. Nothing is discarded, and what it held is
// delivered: no packet was queued for a link that it took for dead.
func TestAProcessThatWasStoppedDiscardsNothing(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, fw := range []string{"adaptive-switch", "deterministic-switch"}[:testenv.Levels(2, 1, 1)] {
		t.Run(fw, func(t *testing.T) {
			t.Parallel()
			l := start(t, true, with(fw))
			p := l.startSwitch("s1.00")
			id := must(l.Fabric.Topology().SwitchByName("s1.00"))
			l.Load("uniform:0.05")
			for range testenv.Levels(5, 2, 2) {
				l.crosses("s1.00", 100)
				p.Signal(rig.Freeze)
				rig.Until(t, func() bool { return len(l.Fabric.LinksDown()) == 4 })
				l.More(100)
				p.Signal(rig.Thaw)
				l.AllUp()
			}
			l.crosses("s1.00", 100)
			ledger := l.settle()
			assert.Zero(t, ledger.Discarded)
			assert.Zero(t, l.Fabric.Switch(id).Stats.LostQueue)
		})
	}
}
