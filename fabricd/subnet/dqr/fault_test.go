package dqr_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// names is a path by the switches it comes to, "s0 s3 s2".
func names(g *topology.Graph, from weft.SwitchID, path []layered.Channel) string {
	list := []string{g.Switches[from].Name}
	for _, c := range path {
		peer, _, _ := g.Peer(c.From)
		list = append(list, g.Name(peer.Node))
	}
	return strings.Join(list, " ")
}

func way(t testing.TB, g *topology.Graph, r *dqr.Reconfiguration, from, to string) string {
	t.Helper()
	s, err := g.SwitchByName(from)
	require.NoError(t, err)
	d, err := g.SwitchByName(to)
	require.NoError(t, err)
	for nic := range weft.NICID(len(g.NICs)) {
		if home, _ := g.SwitchOf(nic); home == d {
			path, ok := r.Way(s, nic.Node(), 0)
			if !ok {
				return "none"
			}
			return names(g, s, path)
		}
	}
	return "no NIC"
}

func link(t testing.TB, g *topology.Graph, name string) weft.LinkID {
	t.Helper()
	l, err := g.LinkByName(name)
	require.NoError(t, err)
	return l.ID
}

// hop is the channel from a switch to a neighbour, in layer 0.
func hop(t testing.TB, g *topology.Graph, from, to string) layered.Channel {
	t.Helper()
	a, err := g.SwitchByName(from)
	require.NoError(t, err)
	l := g.Links[link(t, g, from+"-"+to)]
	if l.A.Node == a.Node() {
		return layered.Channel{From: l.A}
	}
	return layered.Channel{From: l.B}
}

// ringOf4 is the network of figures 1 and 2 of Sem-Jacobsen, Lysne: shortest paths in a ring of
// four switches, those of two hops by way of a lower number, so that no turns are taken at switches
// 2 and 3 but from one neighbour of 2 to the other.
func ringOf4(t testing.TB) *layered.Routing {
	g := topologytest.Parse(t, "ring:4")
	return routed(t, g, 1, func(s weft.SwitchID, d weft.NICID, _ weft.VC) weft.PortID {
		home, _ := g.SwitchOf(d)
		switch (home + 4 - s) % 4 {
		case 1:
			return g.Place(s).Grid.Up(0)
		case 3:
			return g.Place(s).Grid.Down(0)
		}
		if s%2 == 0 { // 0 and 2 meet at 1, 1 and 3 at 0
			return map[weft.SwitchID]weft.PortID{0: g.Place(s).Grid.Up(0), 2: g.Place(s).Grid.Down(0)}[s]
		}
		return map[weft.SwitchID]weft.PortID{1: g.Place(s).Grid.Down(0), 3: g.Place(s).Grid.Up(0)}[s]
	}, layer0)
}

func TestAChannelListOfARingOfFourHasEveryDependencyUpward(t *testing.T) {
	t.Parallel()
	routing := ringOf4(t)
	g, r := routing.Graph, begin(t, routing, dqr.Options{})
	for _, path := range [][3]string{{"s0", "s1", "s2"}, {"s2", "s1", "s0"}, {"s1", "s0", "s3"}, {"s3", "s0", "s1"}} {
		assert.Equal(t, strings.Join(path[:], " "), way(t, g, r, path[0], path[2]))
		assert.True(t, r.Upward(hop(t, g, path[0], path[1]), hop(t, g, path[1], path[2])), "%v", path)
	}
}

func TestTurnsThatWereNotThereAreEnabledByMovingChannelsUp(t *testing.T) {
	t.Parallel()
	routing := ringOf4(t)
	g, r := routing.Graph, begin(t, routing, dqr.Options{})
	res := fail(t, r, link(t, g, "s0-s1"))
	assert.True(t, res.Tolerated())
	assert.Equal(t, 6, res.FlowsRerouted, "0 to 1, 0 to 2 and 3 to 1, and back")
	assert.Equal(t, "s0 s3 s2 s1", way(t, g, r, "s0", "s1"))
	assert.Equal(t, "s1 s2 s3 s0", way(t, g, r, "s1", "s0"))
	assert.Equal(t, "s1 s2 s3", way(t, g, r, "s1", "s3"))
	assert.Equal(t, "s2 s3", way(t, g, r, "s2", "s3"), "not affected")
	for _, path := range [][3]string{{"s0", "s3", "s2"}, {"s3", "s2", "s1"}, {"s1", "s2", "s3"}, {"s2", "s3", "s0"}} {
		assert.True(t, r.Upward(hop(t, g, path[0], path[1]), hop(t, g, path[1], path[2])), "%v", path)
	}
}

func TestATurnIsRefusedThatMeetsItsSourceUntilSettlingHasTakenAwayWhatWasOld(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:3x3")
	r := begin(t, xy(t, g), dqr.Options{Path: dqr.EndToEnd})
	// Around the lower left square, clockwise. All flows that turn from left to up at s0.0 came by
	// s1.0-s0.0.
	ring := []layered.Channel{
		hop(t, g, "s0.0", "s0.1"), hop(t, g, "s0.1", "s1.1"), hop(t, g, "s1.1", "s1.0"),
		hop(t, g, "s1.0", "s0.0"),
	}
	assert.True(t, r.Upward(ring[1], ring[2]), "from X to Y is a turn of dimension order")
	assert.True(t, r.Upward(ring[3], ring[0]))
	assert.True(t, r.Fits(ring[0], ring[1]), "one of the two others can be had")
	assert.True(t, r.Fits(ring[2], ring[3]))
	fail(t, r, link(t, g, "s1.1-s2.1"))
	for a := range ring {
		require.False(t, a < 3 && r.Upward(ring[a], ring[a+1]) && r.Upward(ring[(a+1)%4], ring[(a+2)%4]) &&
			r.Upward(ring[(a+2)%4], ring[(a+3)%4]) && r.Upward(ring[(a+3)%4], ring[a]), "a cycle is in no list")
	}
}

func TestInAMeshOf3x3FlowsGoRoundTheDeadLinkAndTheOthersStay(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:3x3")
	for name, o := range map[string]dqr.Options{"default": {}, "plug-in": {Plugin: dqr.Mesh{}}} {
		r := begin(t, xy(t, g), o)
		res := fail(t, r, link(t, g, "s0.0-s1.0"))
		assert.True(t, res.Tolerated(), name)
		assert.Equal(t, 12, res.FlowsRerouted,
			"%s: from s0.0 to the six right of it, and from the two right of it to the three in its column", name)
		assert.Equal(t, "s0.0 s0.1 s1.1 s1.0", way(t, g, r, "s0.0", "s1.0"), "%s: by the side that there is", name)
		assert.Equal(t, "s1.0 s1.1 s0.1 s0.0", way(t, g, r, "s1.0", "s0.0"), name)
		assert.Equal(t, "s0.0 s0.1 s1.1 s2.1 s2.2", way(t, g, r, "s0.0", "s2.2"), "%s: a shortest path", name)
		assert.Equal(t, "s0.1 s1.1 s1.0", way(t, g, r, "s0.1", "s1.0"), "%s: not affected", name)
		var first dqr.Rerouted
		for first = range res.Paths() {
			break
		}
		assert.Equal(t, "s1.0 s0.0", names(g, first.From, first.Old), name)
		assert.Equal(t, "s1.0 s1.1 s0.1 s0.0", names(g, first.From, first.New), name)
		assert.Equal(t, 1, first.Flows)
	}
}

func TestACompulsoryLocalPathIsTakenByAll(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:4x4")
	r := begin(t, xy(t, g), dqr.Options{Path: dqr.LocalCompulsory, Plugin: dqr.Mesh{}})
	fail(t, r, link(t, g, "s1.1-s1.2"))
	assert.Equal(t, "s1.0 s1.1 s2.1 s2.2 s1.2 s1.3", way(t, g, r, "s1.0", "s1.3"))
	r = begin(t, xy(t, g), dqr.Options{})
	fail(t, r, link(t, g, "s1.1-s1.2"))
	assert.Equal(t, "s1.0 s2.0 s2.1 s2.2 s1.2 s1.3", way(t, g, r, "s1.0", "s1.3"),
		"where it is not, without the turn out of the column at the fault")
}

func TestRepairedAndSettledAllFlowsAreOnThePathsOfTheEngineAgain(t *testing.T) {
	t.Parallel()
	for i, routing := range cases(t) {
		w, fresh := newWatch(t, routing, dqr.Options{SwitchFlows: i%2 == 0}),
			newWatch(t, routing, dqr.Options{SwitchFlows: i%2 == 0})
		links := between(routing.Graph)
		w.change([]weft.LinkID{links[i], links[len(links)/2]}, nil)
		assert.NotEqual(t, fresh.paths, w.paths)
		w.change(nil, []weft.LinkID{links[i]})
		assert.True(t, w.dead[links[i]], "what died since the last Settle stays dead until the next")
		w.settle()
		w.change(nil, []weft.LinkID{links[i], links[len(links)/2]})
		for range 5 { // paths that wait for others to go
			w.settle()
			if w.change(nil, []weft.LinkID{}).FlowsRerouted == 0 {
				break
			}
		}
		for k, path := range fresh.paths {
			require.Equal(t, path, w.paths[k], "%s: %v", routing.Engine, k)
		}
		assert.Len(t, w.paths, len(fresh.paths), "%d %s", fresh.r.Prepared().Unroutable, routing.Engine)
	}
}

func TestDeadNICsAndSwitchesAreUnroutableAndIsolated(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:3x3")
	r := begin(t, xy(t, g), dqr.Options{})
	corner, err := g.SwitchByName("s0.0")
	require.NoError(t, err)
	dead := func(l *topology.Link) bool { return l.A.Node == corner.Node() || l.B.Node == corner.Node() }
	res, err := r.Fail(t.Context(), dead)
	require.NoError(t, err)
	assert.Equal(t, 16, res.Unroutable)
	assert.Equal(t, 16, res.Isolated)
	assert.Zero(t, res.FlowsLost, "there is no NIC any more that could send")
	assert.True(t, res.Tolerated())
	routing, err := r.Routing()
	require.NoError(t, err)
	assert.Equal(t, 16, routing.Unroutable)
	r.Settle()
	res, err = r.Restore(t.Context(), func(*topology.Link) bool { return false })
	require.NoError(t, err)
	assert.Zero(t, res.Unroutable)
}

func TestClonesDoNotKnowOfEachOther(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:5x5")
	r := begin(t, xy(t, g), dqr.Options{})
	var group sync.WaitGroup
	for _, l := range between(g)[:8] {
		c := r.Clone()
		group.Go(func() {
			res, err := c.Fail(t.Context(), cuts{l: true}.dead)
			assert.NoError(t, err)
			assert.True(t, res.Tolerated())
		})
	}
	group.Wait()
	assert.Equal(t, "s0.0 s1.0 s2.0", way(t, g, r, "s0.0", "s2.0"))
}

func TestTheSameFaultsGiveTheSameTables(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "torus:5x5")
	routing, err := layered.LASH(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	run := func() (paths []layered.Channel) {
		r := begin(t, routing, dqr.Options{})
		for _, l := range []int{3, 17, 30} {
			for p := range fail(t, r, between(g)[l]).Paths() {
				paths = append(paths, p.New...)
			}
		}
		return paths
	}
	assert.Equal(t, run(), run())
}

func TestWhatHasNoChannelListIsRefused(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:6")
	adaptive, err := layered.UpDownAdaptive(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	_, err = dqr.New(t.Context(), adaptive, dqr.Options{})
	require.ErrorContains(t, err, "take a deterministic routing")

	round := routed(t, g, 1, func(s weft.SwitchID, _ weft.NICID, _ weft.VC) weft.PortID { return g.Place(s).Grid.Up(0) },
		layer0)
	_, err = dqr.New(t.Context(), round, dqr.Options{})
	require.ErrorContains(t, err, "a cycle in layer 0")

	inPort, err := layered.UpDown(t.Context(), topologytest.Parse(t, "irregular:24,40,1"), layered.Options{})
	require.NoError(t, err)
	_, err = dqr.New(t.Context(), inPort, dqr.Options{Entries: dqr.ByDestination})
	require.ErrorContains(t, err, "by the port they came in by")
}

func TestFaultsAreToleratedOneAfterAnother(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	runs := testenv.Levels(500, 30, 30)
	g := topologytest.Parse(t, "mesh:10x10")
	for _, c := range []struct {
		o         dqr.Options
		two, five float64 // the least share of runs that are alive
	}{
		{dqr.Options{}, 0.99, 0.9},
		{dqr.Options{Entries: dqr.ByDestination}, 0.99, 0.9},
		{dqr.Options{Plugin: dqr.Mesh{}}, 0.99, 0.8},
	} {
		alive, bound := series(t, begin(t, xy(t, g), c.o), runs, 5)
		t.Logf("%+v: alive %v, connected %v", c.o, alive[1:], bound[1:])
		assert.Equal(t, runs, alive[1])
		assert.GreaterOrEqual(t, float64(alive[2]), c.two*float64(runs))
		assert.GreaterOrEqual(t, float64(alive[5]), c.five*float64(runs))
	}
}

// series cuts links one after another, settling after each, and returns per number of faults the
// runs in which all were tolerated, and those in which all switches were still linked.
func series(t testing.TB, base *dqr.Reconfiguration, runs, faults int) (alive, bound []int) {
	t.Helper()
	alive, bound = make([]int, faults+1), make([]int, faults+1)
	for run := range runs {
		rng := rand.New(rand.NewPCG(uint64(run), 7))
		r, dead, ok := base.Clone(), cuts{}, true
		links := between(r.Graph())
		for f, i := range rng.Perm(len(links))[:faults] {
			dead[links[i]] = true
			res, err := r.Fail(t.Context(), dead.dead)
			require.NoError(t, err)
			r.Settle()
			if res.Isolated > 0 {
				break
			}
			bound[f+1]++
			if ok = ok && res.Tolerated(); ok {
				alive[f+1]++
			}
		}
	}
	return alive, bound
}
