package manage_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// links are dead, by name.
func links(t testing.TB, g *topology.Graph, names ...string) *subnet.Dead {
	t.Helper()
	dead := new(subnet.Dead)
	for _, name := range names {
		l, err := g.LinkByName(name)
		require.NoError(t, err)
		dead.AddLink(l.ID)
	}
	return dead
}

// plan is what follows when that is dead.
func plan(t testing.TB, p *manage.Planner, dead *subnet.Dead) *manage.Plan {
	t.Helper()
	plan, err := p.Plan(t.Context(), dead)
	require.NoError(t, err)
	return plan
}

// Gomez, Flich, Lopez, Robles, Duato: A Routing Methodology for Achieving Fault Tolerance in Direct
// Networks, section 5.2: one fault of the 3x3x3 torus affects 50 ordered pairs, which alone are
// told to their sources. When the link is back no source has a table.
func TestWhatNICsWriteIsPlannedForTheAffectedPairsAlone(t *testing.T) {
	t.Parallel()
	const routing = "duato:mechanisms=I+D"
	g := topologytest.Parse(t, "torus:3x3x3")
	fw, vcs, err := subnet.Firmware(t.Context(), routing, g)
	require.NoError(t, err)
	p := planner(t, g, routing, "direct", vcs)
	began := p.Now()
	require.Empty(t, began.Patches(), "packets go adaptively")
	for _, l := range g.Links {
		if !l.BetweenSwitches() {
			continue
		}
		cut := plan(t, p, links(t, g, l.Name))
		require.Equal(t, 50, cut.FlowsRerouted, l.Name)
		require.Zero(t, cut.Unroutable)
		require.True(t, cut.Acyclic)
		entries := 0
		for _, x := range cut.Patches() {
			entries += manage.Changes(x)
		}
		require.Equal(t, 50, entries)
		for _, s := range g.Switches {
			requireWays(t, cut, fw, s.ID, vcs)
		}
		p.Adopt(cut)
		p.Acknowledged()
		p.Settled()
		require.False(t, p.More())
		back := plan(t, p, new(subnet.Dead))
		require.Equal(t, 50, back.FlowsRerouted)
		for _, s := range g.Switches {
			require.Empty(t, back.Program.Ways.From(s.ID))
		}
		p.Adopt(back)
	}
}

// requireWays checks that a switch takes what a plan has for it, and that its NICs then write as
// the plan says.
func requireWays(t testing.TB, plan *manage.Plan, fw switching.Firmware, s weft.SwitchID, vcs int) {
	t.Helper()
	for _, patch := range plan.Patches() {
		if patch.Switch != s {
			continue
		}
		q := *patch
		q.From, q.To = tables.FirstVersion, tables.FirstVersion+1
		next, err := fw.Patched(tables.FirstVersion, plan.Graph.Place(s), vcs, &q)
		require.NoError(t, err)
		require.Equal(t, plan.Program.Ways.From(s), next.Program.Ways.From(s))
		return
	}
	require.Empty(t, plan.Program.Ways.From(s))
}

func TestWhatNICsWriteIsReplacedInAnEmptyFabricUnlessTheMethodIsDynamic(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "torus:4x4")
	for _, x := range []struct {
		routing, method string
		static, acyclic bool
	}{
		{"duato:mechanisms=I+D", "direct", true, true},
		{"duato:mechanisms=I+D", "direct:mode=static", true, true},
		{"duato:mechanisms=I+D", "direct:mode=dynamic", false, true},
		{"duato:mechanisms=I+D,ring=dateline", "direct:mode=dynamic", false, true},
		// its rings may fill up, with any ways or none
		{"duato:mechanisms=I+D,ring=free", "direct:mode=dynamic", false, false},
		{"duato:mechanisms=I+D,ring=free", "direct", true, false},
		{"duato:mechanisms=I,adaptive=false,order=direction", "direct", true, true},
		{"duato:mechanisms=I,adaptive=false", "direct", true, true},
	} {
		p := planner(t, g, x.routing, x.method, 8)
		between, nic := links(t, g, "s0.0-s1.0"), links(t, g, "n1.1-s1.1")
		cut := plan(t, p, between)
		require.Equal(t, x.static, cut.Static, x)
		require.Equal(t, x.acyclic, cut.Acyclic, x)
		require.Nil(t, cut.Cycle())
		require.Equal(t, x.static, p.Empties(between), x)
		require.False(t, p.Empties(nic), "no way changes")
		lost := plan(t, p, nic)
		require.Empty(t, lost.Patches())
		require.False(t, lost.Static)
		require.Equal(t, 2*15, lost.Unconnected)
		require.Equal(t, 2*15, lost.Unroutable)
		p.Adopt(cut)
		require.False(t, p.Empties(between), "it is in force")
		require.Equal(t, x.static, p.Empties(new(subnet.Dead)), "it is back")
	}
}

func TestPairsThatNoMechanismServesAreNamedAndTheRestGoOn(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "torus:4x4")
	p := planner(t, g, "duato:mechanisms=D", "direct", 4) // section 5.1.1: D alone does not tolerate one fault
	cut := plan(t, p, links(t, g, "s0.0-s1.0"))
	nowhere := 0
	for _, s := range g.Switches {
		for _, w := range cut.Program.Ways.From(s.ID) {
			if !w.Sub[0].Leads() {
				nowhere++
			}
		}
	}
	require.Positive(t, cut.Unroutable)
	require.Equal(t, nowhere, cut.Unroutable)
	require.Zero(t, cut.Unconnected)
	require.Len(t, cut.Without, min(8, cut.Unroutable))
	require.Contains(t, cut.Without, "s0.0 to s1.0")

	// A node that is cut off: nothing serves it, and it alone is without.
	p = planner(t, g, "duato:mechanisms=I+D", "direct", 4)
	island := links(t, g, "s0.0-s1.0", "s0.0-s3.0", "s0.0-s0.1", "s0.0-s0.3")
	cut = plan(t, p, island)
	require.Equal(t, 2*15, cut.Unroutable)
	require.Equal(t, 2*15, cut.Unconnected)
	require.Len(t, cut.Without, 8)
	for _, s := range g.Switches[1:] {
		way, ok := cut.Program.Ways.To(s.ID, 0)
		require.True(t, ok)
		require.False(t, way[0].Leads())
		for _, w := range cut.Program.Ways.From(s.ID) {
			require.Equal(t, w.Dst != 0, w.Sub[0].Leads())
		}
	}
	// Its NICs are dead beside: they count once.
	island.AddSwitch(0)
	require.Equal(t, 2*15, plan(t, p, island).Unroutable)
}

func TestPlansDoNotDependOnHowTheyAreComputed(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "torus:4x4x2")
	p := planner(t, g, "duato:mechanisms=I+D+M", "direct", 4)
	dead := links(t, g, "s0.0.0-s1.0.0", "s1.0.0-s2.0.0", "s1.0.0-s1.1.0", "s2.2.0-s2.2.1")
	one := plan(t, p, dead)
	parts := 0
	p.InParallel(func(n int, run func(int)) {
		var all sync.WaitGroup
		for i := range n {
			parts++
			all.Go(func() { run(n - 1 - i) })
		}
		all.Wait()
	})
	other := plan(t, p, dead)
	require.Positive(t, parts)
	for _, s := range g.Switches {
		assert.Equal(t, one.Program.Ways.From(s.ID), other.Program.Ways.From(s.ID))
	}
	assert.Equal(t, one.Without, other.Without)
}

func TestDirectIsForRoutingsWithMechanismsAndTheyForIt(t *testing.T) {
	t.Parallel()
	torus := topologytest.Parse(t, "torus:3x3")
	for _, x := range [][3]string{
		{"duato:mechanisms=I+D", "direct"},
		{"duato", "none"},
		{"duato:mechanisms=none", "none"},
		{"dimension-order", "none"},
		{"duato:mechanisms=I,adaptive=false", "direct"},
		{"dimension-order:ring=bubble", "none"},
	} {
		m, why := manage.For(t.Context(), x[0], torus)
		require.NoError(t, why)
		require.Equal(t, x[1], m.String(), x)
	}
	for _, x := range [][4]string{
		{"torus:3x3", "duato", "direct", "knows no way around what is dead: choose one with mechanisms"},
		{"torus:3x3", "duato:mechanisms=none", "direct", "knows no way"},
		{"torus:3x3", "e-cube", "direct", "the switches of e-cube look at nothing that NICs could write"},
		{"torus:3x3", "duato:mechanisms=I", "dqr", "choose method direct"},
		{"torus:3x3", "duato:mechanisms=I", "engine:updn", "choose method direct"},
		{"torus:3x3", "duato:mechanisms=Ix2", "direct", "virtual channels"},
		{"kary-ntree:2,3", "duato:mechanisms=I", "direct", "duato"},
	} {
		m, err := manage.Parse(x[2])
		require.NoError(t, err)
		_, err = manage.New(t.Context(), topologytest.Parse(t, x[0]), x[1], m, 2)
		require.ErrorContains(t, err, x[3], x)
	}
	_, err := manage.Parse("direct:mode=statc")
	require.ErrorContains(t, err, `did you mean "static"?`)
	_, err = manage.Parse("direct:path=local")
	require.ErrorContains(t, err, "mode")
}
