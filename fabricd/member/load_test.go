package member_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

// patches are what gives all switches up/down tables without some links.
func (l *lab) patches(dead ...string) (list []*tables.Patch) {
	l.Helper()
	g := l.Fabric.Topology()
	u := must(subnet.NewUpDownRoutes(g))
	var set subnet.Dead
	for _, name := range dead {
		set.AddLink(must(g.LinkByName(name)).ID)
	}
	r := must(u.Routing(l.Context(), "ddrc", u.Compute(&set)))
	program := must(subnet.ProgramOf(l.Context(), l.Fabric.Firmware(), r))
	for s := range weft.SwitchID(len(g.Switches)) {
		now, version, ok := l.Fabric.Program(s)
		require.True(l, ok)
		p := tables.Diff(s, now, program, version, version+1)
		if !p.Empty() {
			list = append(list, p)
		}
	}
	return list
}

// upload has them loaded.
func (l *lab) upload(dead ...string) {
	l.Helper()
	for _, p := range l.patches(dead...) {
		require.NoError(l, l.Fabric.Load(l.Context(), p))
	}
}

func (l *lab) cutLink(name string) { l.Do(fault.Spec{Do: fault.VerbCut, A: name}) }

// version is that of the tables of a switch, as whoever is that switch says.
func (l *lab) version(name string) uint64 {
	return l.Fabric.Switch(must(l.Fabric.Topology().SwitchByName(name))).Version
}

func TestAProcessForwardsByNewTablesUnderLoadAndHandsThemBack(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for i, fw := range []string{"ftree", "ddrc-source", "hybrid"}[:testenv.Levels(3, 2, 2)] {
		t.Run(fw, func(t *testing.T) {
			t.Parallel()
			l := start(t, i%2 == 0, with(fw))
			leaf, middle := l.startSwitch("s2.00"), l.startSwitch("s1.00")
			l.Load("uniform:0.05")
			l.More(200)
			// s1.00 cannot go up to s0.00, and from s2.00 some destinations are reached by s1.01
			// only.
			l.cutLink("s0.00-s1.00")
			l.cutLink("s1.00-s2.01")
			l.upload("s0.00-s1.00", "s1.00-s2.01")
			inForce := map[string]uint64{"s2.00": 2, "s1.00": 2}
			if fw == "ddrc-source" {
				inForce["s1.00"] = 1 // no NIC asks it
			}
			has := func(names ...string) {
				t.Helper()
				for _, name := range names {
					require.Equal(t, inForce[name], l.version(name), name)
				}
			}
			has("s2.00", "s1.00")
			l.More(200)
			l.settle()
			l.allPairs()

			for _, p := range []*rig.Process{leaf, middle} {
				p.Signal(syscall.SIGTERM)
				code, said := p.Ends()
				require.Zero(t, code, said)
			}
			has("s2.00", "s1.00") // handed back with their tables
			l.allUpBut("s0.00-s1.00", "s1.00-s2.01")
			l.allPairs()

			l.startSwitch("s1.00")
			has("s1.00") // who joins later has the tables in force
			l.allUpBut("s0.00-s1.00", "s1.00-s2.01")
			l.allPairs()
		})
	}
}

func (l *lab) allUpBut(cut ...string) {
	l.Helper()
	rig.Until(l, func() bool { return len(l.Fabric.LinksDown()) == len(cut) })
}

func TestAProcessThatIsKilledOrStoppedGetsTheTablesInForceWhenItIsBack(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	l := start(t, true, with("ftree"))
	p := l.startSwitch("s1.00")
	l.Load("uniform:0.05")
	l.More(100)
	l.cutLink("s0.00-s1.00")

	after := l.last()
	p.Signal(rig.Freeze)
	l.event(after, fabric.EventProcessSuspect)
	var left []*tables.Patch
	for _, patch := range l.patches("s0.00-s1.00") {
		err := l.Fabric.Load(t.Context(), patch)
		if l.Fabric.Topology().Switches[patch.Switch].Name == "s1.00" {
			require.ErrorContains(t, err, "new tables for switch s1.00: ", "nobody acknowledges")
			left = append(left, patch)
			continue
		}
		require.NoError(t, err)
	}
	require.Len(t, left, 1)
	require.EqualValues(t, 1, l.Fabric.TableVersion(left[0].Switch), "what was not acknowledged is not in force")
	after = l.last()
	p.Signal(rig.Thaw)
	l.event(after, fabric.EventProcessBack)
	rig.Until(t, func() bool { return l.Fabric.Load(t.Context(), left[0]) == nil })
	require.EqualValues(t, 2, l.version("s1.00"))
	l.settle()
	l.allPairs()

	after = l.last()
	p.Kill()
	l.event(after, fabric.EventProcessFailed)
	l.startSwitch("s1.00")
	require.EqualValues(t, 2, l.version("s1.00"))
	l.allUpBut("s0.00-s1.00")
	l.settle()
	l.allPairs()
	attack.Count(t, "a switch process frozen or killed while tables are loaded", 2)
}
