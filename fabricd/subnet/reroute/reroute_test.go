package reroute_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/subnet/reroute"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

func rerouted(t *testing.T, spec, engine, method string, switchFlows bool) (*reroute.Reroute, *topology.Graph) {
	t.Helper()
	g := topologytest.Parse(t, spec)
	m, err := manage.Parse(method)
	require.NoError(t, err)
	r, err := reroute.New(t.Context(), g, engine, m, reroute.Options{SwitchFlows: switchFlows, VCs: weft.MaxVCs})
	require.NoError(t, err)
	return r, g
}

// inside lists the links between switches.
func inside(g *topology.Graph) (list []weft.LinkID) {
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			list = append(list, l.ID)
		}
	}
	return list
}

// numbers are what can be compared of a step.
func numbers(t *testing.T) func(s *reroute.Step, err error) [6]int {
	return func(s *reroute.Step, err error) [6]int {
		t.Helper()
		require.NoError(t, err)
		acyclic := 0
		if s.Acyclic {
			acyclic = 1
		}
		return [6]int{s.FlowsTotal, s.FlowsRerouted, s.Unroutable, s.Isolated, acyclic, s.NewTurns}
	}
}

func TestNothingStaysOfWhatIsTried(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"mesh:4x4", "xy", "dqr"},
		{"mesh:4x4", "xy", "dqr:plugin=mesh"},
		{"kary-ntree:2,3", "ftree", "ddrc"},
		{"torus:3x3", "lash", "engine"},
	} {
		is := numbers(t)
		tried, g := rerouted(t, c[0], c[1], c[2], false)
		links := inside(g)
		for _, l := range links {
			fresh, _ := rerouted(t, c[0], c[1], c[2], false)
			assert.Equal(t, is(fresh.Fail(t.Context(), l)), is(tried.Try(t.Context(), l)), "%v: link %d", c, l)
		}
		fresh, _ := rerouted(t, c[0], c[1], c[2], false)
		is(fresh.Fail(t.Context(), links[0]))
		is(tried.Fail(t.Context(), links[0]))
		is(tried.Try(t.Context(), links[3]))
		assert.Equal(t, is(fresh.Fail(t.Context(), links[1])), is(tried.Fail(t.Context(), links[1])), c)
	}
}

func TestACopyGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{{"mesh:4x4", "xy", "dqr"}, {"kary-ntree:2,3", "ftree", "ddrc"}} {
		is := numbers(t)
		r, g := rerouted(t, c[0], c[1], c[2], false)
		links := inside(g)
		is(r.Fail(t.Context(), links[0]))
		twin, err := r.Clone(t.Context())
		require.NoError(t, err)
		is(twin.Fail(t.Context(), links[5]))
		fresh, _ := rerouted(t, c[0], c[1], c[2], false)
		is(fresh.Fail(t.Context(), links[0]))
		assert.Equal(t, is(fresh.Fail(t.Context(), links[7])), is(r.Fail(t.Context(), links[7])),
			"what happened to the copy did not happen here")
		fresh, _ = rerouted(t, c[0], c[1], c[2], false)
		is(fresh.Fail(t.Context(), links[0]))
		is(fresh.Fail(t.Context(), links[5]))
		assert.Equal(t, is(fresh.Fail(t.Context(), links[7])), is(twin.Fail(t.Context(), links[7])),
			"nor the other way round")
	}
}

// Packets of the tables before are gone when the next fault comes, so that what only they needed is
// no hindrance.
func TestOldPathsAreGoneBeforeTheNextFault(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	differ := 0
	for seed := range 40 {
		r, g := rerouted(t, "torus:4x4", "lash", "dqr:path=end-to-end", false)
		routing, err := subnet.Routes(t.Context(), "lash", g)
		require.NoError(t, err)
		settled, err := dqr.New(t.Context(), routing, dqr.Options{Path: dqr.EndToEnd})
		require.NoError(t, err)
		kept := settled.Clone()
		var dead subnet.Dead
		links := inside(g)
		for k := range 5 {
			for _, l := range links {
				with := dead.Clone()
				with.AddLink(l)
				alone := settled.Clone()
				alone.Settle()
				want, err := alone.Fail(t.Context(), with.Cuts)
				require.NoError(t, err)
				got, err := r.Try(t.Context(), l)
				require.NoError(t, err)
				require.Equal(t, [3]int{want.Unroutable, want.FlowsRerouted, want.NewTurns},
					[3]int{got.Unroutable, got.FlowsRerouted, got.NewTurns})
			}
			l := links[(seed*7+k*11)%len(links)]
			dead.AddLink(l)
			settled.Settle()
			want, err := settled.Fail(t.Context(), dead.Cuts)
			require.NoError(t, err)
			other, err := kept.Fail(t.Context(), dead.Cuts)
			require.NoError(t, err)
			if want.Unroutable != other.Unroutable || want.NewTurns != other.NewTurns || want.LocalTurns != other.LocalTurns ||
				want.FlowsRerouted != other.FlowsRerouted {
				differ++
			}
			got, err := r.Fail(t.Context(), l)
			require.NoError(t, err)
			require.Equal(t, [4]int{want.Unroutable, want.FlowsRerouted, want.NewTurns, want.LocalTurns},
				[4]int{got.Unroutable, got.FlowsRerouted, got.NewTurns, got.LocalTurns})
		}
	}
	require.Positive(t, differ, "it matters")
}

func TestOldTablesAreGoneBeforeTheNextFault(t *testing.T) {
	t.Parallel()
	differ := 0
	for seed := range 20 {
		r, g := rerouted(t, "mesh:3x4", "lash", "engine", false)
		settled, err := manage.New(t.Context(), g, "lash", manage.Method{Kind: manage.Engine}, weft.MaxVCs)
		require.NoError(t, err)
		kept, err := manage.New(t.Context(), g, "lash", manage.Method{Kind: manage.Engine}, weft.MaxVCs)
		require.NoError(t, err)
		var dead subnet.Dead
		links := inside(g)
		for k := range 3 {
			l := links[(seed*5+k*9)%len(links)]
			dead.AddLink(l)
			settled.Settled()
			want, err := settled.Plan(t.Context(), &dead)
			require.NoError(t, err)
			settled.Adopt(want)
			other, err := kept.Plan(t.Context(), &dead)
			require.NoError(t, err)
			kept.Adopt(other)
			if want.Acyclic != other.Acyclic {
				differ++
			}
			for _, one := range []func(context.Context, ...weft.LinkID) (*reroute.Step, error){r.Try, r.Fail} {
				got, err := one(t.Context(), l)
				require.NoError(t, err)
				require.Equal(t, want.Acyclic, got.Acyclic)
				require.Equal(t, want.FlowsRerouted, got.FlowsRerouted)
			}
		}
	}
	require.Positive(t, differ, "it matters")
}

// Whatever the method, the paths that are listed are as many flows as are told, begin and end where
// they should, and none is over a dead link.
func TestThePathsListedAreTheFlowsMoved(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"mesh:4x4", "xy", "dqr"},
		{"mport-tree:4,2", "ftree", "ddrc"},
		{"torus:3x3,nics=2", "lash", "engine"},
	} {
		r, g := rerouted(t, c[0], c[1], c[2], false)
		l, err := g.LinkByName("s0.0-s1.0")
		require.NoError(t, err)
		s, err := r.Fail(t.Context(), l.ID)
		require.NoError(t, err)
		flows := 0
		for p := range s.Paths() {
			flows += p.Flows
			at := p.From
			for _, ch := range p.New {
				require.Equal(t, at.Node(), ch.From.Node)
				to, link, ok := g.Peer(ch.From)
				require.True(t, ok)
				require.NotEqual(t, l.ID, link)
				at = weft.SwitchID(to.Node.Index)
			}
			home, _ := g.SwitchOf(weft.NICID(p.To.Index))
			require.Equal(t, home, at)
			require.NotEqual(t, p.Old, p.New)
		}
		assert.Positive(t, flows)
		assert.Equal(t, s.FlowsRerouted, flows, c)
	}
}

func TestAStepSaysWhatIsConnectedAndWhatIsTolerated(t *testing.T) {
	t.Parallel()
	r, g := rerouted(t, "mesh:3x3", "xy", "dqr", false)
	corner, err := g.SwitchByName("s0.0")
	require.NoError(t, err)
	var links []weft.LinkID
	for _, l := range g.Links {
		if l.A.Node == corner.Node() || l.B.Node == corner.Node() {
			links = append(links, l.ID)
		}
	}
	s, err := r.Try(t.Context())
	require.NoError(t, err)
	assert.True(t, s.Connected())
	assert.Zero(t, s.Share())
	s, err = r.Fail(t.Context(), links...)
	require.NoError(t, err)
	assert.Equal(t, 16, s.Isolated)
	assert.True(t, s.Tolerated())
	assert.False(t, s.Connected())
	assert.False(t, (&reroute.Step{}).Tolerated())
	assert.Zero(t, (&reroute.Step{}).Share())
	for range (&reroute.Step{}).Paths() {
		assert.Fail(t, "there is none")
	}
}

// What a step says of the upload is what a manager does with the same fault.
func TestAStepSaysHowTheManagerBringsItIntoForce(t *testing.T) {
	t.Parallel()
	rounds, emptied := map[int]int{}, 0
	for _, method := range []string{"dqr", "dqr:entries=destination", "dqr:entries=destination,spare=leave", "engine"} {
		r, g := rerouted(t, "irregular:24,48,3", "lash", method, false)
		m, err := manage.Parse(method)
		require.NoError(t, err)
		p, err := manage.New(t.Context(), g, "lash", m, weft.MaxVCs)
		require.NoError(t, err)
		p.Settled()
		for _, l := range inside(g) {
			s, err := r.Try(t.Context(), l)
			require.NoError(t, err)
			got, err := s.Upload(t.Context())
			require.NoError(t, err)
			var dead subnet.Dead
			dead.AddLink(l)
			plan, err := p.Plan(t.Context(), &dead)
			require.NoError(t, err)
			require.Equal(t, plan.Static, got.Static, "%s: %s", method, g.Links[l].Name)
			require.Len(t, got.Rounds, len(plan.Rounds), "%s: %s", method, g.Links[l].Name)
			require.Equal(t, plan.Unroutable, s.Unroutable)
			require.Equal(t, plan.FlowsRerouted, s.FlowsRerouted)
			require.Len(t, got.Patches(), len(plan.Patches()))
			if rounds[len(got.Rounds)]++; got.Static {
				require.Contains(t, []string{"dqr:entries=destination,spare=leave", "engine"}, method)
				emptied++
			}
		}
	}
	assert.Positive(t, rounds[2])
	assert.Positive(t, emptied)
}

func TestStretchIsThatOfTheFlowsThatMoved(t *testing.T) {
	t.Parallel()
	r, g := rerouted(t, "ring:4", "updn:root=s0", "dqr", false)
	l, err := g.LinkByName("s0-s1")
	require.NoError(t, err)
	s, err := r.Fail(t.Context(), l.ID)
	require.NoError(t, err)
	flows, sum, most := 0, 0.0, 0.0
	for p := range s.Paths() {
		by := float64(len(p.New)) / float64(len(p.Old))
		flows, sum, most = flows+p.Flows, sum+by*float64(p.Flows), max(most, by)
	}
	x := s.Stretch()
	assert.Equal(t, flows, x.Flows)
	assert.InDelta(t, sum/float64(flows), x.Mean, 1e-12)
	assert.InDelta(t, 3, x.Max, 0, "one link became three")
	assert.InDelta(t, most, x.Max, 0)
	assert.Zero(t, (&reroute.Step{}).Stretch())
}

func TestFlowsBetweenSwitchesAreCounted(t *testing.T) {
	t.Parallel()
	r, g := rerouted(t, "kary-ntree:2,2", "ftree", "dqr:path=end-to-end", true)
	s, err := r.Try(t.Context())
	require.NoError(t, err)
	n := len(g.NICs)*(len(g.NICs)-1) + len(g.Switches)*(len(g.Switches)-1)
	assert.Equal(t, n, s.FlowsTotal)
	assert.True(t, s.Connected())
	assert.Equal(t, "ftree", r.Routing().Engine)
}

func TestWhatAMethodIsNotForIsSaid(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:5")
	for want, c := range map[string]struct {
		engine, method string
		switches       bool
	}{
		"method dqr is for deterministic tables, and escape is adaptive: take method engine": {"escape", "dqr", false},
		"method engine knows flows between NICs only: leave out those":                       {"lash", "engine", true},
		"up/down routes are computed for":                                                    {"lash", "ddrc", false},
		"did you mean":                                                                       {"lsh", "dqr", false},
	} {
		m, err := manage.Parse(c.method)
		require.NoError(t, err)
		_, err = reroute.New(t.Context(), g, c.engine, m, reroute.Options{SwitchFlows: c.switches})
		require.ErrorContains(t, err, want)
	}
	_, err := reroute.New(t.Context(), g, "adaptive-link", manage.Method{Kind: manage.DQR}, reroute.Options{})
	require.ErrorIs(t, err, subnet.ErrNoTables)
}
