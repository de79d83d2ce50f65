package fabric_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
)

// A fabric of several hosts does what one in a single process does: it carries traffic, reroutes at
// a cut, and its ledger is balanced.
func TestFabricOfHosts(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHosts(t, 3)
	l.load("uniform:0.05")
	l.more(500)
	out := l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"}, fault.Spec{Do: fault.VerbCrash, A: "s0.01"})
	require.True(t, out[0].Changed)
	l.more(500)
	assert.Contains(t, l.Fabric.CutLinks(), "s0.00-s1.00")
	assert.Equal(t, []string{"s0.01"}, l.Fabric.CrashedSwitches())
	assert.NotZero(t, l.Fabric.Totals().Rerouted)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.more(200)
	s := l.Fabric.NewSampler()
	l.until("single nodes are read",
		func() bool { s.Read(); return s.NIC(0).Stats.Delivered > 0 && s.Stats(0).Forwarded > 0 })
	for id, vcs := range s.VCs() {
		require.Len(t, vcs, len(l.Fabric.Switch(weft.SwitchID(id)).Ports[0].VCs), "of every switch, wherever it runs")
	}
	assert.NotZero(t, l.Fabric.NIC(0).Stats.Delivered)
	assert.NotZero(t, l.Fabric.Latencies().TotalCount())
	l.sound()
}

// Cutting links of all kinds, impairing them and mending them while packets flow loses no account
// of any packet.
func TestHostsUnderFaults(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHosts(t, 2)
	l.load("uniform:0.05")
	l.more(100)
	names := []string{}
	for _, k := range betweenSwitches(l.Fabric.Topology()) {
		names = append(names, k.Name)
	}
	loss := fault.Impair{Loss: new(fault.Percent(20))}
	for i := range testenv.N(6, 3) {
		l.Do(fault.Spec{Do: fault.VerbCut, A: names[i], Silent: i%2 == 1},
			fault.Spec{Do: fault.VerbImpair, A: names[i+6], Impair: &loss})
		l.more(200)
		l.Do(fault.Spec{Do: fault.VerbHeal})
	}
	l.sound()
}

// The switches and NICs of a host that dies count as crashed, the others go on, and the ledger
// stays balanced; when its agent is back it is made anew and all is as before.
func TestHostThatDies(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := startHosts(t, 3)
	l.load("uniform:0.05")
	l.more(200)
	var cuts []fault.Spec
	for _, k := range betweenSwitches(l.Fabric.Topology()) {
		cuts = append(cuts, fault.Spec{Do: fault.VerbCut, A: k.Name, Silent: true})
	}
	l.Do(cuts...) // they lose what is on them, of which the dead cannot be asked any more
	l.until("packets are lost", func() bool { return l.Fabric.Ledger().LostWire > 0 })
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.more(200)
	l.agents.Of("host1").Kill()
	l.until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	l.more(100) // the others go on
	require.NoError(t, l.Fabric.StopTraffic())
	l.until("the ledger is balanced without it",
		func() bool { g := l.Fabric.Ledger(); return g.Balanced && g.InFlight == 0 })
	assert.NoError(t, l.Fabric.LossesReported())
	l.load("uniform:0.05")
	l.agents.Of("host1").Back()
	l.until("it is back", func() bool { return len(l.Fabric.CrashedSwitches()) == 0 && len(l.Fabric.LinksDown()) == 0 })
	l.more(200)
	l.sound()
	faults := l.Fabric.Faults()
	i := slices.IndexFunc(faults, func(r fault.Report) bool { // others a busy machine may keep from answering for a while
		return r.Kind == fabric.KindHost && r.What == "host1 is gone: nobody answers for it"
	})
	require.GreaterOrEqual(t, i, len(cuts))
	r := faults[i]
	assert.Equal(t, "host1", r.Target)
	assert.NotZero(t, r.RestoredAt)
	assert.Zero(t, l.Fabric.Totals().Duplicated)
}

// New tables come into force in hosts, and on a host that is made anew.
func TestTablesOfHosts(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHosts(t, 3, func(o *fabric.Options) {
		var err error
		o.Processes.Routing = "ftree"
		o.Firmware, o.Switch.VCs, err = subnet.Firmware(t.Context(), "ftree", o.Topology)
		require.NoError(t, err)
	})
	g := l.Fabric.Topology()
	link, err := g.LinkByName("s0.00-s1.00")
	require.NoError(t, err)
	l.load("uniform:0.05")
	l.more(100)
	l.Do(fault.Spec{Do: fault.VerbCut, A: link.Name})
	l.until("packets meet it", func() bool { return l.Fabric.Ledger().Discarded > 0 })
	require.Positive(t, upload(t, l.Fabric, 5, link))
	l.Settle()
	before := l.Fabric.Ledger().Discarded
	versions := l.Fabric.TableVersions()
	l.AllPairs(l.Settle)
	assert.Equal(t, before, l.Fabric.Ledger().Discarded, "they go round it")

	l.agents.Of("host1").Kill()
	l.until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	l.agents.Of("host1").Back()
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
	l.load("uniform:0.05")
	l.more(100)
	l.Fabric.HoldNICs()
	_, err = l.Fabric.Drained(ctx)
	require.NoError(t, err)
	l.Fabric.ResumeNICs()
	l.more(100)
}

// While one of three hosts is frozen, also in the moments in which nobody knows that yet, whoever
// looks at the fabric and whoever cuts a link of the other two is done before it goes on. How long
// that takes is in the log.
func TestOneOfThreeHostsThatIsFrozenHoldsUpNobody(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHostsOn(t, 3, oneApart(t))
	l.load("uniform:0.05")
	l.more(300)
	took := map[string][]time.Duration{}
	timed := func(what string, do func()) {
		began := time.Now()
		do()
		took[what] = append(took[what], time.Since(began))
	}
	l.agents.Of("host1").Process().Signal(rig.Freeze)
	for range testenv.Levels(10, 3, 3) {
		timed("status", func() { l.Fabric.Totals(); l.Fabric.Ledger(); l.Fabric.Faults() })
		timed("links", func() { l.Fabric.LinkStates() })
		var out []fabric.Outcome
		timed("cut", func() { out = l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.10-s1.10"}) })
		require.Len(t, out[0].Fault.Detected, 2, "both ends have acted")
		l.Do(fault.Spec{Do: fault.VerbRestore, A: "s0.10-s1.10"})
	}
	l.agents.Of("host1").Process().Signal(rig.Thaw)
	for what, list := range took {
		t.Logf("%-6s the first %v, the slowest %v, half within %v", what, list[0], slices.Max(list),
			slices.Sorted(slices.Values(list))[len(list)/2])
	}
	l.until("it is back", func() bool {
		return l.Fabric.Hosts()[1].State == fabric.SwitchUp &&
			len(l.Fabric.LinksDown()) == 0
	})
	l.more(300)
	l.sound()
}

// A host that stands still is not waited for, and told what it has missed when it goes on; it has
// lost nothing by it.
func TestHostThatFreezes(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHostsOn(t, 3, oneApart(t))
	l.load("uniform:0.05")
	l.more(300)
	l.agents.Of("host1").Process().Signal(rig.Freeze)
	l.until("it is missed", func() bool { return l.Fabric.Hosts()[1].State == fabric.SwitchSuspect })
	// which it does not hear
	out := l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.10-s1.10"}, fault.Spec{Do: fault.VerbCrash, A: "s0.01"})
	require.True(t, out[0].Changed)
	l.more(100) // the others go on
	l.agents.Of("host1").Process().Signal(rig.Thaw)
	l.until("it is back", func() bool { return l.Fabric.Hosts()[1].State == fabric.SwitchUp })
	l.more(300)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.more(100)
	l.sound()
	l.agents.Of("host1").End()
	l.until("it is made anew", func() bool { return l.Fabric.Hosts()[1].Again == 1 && len(l.Fabric.LinksDown()) == 0 })
	l.load("uniform:0.05")
	l.more(300)
	l.sound()
	attack.Count(t, "a process of several switches frozen under load, and killed", 2)
}

// A host that is out of reach counts as lost, goes on by itself, and is taken back as it is.
func TestHostOutOfReach(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	w := rig.NewRelay(t, "")
	agents := newAgents(t)
	agents.Of("host1").Relay = w
	l := startHostsOn(t, 3, agents)
	l.load("uniform:0.05")
	l.more(300)
	number := l.Fabric.Hosts()[1].Number
	assert.Equal(t, [2]string{"host1", "host1"}, [2]string{l.Fabric.Hosts()[1].Host, l.Fabric.Hosts()[1].Part})
	w.Cut()
	l.until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	// the others go on
	l.more(200)
	// of two hosts, and one is host1
	out := l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.01-s1.01"}, fault.Spec{Do: fault.VerbCut, A: "s0.10-s1.10"})
	require.True(t, out[0].Changed)
	require.NoError(t, l.Fabric.StopTraffic()) // which it does not hear
	w.Restore()
	l.until("it is back", func() bool { return len(l.Fabric.CrashedSwitches()) == 0 && len(l.Fabric.LinksDown()) == 2 })
	assert.Equal(t, number, l.Fabric.Hosts()[1].Number, "it has not been made anew")
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.load("uniform:0.05")
	l.more(300)
	l.sound()
}

// Hosts were started hours apart, and their clocks go 2% too fast and too slow, a hundred times
// worse than bad ones; one jumps by half a second. Times of packets, faults and reports are by one
// clock all the same, and nothing is lost.
func TestHostsWithClocksThatDiffer(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	start := time.Now()
	var jumped atomic.Int64
	agents := newAgents(t)
	agents.Of("host1").Elapsed = func() time.Duration {
		return time.Hour + time.Since(start)*102/100 + time.Duration(jumped.Load())
	}
	agents.Of("host2").Elapsed = func() time.Duration { return 9*time.Hour + time.Since(start)*98/100 }
	l := startHostsOn(t, 3, agents)
	right := func() bool {
		for _, p := range l.Fabric.Hosts() {
			if math.Abs(p.BehindSeconds) > 0.1 {
				return false
			}
		}
		return true
	}
	l.load("uniform:0.05")
	l.more(200)
	cut := l.Fabric.Now()
	id := l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00", Silent: true})[0].Fault.ID // host0 and host1
	l.until("both ends have found out", func() bool { return len(l.Fabric.Faults()[id-1].Detected) == 2 })
	for _, d := range l.Fabric.Faults()[id-1].Detected {
		assert.Positive(t, d.AfterSeconds)
		assert.Less(t, d.AfterSeconds, (l.Fabric.Now() - cut).Duration().Seconds())
	}
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.until("clocks are right", right)
	assert.Less(t, time.Duration(l.Fabric.Latencies().Max()), time.Since(start),
		"no packet is as old as the hosts are apart")

	jumped.Store(int64(500 * time.Millisecond))
	l.until("that is seen", func() bool { return !right() })
	l.until("and put right", right)
	l.more(100)
	l.sound()
}

// A leader that is gone leaves the hosts as they are; the next one knows what the first knew, and
// goes on.
func TestAnotherLeader(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := startHosts(t, 2)
	l.load("uniform:0.05")
	l.more(300)
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"}, fault.Spec{Do: fault.VerbCrash, A: "s0.01"})
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.10-s1.10", For: fault.Duration(2 * time.Second)})
	l.more(300)
	first := l.Fabric
	before := first.Faults()
	first.Detach()
	l.succeed()

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

// A leader that goes on beside the next one, for it does not reach the store, hears from the hosts
// that it was replaced.
func TestALeaderThatWasReplacedHearsItFromTheHosts(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	replaced := make(chan struct{})
	l := startHosts(t, 2, func(o *fabric.Options) {
		o.Term, o.Replaced = 1, sync.OnceFunc(func() { close(replaced) })
	})
	l.load("uniform:0.05")
	l.more(100)
	first := l.Fabric
	l.options.Term, l.options.Replaced = 2, func() { t.Error("the second leader was replaced") }
	l.succeed()
	select {
	case <-replaced:
	case <-time.After(rig.Patience):
		t.Fatal("no host has told the first leader")
	}
	_, _ = first.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"}) // the hosts refuse that
	first.Detach()
	require.Empty(t, l.Fabric.CutLinks())
	l.more(100)
	l.sound()
	require.Empty(t, l.Fabric.CrashedSwitches())
}

// NICs that are held while tables are replaced stay held under the next leader, as long as they
// would have been: what the tables of before and those of now could do together must not happen
// because a leader died.
func TestNICsStayHeldUnderAnotherLeader(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHosts(t, 2)
	l.load("uniform:0.05")
	l.more(100)
	l.Fabric.HoldNICsFor(rig.Patience)
	_, err := l.Fabric.Drained(t.Context())
	require.NoError(t, err)
	l.Fabric.Detach()
	l.succeed()
	require.True(t, l.Fabric.Held())
	_, err = l.Fabric.Drained(t.Context())
	require.NoError(t, err, "nothing was injected")
	l.Fabric.HoldLonger(time.Millisecond)
	l.until("whoever held them has gone", func() bool { return !l.Fabric.Held() })
	l.more(100)

	// Nobody led when their time was over.
	l.Fabric.HoldNICs()
	l.Fabric.Detach()
	var s fabric.State
	l.mu.Lock()
	require.NoError(t, s.UnmarshalBinary(l.state))
	require.Equal(t, weft.Never, s.HeldUntil)
	s.HeldUntil = 1
	l.state, err = s.MarshalBinary()
	l.mu.Unlock()
	require.NoError(t, err)
	l.succeed()
	l.until("they inject again", func() bool { return !l.Fabric.Held() })
	l.more(100)
	l.sound()
}

// A leader finds a host dead that was so before, and one that has died while nobody led.
func TestAnotherLeaderOfDeadHosts(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHosts(t, 3)
	l.load("uniform:0.05")
	l.more(300)
	l.agents.Of("host1").Kill()
	l.until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	l.more(100)
	l.until("that is kept", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		var s fabric.State
		return s.UnmarshalBinary(l.state) == nil &&
			slices.ContainsFunc(s.Hosts, func(h fabric.HostCheckpoint) bool { return h.Failed })
	})
	l.Fabric.Detach()
	l.agents.Of("host2").Kill()
	l.succeed()
	l.until("both are missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 8 })
	require.NoError(t, l.Fabric.StopTraffic())
	l.until("the ledger is balanced without them",
		func() bool { g := l.Fabric.Ledger(); return g.Balanced && g.InFlight == 0 })
	l.agents.Of("host1").Back()
	l.agents.Of("host2").Back()
	l.until("both are back", func() bool { return len(l.Fabric.CrashedSwitches()) == 0 && len(l.Fabric.LinksDown()) == 0 })
	l.load("uniform:0.05")
	l.more(300)
	l.sound()
}

// What passes between nodes of the leader's own process and hosts is accounted for.
func TestALeaderHasNodesBesideItsHosts(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	s := startSoak(t, 1, true, nic.Traffic{Pattern: "uniform", Load: 0.2})
	rig.Until(t, func() bool { return s.Totals().Delivered > 500 }, "it carries traffic")
	require.NoError(t, s.StopTraffic())
	l, err := s.Quiesce(t.Context())
	require.NoError(t, err)
	require.True(t, l.Balanced && l.InFlight == 0, "%+v", l)
	require.NoError(t, s.CreditsHome())
}
