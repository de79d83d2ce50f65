package manager_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// A process that manages is stopped while it uploads, and goes on after another has taken over.
func TestAManagerThatWakesAfterAnotherTookOverUploadsNothing(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	l := start(t, "kary-ntree:4,3", "ftree")
	stopped := rig.Launch(t, l.identity("ddrc"))
	l.begun()
	notes, stop := l.manage("ddrc")
	l.await(notes, manager.NoteStandby)

	reached, on := make(chan struct{}, 1000), make(chan struct{})
	release := sync.OnceFunc(func() { close(on) })
	t.Cleanup(release)
	l.gate.set(func(verb string) error {
		if verb == "load" {
			reached <- struct{}{}
			<-on
			return errForgotten
		}
		return nil
	})
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00-s2.00"})
	<-reached
	stopped.Signal(rig.Freeze)
	l.gate.set(through)
	first := l.await(notes, manager.NoteRound).Round
	assert.Empty(t, first.Error)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	second := l.await(notes, manager.NoteRound).Round
	assert.Greater(t, second.Version, first.Version)

	var loads, recovered atomic.Int32
	l.gate.set(func(verb string) error {
		switch verb {
		case "load":
			loads.Add(1)
		case "versions":
			recovered.Add(1)
		}
		return nil
	})
	release() // what it had asked before comes to nothing, and it would ask again
	versions := l.Fabric.TableVersions()
	stopped.Signal(rig.Thaw)
	stop()
	rig.Until(t, func() bool { return recovered.Load() > 0 }, "it manages again")
	assert.Zero(t, loads.Load())
	assert.Equal(t, versions, l.Fabric.TableVersions())
	l.AllPairs(l.Settle)
	attack.Count(t, "a manager frozen while it uploads, until another has taken over", 1)
}

// A manager dies while NICs are held: the next one empties the fabric again, finishes the upload
// and has them inject.
func TestNICsThatADeadManagerHeldAreResumedByTheNext(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	tried := attack.Tally(t, "a manager killed while it holds the NICs")
	for _, verb := range []string{"load", "resume"} {
		t.Run("before "+verb, func(t *testing.T) {
			t.Parallel()
			l := start(t, "mesh:3x3", "updn:root=s0.0")
			l.Load("uniform:0.2")
			l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
			reached, dead := make(chan struct{}, 1000), make(chan struct{})
			end := sync.OnceFunc(func() { close(dead) })
			t.Cleanup(end)
			l.gate.set(func(v string) error {
				if v != verb || !l.Fabric.Held() { // who begins has NICs inject, too
					return nil
				}
				reached <- struct{}{}
				<-dead
				return errForgotten
			})
			first := rig.Launch(t, l.identity("engine:updn:root=s2.2")) // its tables cannot be mixed with those that there are
			<-reached
			require.True(t, l.Fabric.Held())
			first.Kill()
			tried.Add(1)
			l.gate.set(through)
			end()
			notes, _ := l.manage("")
			r := l.await(notes, manager.NoteRound).Round
			assert.True(t, r.Static)
			assert.Empty(t, r.Error)
			l.await(notes, manager.NoteManages)
			assert.False(t, l.Fabric.Held())
			l.Settle()
			l.AllPairs(l.Settle)
		})
	}
}

func TestNICsThatADeadManagerHeldInjectAgainWhenNoOtherComes(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "mesh:3x3", "updn:root=s0.0", func(f *manager.Local) { f.MostHeld = 300 * time.Millisecond })
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	reached, dead := make(chan struct{}, 1000), make(chan struct{})
	end := sync.OnceFunc(func() { close(dead) })
	t.Cleanup(end)
	l.gate.set(func(verb string) error {
		if verb == "load" {
			reached <- struct{}{}
			<-dead
			return errForgotten
		}
		return nil
	})
	first := rig.Launch(t, l.identity("engine:updn:root=s2.2"))
	<-reached
	first.Kill()
	var why string
	rig.Until(t, func() bool { // what it did is published a moment after NICs inject
		list := l.Fabric.Events().Since(0)
		i := slices.IndexFunc(list, func(e fabric.Event) bool { return e.Kind == fabric.EventResumed })
		if i >= 0 {
			why = list[i].Detail
		}
		return i >= 0
	})
	assert.Contains(t, why, "has asked for nothing in 300ms")
	end()
	l.gate.set(through)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.AllPairs(l.Settle)
}

// A process that is a switch is stopped. It is named, the others have their tables, and it gets its
// own when it goes on.
func TestAStoppedSwitchProcessGetsItsTablesWhenItGoesOn(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "kary-ntree:2,3", "ftree")
	as := l.identity("")
	as.Switch, as.Credentials = "s2.00", l.Broker.Credentials(bus.RoleOperator)
	p := rig.Launch(t, as)
	id, err := l.Fabric.Topology().SwitchByName("s2.00")
	require.NoError(t, err)
	rig.Until(t, func() bool { return len(l.Fabric.SwitchProcesses()) == 1 }, "the process is the switch")
	notes, _ := l.manage("ddrc")
	l.await(notes, manager.NoteManages)
	l.Load("uniform:0.2")
	p.Signal(rig.Freeze)
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00-s2.00"})
	r := l.await(notes, manager.NoteRound).Round
	assert.Contains(t, r.Error, "s2.00 has not taken version")
	assert.NotContains(t, r.Error, "s2.01")
	assert.Equal(t, r.Switches-1, count(l.Fabric.TableVersions(), r.Version), "the others have theirs")
	assert.Less(t, l.Fabric.TableVersion(id), r.Version)
	p.Signal(rig.Thaw)
	rig.Until(t, func() bool { return l.Fabric.TableVersion(id) >= r.Version }, "it has its tables")
	l.Settle()
	l.AllPairs(l.Settle)
	attack.Count(t, "a switch process frozen while a manager uploads", 1)
}
