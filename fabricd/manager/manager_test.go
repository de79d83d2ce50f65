package manager_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

var scenes = []struct{ topology, routing, method, link string }{
	{"kary-ntree:2,3", "ftree", "ddrc", "s1.00-s2.00"},
	{"kary-ntree:2,3", "ddrc-source", "ddrc", "s1.00-s2.00"},
	{"irregular:8,16,2", "lash", "engine", ""},
	{"mesh:3x3", "xy", "engine:updn", "s0.0-s1.0"},
}

func TestACutIsRepairedByNewTablesAndReported(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for _, x := range scenes {
		t.Run(x.topology+" "+x.routing+" "+x.method, func(t *testing.T) {
			t.Parallel()
			l := start(t, x.topology, x.routing)
			notes, _ := l.manage(x.method)
			l.await(notes, manager.NoteManages)
			link := x.link
			if link == "" {
				for _, k := range l.Fabric.Topology().Links {
					if k.BetweenSwitches() {
						link = k.Name
						break
					}
				}
			}
			l.Load("uniform:0.2")
			l.Do(fault.Spec{Do: fault.VerbCut, A: link})
			r := l.await(notes, manager.NoteRound).Round
			assert.Empty(t, r.Error)
			assert.Zero(t, r.Unroutable)
			assert.Positive(t, r.Switches)
			assert.Positive(t, r.Entries)
			assert.Positive(t, r.FlowsRerouted)
			report := l.Fabric.Faults()[0]
			require.NotNil(t, report.Reconfiguration)
			c := *report.Reconfiguration
			assert.Equal(t, r.Version, c.Version)
			assert.Equal(t, x.method, c.Method)
			assert.Positive(t, c.DetectSeconds)
			assert.Positive(t, c.ComputeSeconds)
			assert.Positive(t, c.DistributeSeconds)
			assert.InDelta(t, c.InForceSeconds, c.DetectSeconds+c.ComputeSeconds+c.DrainSeconds+c.DistributeSeconds, 1e-5)
			assert.NotEqual(t, c.Acyclic, c.Static)
			l.Settle()
			l.AllPairs(l.Settle)
			rig.Until(t, func() bool { return l.Fabric.Faults()[0].Reconfiguration.SettledSeconds > 0 })

			l.Do(fault.Spec{Do: fault.VerbHeal})
			back := l.await(notes, manager.NoteRound).Round
			assert.Greater(t, back.Version, r.Version)
			assert.Zero(t, back.Unroutable)
			l.AllPairs(l.Settle)
		})
	}
}

func TestACrashedSwitchCostsItsNICsOnly(t *testing.T) {
	t.Parallel()
	l := start(t, "kary-ntree:2,3", "ftree")
	notes, _ := l.manage("ddrc")
	l.await(notes, manager.NoteManages)
	l.Do(fault.Spec{Do: fault.VerbCrash, A: "s2.00"})
	r := l.await(notes, manager.NoteRound).Round
	for r.Unroutable != 8*7-6*5 { // a neighbour may have told later than the others
		r = l.await(notes, manager.NoteRound).Round
	}
	require.NotNil(t, l.Fabric.Faults()[0].Reconfiguration)
}

// Some tables cannot be mixed with those before: then no packet is on its way while they are
// replaced, and none is lost by it.
func TestTablesThatCannotBeMixedAreReplacedInAnEmptyFabric(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "mesh:3x3", "updn:root=s0.0")
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	notes, _ := l.manage("engine:updn:root=s2.2")
	require.True(t, l.await(notes, manager.NoteRound).Round.Static)
	l.Load("uniform:0.2")
	l.Do(fault.Spec{Do: fault.VerbHeal})
	r := l.await(notes, manager.NoteRound).Round
	assert.True(t, r.Static)
	assert.False(t, r.Acyclic)
	assert.Empty(t, r.Error)
	assert.False(t, l.Fabric.Held())
	ledger := l.Settle()
	assert.Zero(t, ledger.Lost+ledger.Discarded)
	l.AllPairs(l.Settle)
	held := false
	for _, e := range l.Fabric.Events().Since(0) {
		switch e.Kind {
		case fabric.EventHeld:
			held = true
		case fabric.EventTables:
			assert.True(t, held, "new tables before the fabric was empty")
		case fabric.EventResumed:
			held = false
		}
	}
}

func TestFaultsDuringAnUploadBeginTheNextRound(t *testing.T) {
	t.Parallel()
	l := start(t, "kary-ntree:2,3", "ftree")
	notes, _ := l.manage("ddrc")
	l.await(notes, manager.NoteManages)
	reached, on := make(chan struct{}, 100), make(chan struct{})
	l.gate.set(func(verb string) error {
		if verb == "load" {
			reached <- struct{}{}
			<-on
		}
		return nil
	})
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00-s2.00"})
	release := sync.OnceFunc(func() { close(on) })
	t.Cleanup(release)
	<-reached
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.10"})
	l.gate.set(through)
	release()
	first := l.await(notes, manager.NoteRound).Round
	second := l.await(notes, manager.NoteRound).Round
	assert.Equal(t, first.Version+1, second.Version)
	l.AllPairs(l.Settle)
	for _, r := range l.Fabric.Faults() {
		require.NotNil(t, r.Reconfiguration, r.Target)
	}
}

func TestASwitchThatDoesNotAnswerIsNamedAndToldLater(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "kary-ntree:2,3", "ftree")
	l.patience = 0 // soon over
	notes, _ := l.manage("ddrc")
	l.await(notes, manager.NoteManages)
	on := make(chan struct{})
	release := sync.OnceFunc(func() { close(on) })
	t.Cleanup(release)
	once := make(chan struct{}, 1)
	once <- struct{}{}
	l.gate.set(func(verb string) error {
		if verb == "load" {
			select {
			case <-once:
				<-on
			default:
			}
		}
		return nil
	})
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00-s2.00"})
	r := l.await(notes, manager.NoteRound).Round
	assert.Contains(t, r.Error, "has not taken version")
	release()
	rig.Until(t, func() bool {
		for _, v := range l.Fabric.TableVersions() {
			if v == r.Version {
				return l.Fabric.Ledger().Balanced
			}
		}
		return false
	})
	rig.Until(t, func() bool { return count(l.Fabric.TableVersions(), r.Version) == r.Switches })
	l.AllPairs(l.Settle)
}

func count(versions []uint64, v uint64) (n int) {
	for _, x := range versions {
		if x == v {
			n++
		}
	}
	return n
}
