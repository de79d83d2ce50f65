package manager_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

// A process that manages is killed at each point of a round, while packets travel; another one,
// which has stood by, finishes the job.
func TestAManagerKilledAtAnyPointLeavesTheNextAbleToFinish(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	tried := attack.Tally(t, "a manager killed at each point of its work")
	for _, x := range []struct {
		name, verb string
		after      int // so many of that verb
	}{
		{"before computing", "ports", 0},
		{"between writing the job down and the first upload", "load", 0},
		{"during the upload", "load", 3},
		{"after the upload, before it is reported", "report", 0},
		{"while it empties the fabric to compute", "held", 0},
	} {
		for _, as := range []struct{ topology, routing, method, link string }{
			{"kary-ntree:2,3", "ftree", "ddrc", "s1.00-s2.00"},
			{"kary-ntree:2,3", "ftree", "engine:updn", "s1.00-s2.00"},
			{"torus:3x3", "duato:mechanisms=I+D", "direct", "s0.0-s1.0"},
		} {
			if x.verb == "held" && as.method != "direct" {
				continue // they compute first
			}
			t.Run(x.name+" "+as.method, func(t *testing.T) {
				t.Parallel()
				l := start(t, as.topology, as.routing)
				first := rig.Launch(t, l.identity(as.method))
				l.begun()
				notes, _ := l.manage(as.method)
				l.await(notes, manager.NoteStandby)

				reached, dead := make(chan struct{}, 1000), make(chan struct{})
				end := sync.OnceFunc(func() { close(dead) })
				t.Cleanup(end)
				var passed atomic.Int32
				l.gate.set(func(verb string) error {
					if verb != x.verb || int(passed.Add(1)) <= x.after {
						return nil
					}
					reached <- struct{}{}
					<-dead
					return errForgotten
				})
				l.Load("uniform:0.2")
				l.Do(fault.Spec{Do: fault.VerbCut, A: as.link})
				<-reached
				first.Kill()
				tried.Add(1)
				l.gate.set(through)
				end()

				r := l.await(notes, manager.NoteRound).Round
				assert.Empty(t, r.Error)
				assert.Zero(t, r.Unroutable)
				assert.False(t, l.Fabric.Held())
				l.Settle()
				l.AllPairs(l.Settle)
				report := l.Fabric.Faults()[0].Reconfiguration
				require.NotNil(t, report)
				assert.Equal(t, r.Version, report.Version)
				assert.Empty(t, report.Error)
			})
		}
	}
}

// Two managers are at work at once when one was stopped for so long that its lease ran out: what it
// does then is refused.
func TestAManagerThatWasStoppedDoesNotUndoWhatTheNextOneDid(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "kary-ntree:2,3", "ftree")
	notes, stop := l.manage("ddrc")
	l.await(notes, manager.NoteManages)
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00-s2.00"})
	first := l.await(notes, manager.NoteRound).Round
	var told tables.Patch
	for _, s := range l.Fabric.Topology().Switches {
		if l.Fabric.TableVersion(s.ID) == first.Version {
			p, _, _ := l.Fabric.Program(s.ID)
			told = *tables.Diff(s.ID, tables.Program{}, p, 0, first.Version)
		}
	}
	stop()
	notes, _ = l.manage("ddrc")
	l.await(notes, manager.NoteManages)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	second := l.await(notes, manager.NoteRound).Round
	require.Greater(t, second.Version, first.Version)
	late,
		err := remote.Dial(bus.ClientConfig{
		Fabric: "lab", URL: l.Broker.ClientURL(),
		Credentials: l.Broker.Credentials(bus.RoleManager),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, late.Close()) })
	_, err = late.Load(t.Context(), &told)
	require.ErrorIs(t, err, manager.ErrSuperseded)
	require.ErrorIs(t, late.Hold(t.Context()), manager.ErrSuperseded)
	require.False(t, l.Fabric.Held(), "nobody would let them go")
	require.ErrorIs(t, late.Resume(t.Context()), manager.ErrSuperseded)

	require.NoError(t, late.Begin(t.Context()))
	_, err = late.Load(t.Context(), &told)
	require.ErrorIs(t, err, reply.ErrRefused)
	require.ErrorContains(t, err, "version")
	l.await(notes, manager.NoteManages) // the other has the lease, and begins again
	require.ErrorIs(t, late.Hold(t.Context()), manager.ErrSuperseded)
	l.AllPairs(l.Settle)
}

func TestALeaseThatIsGivenBackIsTakenAtOnceAndVersionsGoOn(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "kary-ntree:2,3", "ftree")
	notes, stop := l.manage("ddrc")
	l.await(notes, manager.NoteManages)
	next, _ := l.manage("") // the method of the one before
	l.await(next, manager.NoteStandby)
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00-s2.00"})
	first := l.await(notes, manager.NoteRound).Round
	stop()
	l.await(next, manager.NoteManages)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	second := l.await(next, manager.NoteRound).Round
	assert.Equal(t, first.Version+1, second.Version)
	assert.Equal(t, "ddrc", second.Method)
	l.AllPairs(l.Settle)
}

// cutOfTwoRounds is a link after whose cut new tables come in two rounds.
func cutOfTwoRounds(t *testing.T, g *topology.Graph, vcs int) (link string, plan *manage.Plan) {
	m, err := manage.Parse("dqr")
	require.NoError(t, err)
	p, err := manage.New(t.Context(), g, "lash", m, vcs)
	require.NoError(t, err)
	p.Settled()
	for _, l := range g.Links {
		var dead subnet.Dead
		dead.AddLink(l.ID)
		if plan, err := p.Plan(t.Context(), &dead); err == nil && len(plan.Rounds) == 2 {
			return l.Name, plan
		}
	}
	require.Fail(t, "no such link")
	return "", nil
}

// A job is a round: who takes over between two rounds, or within either, finishes that and goes on
// with the next.
func TestAManagerKilledBetweenTwoRoundsLeavesTheNextAbleToFinish(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	tried := attack.Tally(t, "a manager killed in and between two rounds of tables")
	// the first upload of the first round, of the second, and the report after both
	for _, during := range []int{0, 1, 2} {
		t.Run([]string{"in the first", "between", "after both"}[during], func(t *testing.T) {
			t.Parallel()
			l := start(t, "irregular:16,32,3", "lash")
			_, vcs, err := subnet.Firmware(t.Context(), "lash", l.Fabric.Topology())
			require.NoError(t, err)
			link, plan := cutOfTwoRounds(t, l.Fabric.Topology(), vcs)
			first := rig.Launch(t, l.identity("dqr"))
			l.begun()
			notes, _ := l.manage("dqr")
			l.await(notes, manager.NoteStandby)
			reached, dead := make(chan struct{}, 1000), make(chan struct{})
			end := sync.OnceFunc(func() { close(dead) })
			t.Cleanup(end)
			var passed atomic.Int32
			patches := len(plan.Rounds[0].Patches)
			l.gate.set(func(verb string) error {
				switch {
				case verb == "load" && (during == 0 || during == 1 && int(passed.Add(1)) > patches),
					verb == "report" && during == 2:
				default:
					return nil
				}
				reached <- struct{}{}
				<-dead
				return errForgotten
			})
			l.Load("uniform:0.2")
			l.Do(fault.Spec{Do: fault.VerbCut, A: link})
			<-reached
			first.Kill()
			tried.Add(1)
			l.gate.set(through)
			end()

			r := l.await(notes, manager.NoteRound).Round
			assert.Empty(t, r.Error)
			assert.False(t, r.Static)
			assert.True(t, r.Acyclic)
			l.Settle()
			l.AllPairs(l.Settle)
			for _, s := range plan.Rounds[1].Patches {
				got, _, _ := l.Fabric.Program(s.Switch)
				require.True(t, tables.Diff(s.Switch, got, plan.Program, 1, 2).Empty(), "switch %d", s.Switch)
			}
		})
	}
}

// It is stopped in the midst of a round, when it would hold the NICs next.
func TestAManagerThatIsStoppedAndWakesHoldsNobody(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := start(t, "mesh:3x3", "updn:root=s0.0")
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.0"})
	reached, on := make(chan struct{}, 10), make(chan struct{})
	release := sync.OnceFunc(func() { close(on) })
	t.Cleanup(release)
	l.gate.set(func(verb string) error {
		if verb == "ports" { // it is asked before the first job, which needs an empty fabric
			reached <- struct{}{}
			<-on
		}
		return nil
	})
	other := rig.Launch(t, l.identity("engine:updn:root=s2.2"))
	<-reached
	other.Signal(rig.Freeze)
	l.gate.set(through)
	release()
	notes, _ := l.manage("")
	require.True(t, l.await(notes, manager.NoteRound).Round.Static)
	l.Load("uniform:0.2")
	other.Signal(rig.Thaw)
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.1-s2.1"})
	require.Zero(t, l.await(notes, manager.NoteRound).Round.Unroutable)
	l.Settle()
	require.False(t, l.Fabric.Held())
	l.AllPairs(l.Settle)
	attack.Count(t, "a manager frozen before it empties the fabric", 1)
}
