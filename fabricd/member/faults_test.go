package member_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Every kind of fault on links of which one end, or both, are processes: at soak each kind of fault
// and each link over both brokers, and each pair of the two over one of them; else half of the
// pairs.
func TestFaultsOfLinksAndSwitchesThatAreProcesses(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	onBoth(t, func(t *testing.T, embedded bool) {
		l := start(t, embedded)
		l.startSwitch("s1.00")
		l.startSwitch("s2.00")
		l.startSwitch("s0.00")
		l.AllUp()
		l.Load("uniform:0.05")
		pair := 0
		if embedded {
			pair = 1
		}
		for _, ends := range [][2]string{
			{"s1.00", "s2.00"},
			{"s0.00", "s1.00"},
			{"s1.00", "s2.10"},
			{"s0.01", "s1.00"},
			{"n000", "s2.00"},
		} {
			if _, err := l.Fabric.Topology().LinkBetween(ends[0], ends[1]); err != nil {
				continue
			}
			for _, s := range []fault.Spec{
				{Do: fault.VerbCut},
				{Do: fault.VerbCut, Silent: true},
				{Do: fault.VerbCut, Direction: fault.To},
				{Do: fault.VerbCut, Direction: fault.From},
				{Do: fault.VerbCut, Direction: fault.To, Silent: true},
				{Do: fault.VerbCut, Direction: fault.From, Silent: true},
				{Do: fault.VerbImpair, Impair: &fault.Impair{Loss: new(fault.Percent(20))}},
			} {
				if pair++; pair%testenv.Levels(2, 4, 4) != 1 {
					continue
				}
				s.A, s.B = ends[0], ends[1]
				out := l.Do(s)
				require.NotNil(t, out[0].Fault, s)
				if s.Do == fault.VerbCut {
					rig.Until(t, func() bool { return len(l.Fabric.Faults()[out[0].Fault.ID-1].Detected) == 2 }, "%v",
						s)
				}
				l.More(50)
				l.Do(fault.Spec{Do: fault.VerbHeal})
				l.AllUp()
			}
		}
		l.settle()
		for _, name := range []string{"s1.00", "s0.00", "s2.00"} {
			l.Load("uniform:0.05")
			l.crosses(name, 50)
			out := l.Do(fault.Spec{Do: fault.VerbCrash, A: name})
			assert.NotEmpty(t, out[0].Fault.Detected)
			assert.Equal(t, []string{name}, l.Fabric.CrashedSwitches())
			l.Do(fault.Spec{Do: fault.VerbRestart, A: name})
			l.AllUp()
			l.crosses(name, 50)
		}
		l.settle()
		l.Fresh()
		l.allPairs()
	})
}

// Two neighbours that die together leave nobody who knows what was between them.
func TestTwoNeighboursKilledTogether(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := start(t, true)
	pairs := testenv.Levels(3, 1, 1)
	for range pairs {
		a, b := l.startSwitch("s0.00"), l.startSwitch("s1.00")
		l.Load("uniform:0.05")
		l.crosses("s0.00", 100)
		after := l.last()
		a.Kill()
		b.Kill()
		first := l.event(after, fabric.EventProcessFailed)
		l.event(first.Seq, fabric.EventProcessFailed)
		l.More(100)
		l.Do(fault.Spec{Do: fault.VerbHeal})
		l.AllUp()
		l.crosses("s0.00", 100)
		l.settle()
	}
	l.Fresh()
	l.allPairs()
	attack.Seen(t, "neighbouring switch processes killed together", 2*pairs)
}

// What a neighbour still receives from a process that has died, the fabric hears of late.
func TestANeighbourOfAKilledProcessThatIsStoppedMeanwhile(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := start(t, true)
	a := l.startSwitch("s2.00")
	rounds := testenv.Levels(3, 1, 1)
	for range rounds {
		b := l.startSwitch("s1.00")
		l.Load("uniform:0.05")
		l.crosses("s1.00", 100)
		l.crosses("s2.00", 100)
		after := l.last()
		a.Signal(rig.Freeze)
		b.Kill()
		l.event(after, fabric.EventProcessFailed)
		l.event(after, fabric.EventProcessSuspect)
		a.Signal(rig.Thaw)
		l.event(after, fabric.EventProcessBack)
		l.Do(fault.Spec{Do: fault.VerbRestart, A: "s1.00"})
		l.AllUp()
		l.settle()
	}
	attack.Seen(t, "a switch process killed while its neighbour is frozen", 2*rounds)
}
