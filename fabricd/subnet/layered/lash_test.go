package layered_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
)

// lashes are the engines that fill layers with shortest paths, each with the options that make it
// another one.
var lashes = []struct {
	name string
	e    engine
	o    layered.Options
}{
	{"lash", layered.LASH, layered.Options{}},
	{"lash both", layered.LASH, layered.Options{Both: true}},
	{"lash by pair", layered.LASH, layered.Options{Paths: layered.ByPair}},
	{"lash by pair both", layered.LASH, layered.Options{Paths: layered.ByPair, Both: true}},
	{"lash in rounds", layered.LASH, layered.Options{Paths: layered.ByPair, Rounds: 20, Seed: 3}},
	{"lash not balanced", layered.LASH, layered.Options{Balance: layered.Off, Seed: 9}},
	{"mp-lash", layered.MPLASH, layered.Options{}},
	{"mp-lash without step 4", layered.MPLASH, layered.Options{Step4: layered.Off, Seed: 2}},
	{"a-lash", layered.ALASH, layered.Options{}},
	{"a-lash without step 4", layered.ALASH, layered.Options{Step4: layered.Off, Seed: 2}},
	{"a-lash that does not move", layered.ALASH, layered.Options{Move: layered.Off}},
}

// shortest requires that no way of any pair is longer than it must be.
func shortest(t testing.TB, r *layered.Routing) {
	t.Helper()
	for s := range r.Graph.Switches {
		if injection(r.Graph, weft.SwitchID(s)) == weft.NoPort {
			continue
		}
		for d := range r.Graph.NICs {
			to, _ := r.Graph.SwitchOf(weft.NICID(d))
			for _, a := range r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d)) {
				w := way{r: r, to: weft.NICID(d), path: a.Path}
				w.follow(weft.SwitchID(s), injection(r.Graph, weft.SwitchID(s)), a.VC, 0)
				require.Equal(t, r.Graph.SwitchDistance(weft.SwitchID(s), to), w.hops, "%s on %s: from switch %d to %d by %+v",
					r.Engine, r.Graph.Spec, s, to, a)
				require.Less(t, int(a.VC), r.Layers)
				if a.Layers != 0 {
					require.Zero(t, a.Layers>>r.Layers)
				}
			}
		}
	}
}

func TestLayeredShortestPathsCannotDeadlockOnGraphsOfAllShapes(t *testing.T) {
	t.Parallel()
	for _, g := range shapes(t) {
		for _, l := range lashes {
			t.Run(l.name+" "+g.Spec, func(t *testing.T) {
				t.Parallel()
				shortest(t, sound(t, l.e, g, l.o))
			})
		}
	}
}

func TestLayeredShortestPathsCannotDeadlockOnRandomGraphs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		g := randomGraph(t, seed)
		l := lashes[int(seed)%len(lashes)]
		t.Run(fmt.Sprint(l.name, seed), func(t *testing.T) {
			t.Parallel()
			shortest(t, sound(t, l.e, g, l.o))
		})
	}
}

func TestLayeredShortestPathsCannotDeadlockOnAnySmallGraph(t *testing.T) {
	t.Parallel()
	for n := 2; n <= testenv.N(5, 4); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			graphs := 0
			eachConnected(t, n, func(g *topology.Graph) {
				graphs++
				for _, l := range lashes {
					shortest(t, sound(t, l.e, g, l.o))
				}
			})
			require.Equal(t, map[int]int{2: 1, 3: 4, 4: 38, 5: 728}[n], graphs)
		})
	}
}

// eachConnected makes all connected graphs of n switches that are named, without parallel links.
func eachConnected(t testing.TB, n int, f func(g *topology.Graph)) {
	var pairs [][2]int
	for a := range n {
		for b := range a {
			pairs = append(pairs, [2]int{b, a})
		}
	}
	for set := range 1 << len(pairs) {
		var links [][2]int
		part := make([]int, n)
		for s := range part {
			part[s] = s
		}
		for i, p := range pairs {
			if set>>i&1 == 0 {
				continue
			}
			links = append(links, p)
			from, to := part[p[0]], part[p[1]]
			for s := range part {
				if part[s] == from {
					part[s] = to
				}
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(part)))) == 1 {
			f(wired(t, fmt.Sprintf("graph %d of %d switches", set, n), n, links, one))
		}
	}
}

func TestTreesAndFullMeshesNeedOneLayer(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"irregular:40,39,1", "irregular:64,63,2", "irregular:20,190,1", "kary-ntree:3,3"} {
		for _, l := range lashes {
			r, err := l.e(t.Context(), parse(t, spec), l.o)
			require.NoError(t, err)
			require.Equal(t, 1, r.Layers, "%s on %s", l.name, spec)
		}
	}
}

// layers computes routings of graphs of n switches and twice as many links, of seeds up to last,
// and counts their layers.
func layers(t testing.TB, n, last int, e engine, o layered.Options) (most int, mean float64) {
	for seed := 1; seed <= last; seed++ {
		r, err := e(t.Context(), parse(t, fmt.Sprintf("irregular:%d,%d,%d", n, 2*n, seed)), o)
		require.NoError(t, err)
		most, mean = max(most, r.Layers), mean+float64(r.Layers)/float64(last)
	}
	return most, mean
}

// The paper never needed more than three layers at 32 switches and six at 128, nor MP-LASH more
// than six at 64.
func TestFewLayersSufficeForGraphsWithTwiceAsManyLinksAsSwitches(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	pair := layered.Options{Paths: layered.ByPair}
	both := layered.Options{Both: true}
	for _, c := range []struct {
		name    string
		n, last int
		e       engine
		o       layered.Options
		most    int
		mean    float64
	}{
		{"lash", 32, 100, layered.LASH, layered.Options{}, 3, 2.2},
		{"lash", 64, 100, layered.LASH, layered.Options{}, 4, 3.1},
		{"lash", 128, 20, layered.LASH, layered.Options{}, 5, 4.9},
		{"lash by pair", 64, 20, layered.LASH, pair, 3, 3.01},
		{"lash by pair", 128, 6, layered.LASH, pair, 4, 4.01}, // the sixth needs 5 without the rounds for few pairs
		{"lash both", 64, 50, layered.LASH, both, 4, 3.6},
		{"lash both", 128, 6, layered.LASH, both, 6, 5.5},
		{"mp-lash", 64, 10, layered.MPLASH, layered.Options{Step4: layered.Off}, 5, 5.01},
		{"a-lash", 64, 10, layered.ALASH, layered.Options{Step4: layered.Off}, 6, 5.9},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.n), func(t *testing.T) {
			t.Parallel()
			most, mean := layers(t, c.n, testenv.Levels(c.last, (c.last+2)/3, 1), c.e, c.o)
			require.LessOrEqual(t, most, c.most)
			require.LessOrEqual(t, mean, c.mean)
		})
	}
}

func TestRoundsEmptyTheLastLayer(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	g := parse(t, "irregular:64,128,1")
	few, err := layered.LASH(t.Context(), g, layered.Options{Paths: layered.ByPair})
	require.NoError(t, err)
	r := sound(t, layered.LASH, g, layered.Options{Paths: layered.ByPair, Rounds: 2000})
	shortest(t, r)
	require.Equal(t, 3, few.Layers)
	require.Equal(t, 2, r.Layers)
	require.Equal(t, "lash:paths=pair,rounds=2000", r.Engine)
	// With too few rounds everything is put back.
	r = sound(t, layered.LASH, g, layered.Options{Paths: layered.ByPair, Rounds: 1})
	shortest(t, r)
	require.Equal(t, 3, r.Layers)
}

// perLayer counts the source/address pairs in each layer.
func perLayer(r *layered.Routing) []int {
	sizes := make([]int, r.Layers)
	for s := range r.Graph.Switches {
		for d := range r.Graph.NICs {
			if to, _ := r.Graph.SwitchOf(weft.NICID(d)); int(to) == s {
				continue
			}
			for _, a := range r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d)) {
				sizes[a.VC]++
			}
		}
	}
	return sizes
}

func TestBalancingMakesLayersEquallyFull(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:64,128,5")
	squares := func(sizes []int) (sum int) {
		for _, n := range sizes {
			sum += n * n
		}
		return sum
	}
	for _, c := range []struct {
		e engine
		o layered.Options
	}{
		{layered.LASH, layered.Options{}},
		{layered.LASH, layered.Options{Both: true}},
		{layered.LASH, layered.Options{Paths: layered.ByPair, Both: true}},
		{layered.LASH, layered.Options{Paths: layered.ByPair, Layers: 6}},
		// Section 8.2: "the source/address pairs were distributed among the layers as evenly as possible".
		{layered.MPLASH, layered.Options{Step4: layered.Off}},
	} {
		balanced := sound(t, c.e, g, c.o)
		c.o.Balance = layered.Off
		as := sound(t, c.e, g, c.o)
		require.Equal(t, max(as.Layers, c.o.Layers), balanced.Layers)
		require.Less(t, squares(perLayer(balanced)), squares(perLayer(as))*9/10, "%v after %v", perLayer(balanced),
			perLayer(as))
	}
}

// What LASH does not need for freedom from deadlock carries packets too.
func TestLayersThatAreGivenAreUsed(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:64,128,5")
	for name, e := range map[string]engine{"lash": layered.LASH, "mp-lash": layered.MPLASH, "a-lash": layered.ALASH} {
		few := sound(t, e, g, layered.Options{})
		n := perLayer(sound(t, e, g, layered.Options{Layers: few.Layers + 2}))
		require.Len(t, n, few.Layers+2, name)
		require.Greater(t, 4*slices.Min(n), slices.Max(n), "%s: %v", name, n)
	}
}

func TestBothDirectionsOfAPairAreInOneLayerWhenAskedFor(t *testing.T) {
	t.Parallel()
	for _, o := range []layered.Options{
		{Both: true},
		{Both: true, Paths: layered.ByPair},
		{Both: true, Layers: 2, Fallback: layered.FallUpDn},
		{Both: true, Layers: 2, Fallback: layered.Longer},
		{Both: true, Paths: layered.ByPair, Layers: 2, Fallback: layered.Longer},
	} {
		r := sound(t, layered.LASH, parse(t, "irregular:48,96,1,nics=2"), o)
		for s := range r.Graph.Switches {
			for d := range r.Graph.Switches {
				there := r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(2*d))
				back := r.Assignment.Addresses(weft.SwitchID(d), weft.NICID(2*s))
				require.Equal(t, there[0].VC, back[0].VC, "%s: between %d and %d", r.Engine, s, d)
			}
		}
	}
}

func TestTheSameSeedGivesTheSameLayers(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:32,64,4")
	for _, l := range lashes {
		first, err := l.e(t.Context(), g, l.o)
		require.NoError(t, err)
		again, err := l.e(t.Context(), g, l.o)
		require.NoError(t, err)
		require.Equal(t, first, again, l.name)
		l.o.Seed += 100
		other, err := l.e(t.Context(), g, l.o)
		require.NoError(t, err)
		require.NotEqual(t, first, other, l.name)
	}
}

func TestLASHByDestinationHasOnePathASwitch(t *testing.T) {
	t.Parallel()
	r, err := layered.LASH(t.Context(), parse(t, "irregular:32,64,1"), layered.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, r.Tables.Paths())
	require.Equal(t, "lash", r.Engine)
	require.Equal(t, layered.Deterministic, r.Kind)
}

func TestSwitchesWithoutNICsTakeNoRoomInLayers(t *testing.T) {
	t.Parallel()
	// Of a ring of eight only two neighbours have NICs: what the others would send through the ring
	// would need another layer.
	ring := [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 0}}
	g := wired(t, "ring", 8, ring, func(s int) int { return (s + 2) / 2 % 4 / 3 })
	require.Len(t, g.NICs, 2)
	for _, l := range lashes {
		r := sound(t, l.e, g, l.o)
		require.Equal(t, 1, r.Layers, l.name)
		require.Empty(t, r.Assignment.Addresses(0, 0))
	}
}

// Each destination has as many equal ways as there are spines. When the load of a way was taken
// from before its tree grew, one of them had all 60.
func TestTreesOfAFatTreeUseAllOfItsSpines(t *testing.T) {
	t.Parallel()
	r := sound(t, layered.LASH, parse(t, "kary-ntree:4,3"), layered.Options{})
	most, _ := loads(r)
	require.Equal(t, 1, r.Layers)
	require.LessOrEqual(t, most, 24) // 16 if all were alike
}
