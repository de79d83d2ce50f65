package layered_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/harness/testenv"
)

// layeredEngines are those whose R differs by layer.
var layeredEngines = map[string]engine{
	"d-mroots": layered.DMRoots, "mroots": layered.MRoots,
	"escape": layered.EscapePaths,
}

func TestRootsAndEscapesDeliverAndCannotDeadlockOnGraphsOfAllShapes(t *testing.T) {
	t.Parallel()
	for _, g := range shapes(t) {
		for name, e := range layeredEngines {
			t.Run(name+" "+g.Spec, func(t *testing.T) {
				t.Parallel()
				sound(t, e, g, layered.Options{})
				sound(t, e, g, layered.Options{Layers: 3, Root: "centre", Tree: layered.DepthFirst, Seed: 5})
			})
		}
	}
}

func TestRootsAndEscapesCannotDeadlockOnRandomGraphs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testenv.Levels(60, 24, 8)) {
		g := randomGraph(t, 5000+seed)
		for name, e := range layeredEngines {
			r, err := e(t.Context(), g, layered.Options{Layers: 2 + int(seed%4), Tree: layered.Tree(seed % 2)})
			require.NoError(t, err)
			require.Nil(t, r.Dependencies(t.Context()).Cycle(), "%s of %s", name, g.Spec)
		}
	}
}

// In a chain of nine the roots are 0, then the far end, then the middle, then a quarter: 2 and 6
// are two from the nearest, and 2 is lower.
func TestRootsAreFarApart(t *testing.T) {
	t.Parallel()
	var chain [][2]int
	for s := range 8 {
		chain = append(chain, [2]int{s, s + 1})
	}
	g := wired(t, "chain", 9, chain, one)
	require.Equal(t, []int32{0, 8, 4, 2, 6, 1, 3, 5, 7, 0, 8}, layered.Roots(t, g, "", 11),
		"and around again when there are no more")
	require.Equal(t, []int32{4, 0, 8}, layered.Roots(t, g, "centre", 3))
	require.Equal(t, []int32{7, 0, 3}, layered.Roots(t, g, "s7", 3))
}

// A hub with five leaves and a tail of four: 0 is nearest to all in sum, but 2 and 1 in the tail
// are three from the farthest, 0 is four. Of these two 2 has the lesser sum.
func TestTheCentreIsNearestToTheFarthestThenInSum(t *testing.T) {
	t.Parallel()
	g := wired(t, "comet", 10, [][2]int{{0, 2}, {2, 1}, {1, 3}, {3, 4}, {0, 5}, {0, 6}, {0, 7}, {0, 8}, {0, 9}}, one)
	require.Equal(t, []int32{2}, layered.Roots(t, g, "centre", 1))
	require.Equal(t, []int32{0}, layered.Roots(t, g, "low", 1))
	require.Equal(t, []int32{0}, layered.Roots(t, parse(t, "ring:6"), "centre", 1), "of equals the lowest")
}

// In a ring of six Up*/Down* turns nobody around at the switch opposite to the root. With a root of
// its own each layer turns others back.
func TestEachLayerHasItsOwnRoot(t *testing.T) {
	t.Parallel()
	g := parse(t, "ring:6")
	r := sound(t, layered.MRoots, g, layered.Options{Layers: 2})
	hops := func(s, d int, layer weft.VC) int {
		w := way{r: r, to: weft.NICID(d)}
		w.follow(weft.SwitchID(s), injection(g, weft.SwitchID(s)), layer, 0)
		return w.hops
	}
	require.Equal(t, 4, hops(2, 4, 0), "root 0: 3 is below both its neighbours")
	require.Equal(t, 2, hops(2, 4, 1), "root 3")
	require.Equal(t, 2, hops(1, 5, 0))
	require.Equal(t, 4, hops(1, 5, 1))
	require.Equal(t, []weft.Address{{}, {VC: 1}}, r.Assignment.Addresses(1, 5), "the source chooses, and the packet stays")
	require.Equal(t, layered.MultipleRoots, sound(t, layered.MRoots, g, layered.Options{}).Layers)
}

func TestEscapeTakesAnyShortestPathAndUpDownInItsLayer(t *testing.T) {
	t.Parallel()
	g := parse(t, "torus:4x4")
	r := sound(t, layered.EscapePaths, g, layered.Options{Layers: 3})
	upDown := sound(t, layered.UpDown, g, layered.Options{})
	require.Equal(t, layered.Escape, r.Kind)
	require.Zero(t, r.Escape)
	require.Equal(t, []weft.Address{{Layers: 6, VC: 1}, {Layers: 6, VC: 2}}, r.Assignment.Addresses(0, 5))
	for s := range g.Switches {
		for d := range g.NICs {
			for in := range weft.PortID(g.Switches[s].Ports) {
				require.Equal(t, upDown.Tables.Choices(weft.SwitchID(s), weft.NICID(d), 0, in, 0),
					r.Tables.Choices(weft.SwitchID(s), weft.NICID(d), 0, in, 0))
			}
			if s == d {
				continue
			}
			var want []weft.PortID
			for p, role := range g.Place(weft.SwitchID(s)).Roles {
				peer, _, _ := g.Peer(weft.End{Node: weft.SwitchID(s).Node(), Port: weft.PortID(p)})
				if role == weft.RolePeer &&
					g.SwitchDistance(weft.SwitchID(peer.Node.Index), weft.SwitchID(d)) < g.SwitchDistance(weft.SwitchID(s),
						weft.SwitchID(d)) {
					want = append(want, weft.PortID(p))
				}
			}
			for layer := range weft.VC(2) {
				var got []weft.PortID
				for _, h := range r.Tables.Choices(weft.SwitchID(s), weft.NICID(d), 0, 0, layer+1) {
					got = append(got, h.Port)
				}
				require.Equal(t, want, got)
			}
		}
	}
}

func TestMinimalHopIsShortestAndMayDeadlock(t *testing.T) {
	t.Parallel()
	for _, g := range shapes(t) {
		r, err := layered.MinimalHop(t.Context(), g, layered.Options{})
		require.NoError(t, err)
		delivers(t, r)
		for d := range g.NICs {
			to, _ := g.SwitchOf(weft.NICID(d))
			for s := range g.Switches {
				if in := injection(g, weft.SwitchID(s)); in != weft.NoPort {
					w := way{r: r, to: weft.NICID(d)}
					w.follow(weft.SwitchID(s), in, 0, 0)
					require.Equal(t, g.SwitchDistance(weft.SwitchID(s), to), w.hops)
				}
			}
		}
	}
	r, err := layered.MinimalHop(t.Context(), parse(t, "ring:5"), layered.Options{})
	require.NoError(t, err)
	require.Len(t, r.Dependencies(t.Context()).Cycle(), 5, "around")
}

func TestTheSameSeedGivesTheSameRouting(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:16,32,4")
	for _, e := range []engine{
		layered.UpDown, layered.UpDownAdaptive, layered.UpDownByDestination, layered.DMRoots,
		layered.MRoots, layered.EscapePaths, layered.MinimalHop,
	} {
		o := layered.Options{Seed: 3, Layers: 3}
		a, err := e(t.Context(), g, o)
		require.NoError(t, err)
		b, err := e(t.Context(), g, o)
		require.NoError(t, err)
		require.Equal(t, a.Tables, b.Tables)
		require.Equal(t, a.Assignment, b.Assignment)
	}
}

func TestWhatCannotBeHadIsRefused(t *testing.T) {
	t.Parallel()
	g := parse(t, "ring:5")
	for _, c := range []struct {
		e    engine
		o    layered.Options
		want string
	}{
		{layered.UpDown, layered.Options{Layers: 17}, "layers=17: expected 1 to 16"},
		{layered.DMRoots, layered.Options{Layers: -1}, "layers=-1: expected 1 to 16"},
		{
			layered.EscapePaths,
			layered.Options{Layers: 1},
			"layers=1: escape needs a layer to escape to and at least one beside it: give 2 to 16",
		},
		{layered.UpDownAdaptive, layered.Options{Root: "s9"}, "root=s9: give low, centre or the name of a switch: "},
		{layered.MRoots, layered.Options{Root: "center"}, "root=center: "},
	} {
		_, err := c.e(t.Context(), g, c.o)
		require.ErrorContains(t, err, c.want)
	}
}
