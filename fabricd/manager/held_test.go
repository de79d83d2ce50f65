package manager_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

func TestAManagerThatIsInterruptedWhileItHoldsNICsLetsThemGoOn(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "mesh:3x3", "updn:root=s0.0")
	l.Load("uniform:0.2")
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	held, on := make(chan struct{}, 10), make(chan struct{})
	release := sync.OnceFunc(func() { close(on) })
	t.Cleanup(release)
	l.gate.set(func(verb string) error {
		if verb == "held" {
			held <- struct{}{}
			<-on
		}
		return nil
	})
	_, stop := l.manage("engine:updn:root=s2.2") // whose tables cannot be mixed with what is there
	<-held
	require.True(t, l.Fabric.Held())
	stop()
	require.False(t, l.Fabric.Held())
	release()
	l.gate.set(through)
	require.Equal(t, len(l.Fabric.TableVersions()), count(l.Fabric.TableVersions(), tables.FirstVersion),
		"nothing was told")

	notes, _ := l.manage("") // and the next one finishes the job
	require.True(t, l.await(notes, manager.NoteRound).Round.Static)
	require.False(t, l.Fabric.Held())
	l.Settle()
	l.AllPairs(l.Settle)
}

// A manager whose state went with it may have held them.
func TestWhoeverBeginsToManageLetsNICsGoOnThatAreHeldForNoJob(t *testing.T) {
	t.Parallel()
	l := start(t, "kary-ntree:2,3", "ftree")
	l.Fabric.HoldNICs()
	notes, _ := l.manage("ddrc")
	l.await(notes, manager.NoteManages)
	rig.Until(t, func() bool { return !l.Fabric.Held() })
	l.AllPairs(l.Settle)
}

// The switches have what their routing begins with, and the method begins with other tables.
func TestAManagerKilledBetweenItsFirstWordAndItsFirstJobLeavesThatToTheNext(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := start(t, "kary-ntree:2,3", "ftree")
	reached, dead := make(chan struct{}, 100), make(chan struct{})
	l.gate.set(func(verb string) error {
		if verb != "ports" {
			return nil
		}
		reached <- struct{}{}
		<-dead
		return errForgotten
	})
	first := rig.Launch(t, l.identity("engine:updn"))
	<-reached
	l.begun()
	first.Kill()
	l.gate.set(through)
	close(dead)
	notes, _ := l.manage("engine:updn")
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00-s2.00"})
	r := l.await(notes, manager.NoteRound).Round
	require.Positive(t, r.Switches)
	require.Empty(t, r.Error)
	l.AllPairs(l.Settle)
}
