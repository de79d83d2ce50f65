package leader_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// move begins to move the switch to its host of its own.
func (l *leaderRig) move() []string {
	return l.takes(weft.Millisecond, leader.MoveBegins{
		Move: leader.Move{Switch: l.moved, Number: 5, From: own, To: alone, FromLife: 1, ToLife: 2}, What: "s0.0 moves",
	})
}

// A switch runs where it moves to from the decision on. Its links get carrier when it has come, and
// what was ordered for it meanwhile is done there.
func TestASwitchMoves(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	l.alone(t, "s0.0")
	require.Equal(t, []string{"Checkpoint{}", "Changed{}"}, l.move())
	require.True(t, l.Host(alone).Runs)
	require.Equal(t, 1, l.Moving(l.moved).Incident)
	link := l.link(t, "s0.0-s1.0")
	require.Equal(t, [2]bool{false, true}, l.Links[link.ID].Carrier, "its neighbours wait for it")

	l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbCut, A: link.Name}}})
	repaired := l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestore, A: link.Name}}})
	require.Contains(t, repaired,
		"orders; host 4: restore s0.0-s1.0> s0.0-s1.0<; host 2: restore s0.0-s1.0> s0.0-s1.0< up s1.0:2 up s1.0:2")
	require.Equal(t, [2]bool{false, true}, l.Links[link.ID].Carrier)

	come := l.takes(weft.Millisecond, leader.MoveEnds{Switch: l.moved})
	assert.Equal(t, []string{
		"publish handover s0.0 #1", "Checkpoint{}",
		"orders; host 4: up s0.0:0 up s0.0:1 restart s0.0; host 2: up s1.0:2; host 3: up s1.1:2", "Changed{}",
		"Begun{Action:3}",
	}, come)
	require.Nil(t, l.Moving(l.moved))
	require.Equal(t, [2]bool{true, true}, l.Links[link.ID].Carrier)
	l.takes(0, leader.Acted{Action: 3})
	l.takes(0, leader.Finished{Action: 3})
	require.NotZero(t, l.Incident(1).Report.RestoredAt)
	require.Zero(t, l.Crashed[l.moved])
	require.Nil(t, l.Step(l.now, leader.MoveEnds{Switch: l.moved}), "it is over")
}

// A switch that has come, and has its carrier by a leader that ended before that was checkpointed,
// keeps it under the next leader. One that has not come is given none.
func TestASwitchThatHasComeKeepsItsCarrierUnderTheNextLeader(t *testing.T) {
	t.Parallel()
	for _, come := range []bool{false, true} {
		l := lead(t)
		l.comesUp()
		l.alone(t, "s0.0")
		l.move()
		link := l.link(t, "s0.0-s1.0")
		var has []weft.End
		if come {
			has = []weft.End{link.A}
		}
		e := l.Step(l.now, leader.Resync{Host: alone, Applied: &leader.Applied{Carrier: has}})
		taken := leader.Carrier{End: link.A}
		require.Equal(t, !come, slices.Contains(e[0].(leader.ResyncOrder).Order.Carrier, taken))
		require.NotContains(t, l.takes(0, leader.Sync{Links: []weft.LinkID{link.ID}})[0], "down")
		require.Equal(t, [2]bool{come, true}, l.Links[link.ID].Carrier)
		l.takes(0, leader.MoveEnds{Switch: l.moved})
		require.Equal(t, [2]bool{true, true}, l.Links[link.ID].Carrier)
	}
}

// A switch that crashes on its way is crashed where it comes to, and gets no carrier.
func TestASwitchCrashesOnItsWay(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	l.alone(t, "s0.0")
	l.move()
	l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbCrash, A: "s0.0"}}})
	require.Contains(t, l.takes(0, leader.MoveEnds{Switch: l.moved}), "orders; host 4: crash s0.0")
	require.Contains(t, l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestart, A: "s0.0"}}}),
		"orders; host 4: up s0.0:0 up s0.0:1 restart s0.0; host 2: up s1.0:2; host 3: up s1.1:2")
}

// A switch whose host of its own is lost is its home's again: that is told to take it when it
// answers and does not know, but not while the switch is down.
func TestAMovedSwitchWhoseHostIsLostIsItsHomesAgain(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	l.alone(t, "s0.0")
	l.move()
	l.takes(0, leader.MoveEnds{Switch: l.moved})
	l.takes(0, leader.HostFailed{Host: alone, What: "it is gone"})
	l.takes(0, leader.HostAnswers{Host: alone, Suspect: true})
	l.takes(0, leader.HostLeft{Host: alone})
	require.False(t, l.Host(alone).Runs)
	takes := func() []weft.SwitchID {
		e := l.Step(l.now, leader.Resync{Host: own, Applied: &leader.Applied{Away: []weft.SwitchID{l.moved}}})
		return e[0].(leader.ResyncOrder).Order.Take
	}
	require.Empty(t, takes())
	l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestart, A: "s0.0"}}})
	require.Equal(t, []weft.SwitchID{l.moved}, takes())
	require.Equal(t, own, ledger.HostID(l.Ledger.State().Switches[l.moved]))
}

// A home that fails, and comes back, while one of its switches is elsewhere is a neighbour of that
// switch: their links go down with it, and come up again.
func TestAHomeFailsWhileItsSwitchIsElsewhere(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	l.alone(t, "s1.0")
	l.takes(0, leader.MoveBegins{Move: leader.Move{Switch: l.moved, Number: 5, From: east, To: alone}})
	l.takes(0, leader.MoveEnds{Switch: l.moved})
	leaf := l.link(t, "s1.0-n00")
	require.Equal(t, [2]bool{true, true}, l.Links[leaf.ID].Carrier)

	lost := l.takes(0, leader.HostFailed{Host: east, What: "it is gone"})
	require.Equal(t, [2]bool{}, l.Links[leaf.ID].Carrier)
	require.Contains(t, lost[0], "down s1.0:0 down s1.0:1", "the switch loses the links to its NICs")
	l.Step(l.now, leader.HostAnswers{Host: east})
	l.takes(0, leader.Resync{Host: east})
	require.Contains(t, fmt.Sprint(l.takes(0, leader.HostBack{Host: east})), "up s1.0:0")
	require.Equal(t, [2]bool{true, true}, l.Links[leaf.ID].Carrier)
}
