package leader_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// Figures are shared with the faults that were counted at the same time. Those that are counted no
// more are not among them.
func TestOnlyFaultsThatAreCountedAtTheSameTimeShareFigures(t *testing.T) {
	t.Parallel()
	l := lead(t)
	actions := 0
	do := func(after weft.Time, verb fault.Verb, link string) {
		l.takes(after, leader.Apply{Specs: []fault.Spec{{Do: verb, A: link}}})
		actions++
		l.takes(0, leader.Finished{Action: actions})
	}
	do(0, fault.VerbCut, "s0.0-s1.0")
	do(0, fault.VerbRestore, "s0.0-s1.0")
	do(ledger.Settle/2, fault.VerbCut, "s0.0-s1.1") // while what the first does is counted
	do(0, fault.VerbRestore, "s0.0-s1.1")
	l.takes(ledger.Settle/2, leader.Tick{})
	do(0, fault.VerbCut, "s0.1-s1.0") // while what the second does is counted, and the first no more
	l.takes(ledger.Settle/2, leader.Tick{})
	do(0, fault.VerbCut, "s0.1-s1.1") // while the third lasts
	var with [][]int
	for _, r := range l.Reports(l.now, 0) {
		with = append(with, r.SharedWith)
	}
	assert.Equal(t, [][]int{{2}, {1, 3}, {2, 4}, {3}}, with)
}

// What connections suffered is in the report while the fault is counted, and shared as other
// figures are.
func TestAReportHasWhatConnectionsSufferedWhileItIsCounted(t *testing.T) {
	t.Parallel()
	l := lead(t)
	tell := func(id, count int) {
		l.takes(0, leader.Suffered{Incident: id, Connections: fault.Connections{Count: count}})
	}
	l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbCut, A: "s0.0-s1.0"}}})
	tell(1, 1)
	assert.Empty(t, l.Reports(l.now, 0)[0].Shared)
	l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbCut, A: "s0.0-s1.1"}}})
	tell(1, 2)
	tell(7, 1) // there is none
	list := l.Reports(l.now, 0)
	assert.Equal(t, 2, list[0].Connections.Count)
	assert.Contains(t, list[0].Shared, "connections")
	assert.Nil(t, list[1].Connections)
	assert.NotContains(t, list[1].Shared, "connections")
	l.takes(0, leader.Apply{Specs: []fault.Spec{{Do: fault.VerbHeal}}})
	l.takes(0, leader.Finished{Action: 3})
	l.takes(2*ledger.Settle, leader.Tick{Asked: l.now + 2*ledger.Settle})
	tell(1, 9)
	list = l.Reports(l.now, 0)
	assert.False(t, list[0].Open)
	assert.Equal(t, 2, list[0].Connections.Count)
}

// A report names the ends of a link in the link's order, whichever the order named first.
func TestAReportNamesTheEndsOfALinkInItsOrder(t *testing.T) {
	t.Parallel()
	for want, order := range map[string]fault.Spec{
		"cut s0.0-s1.0, s1.0 to s0.0": {Do: fault.VerbCut, A: "s1.0", B: "s0.0", Direction: fault.To},
		"impair s0.0-s1.1, loss 10%": {
			Do: fault.VerbImpair, A: "s1.1-s0.0",
			Impair: &fault.Impair{Loss: new(fault.Percent(10))},
		},
		"crash s0.1": {Do: fault.VerbCrash, A: "s0.1"},
	} {
		l := lead(t)
		l.takes(0, leader.Apply{Specs: []fault.Spec{order}})
		assert.Equal(t, want, l.Reports(l.now, 0)[0].What)
	}
}

// Who restores what has no fault of its own is told what else acts on it, and what ends that.
func TestARestoreThatChangesNothingNamesWhatElseActsThere(t *testing.T) {
	t.Parallel()
	cutting := func(a string, d fault.Direction) fault.Spec { return fault.Spec{Do: fault.VerbCut, A: a, Direction: d} }
	crash := fault.Spec{Do: fault.VerbCrash, A: "s0.0"}
	for _, c := range []struct {
		broken  []fault.Spec
		restore fault.Spec
		want    string
	}{
		{nil, fault.Spec{A: "s0.0-s1.0"}, ""},
		{[]fault.Spec{crash}, fault.Spec{A: "s0.0-s1.0"}, "fault 1 acts on it, crash s0.0: linkmon restart s0.0 ends that"},
		{
			[]fault.Spec{cutting("s0.0-s1.0", fault.To)},
			fault.Spec{A: "s0.0-s1.0", Direction: fault.From},
			"fault 1 acts on it, cut s0.0-s1.0, s0.0 to s1.0: linkmon restore s0.0-s1.0 ends that",
		},
		{
			[]fault.Spec{cut("s0.0-s1.0"), cut("s0.0-s1.1"), cut("s0.1-s1.0"), cut("s1.0-n00"), cut("s1.0-n01")},
			fault.Spec{A: "s1.0"},
			"fault 1 acts on it, cut s0.0-s1.0: linkmon restore s0.0-s1.0 ends that; " +
				"fault 3 acts on it, cut s0.1-s1.0: linkmon restore s0.1-s1.0 ends that; " +
				"fault 4 acts on it, cut s1.0-n00: linkmon restore s1.0-n00 ends that; so do 1 more: linkmon heal --all ends all",
		},
	} {
		l := lead(t)
		c.restore.Do = fault.VerbRestore
		l.takes(0, leader.Apply{Specs: append(c.broken, c.restore)})
		out := l.Outcomes(1)[len(c.broken)]
		assert.False(t, out.Changed)
		assert.Equal(t, c.want, out.Note)
	}
}

// Nor does a restore bring back a link or a switch whose host has failed.
func TestARestoreBesideAFailedHostSaysSo(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.takes(0, leader.HostFailed{Host: east, What: "it is gone"})
	l.takes(0,
		leader.Apply{Specs: []fault.Spec{{Do: fault.VerbRestore, A: "s0.0-s1.0"}, {Do: fault.VerbRestore, A: "s1.0"}}})
	for _, out := range l.Outcomes(1) {
		assert.False(t, out.Changed)
		assert.Equal(t, "nobody answers for host east, which runs s1.0: it is down until its host makes it anew", out.Note)
	}
}

// The report of a fault has what it cost in each phase of a manager of InfiniBand, and no other
// report.
func TestLossesByPhaseOfAManager(t *testing.T) {
	t.Parallel()
	l := lead(t)
	l.comesUp()
	k := l.link(t, "s0.0-s1.0")
	l.Ledger.Step(l.now, ledger.HostStarted{Host: east, Incarnation: 1})
	seq := uint64(0)
	discarded := func(n uint64) {
		seq++
		c := ledger.Counted{}
		c.Counters.Switches.Discarded = n
		l.Ledger.Step(l.now, &ledger.Answer{Host: east, Incarnation: 1, Seq: seq, Counted: c})
	}
	discarded(100) // before
	l.takes(weft.Second, leader.Apply{Specs: []fault.Spec{cut(k.Name)}})
	until := map[string]map[int]uint64{}
	for i, phase := range []string{fault.UntilTrap, fault.UntilSweep, fault.UntilForce} {
		discarded(100 + uint64(10*i))
		until[phase] = l.Costs()
	}
	r := leader.Round{Died: []weft.LinkID{k.ID}, Began: l.now, Computed: l.now, InForce: l.now, Until: until}
	r.Version = 7
	l.takes(weft.Millisecond, leader.Managed{Round: r})
	discarded(123)
	l.takes(weft.Millisecond, leader.Settled{Version: 7})
	assert.Equal(t, []fault.PhaseLoss{
		{Until: fault.UntilTrap, Packets: 0},
		{Until: fault.UntilSweep, Packets: 10},
		{Until: fault.UntilForce, Packets: 10},
		{Until: fault.UntilSettled, Packets: 3},
	}, l.Reports(l.now, 0)[0].Reconfiguration.Lost)
}
