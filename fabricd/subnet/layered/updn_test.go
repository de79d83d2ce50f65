package layered_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

type engine = func(context.Context, *topology.Graph, layered.Options) (*layered.Routing, error)

// upDowns are the engines of one root.
var upDowns = map[string]engine{
	"updn": layered.UpDown, "updn by destination": layered.UpDownByDestination, "updn-adaptive": layered.UpDownAdaptive,
}

// small is a graph as that of figure 1: seven switches, two of them linked twice.
//
//	   0
//	 / | \
//	1--2  3      2=4 are two links
//	|  ‖ /|
//	5--4--6
func small(t testing.TB) *topology.Graph {
	return wired(t, "small", 7,
		[][2]int{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 5}, {2, 4}, {2, 4}, {3, 4}, {3, 6}, {4, 5}, {4, 6}}, one)
}

// route is the way of one pair, as the numbers of the switches, by the first port of each entry.
func route(t testing.TB, r *layered.Routing, s, d int) (way []int) {
	t.Helper()
	at, layer := weft.SwitchID(s), r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d))[0].VC
	in := injection(r.Graph, at)
	for range 20 {
		way = append(way, int(at))
		hop, ok := r.Tables.Lookup(at, weft.NICID(d), in, layer)
		require.True(t, ok)
		peer, _, _ := r.Graph.Peer(weft.End{Node: at.Node(), Port: hop.Port})
		if !peer.Node.IsSwitch() {
			require.Equal(t, weft.NICID(d).Node(), peer.Node)
			return way
		}
		at, in = weft.SwitchID(peer.Node.Index), peer.Port
	}
	t.Fatalf("%d to %d: %v", s, d, way)
	return nil
}

// Levels are 0 | 1 2 3 | 4 5 6, and within a level the lower number is the up end. By hand: 5-4-3
// goes up all the way; 3-4-5 down; 5-4-6 goes up to 4 and down; 1-5-4 goes down and up again, so
// 1-2-4 is taken; 6-4-5 up, down; 3-4-2 and 2-4-3 would turn at 4.
func TestUpDownTakesTheShortestLegalWaysOfASmallGraph(t *testing.T) {
	t.Parallel()
	r := sound(t, layered.UpDown, small(t), layered.Options{})
	for _, want := range [][]int{
		{5, 4, 3},
		{3, 4, 5},
		{5, 4, 6},
		{1, 2, 4},
		{6, 4, 5},
		{3, 0, 2},
		{2, 0, 3},
		{5, 1, 0},
		{1, 0, 3},
		{4, 6},
		{6, 4, 2},
		{2, 4, 6},
		{0, 1, 5},
	} {
		require.Equal(t, want, route(t, r, want[0], want[len(want)-1]))
	}
	require.Contains(t, [][]int{{1, 0, 3, 6}, {1, 2, 4, 6}}, route(t, r, 1, 6))

	// From 4 as the root 4 is above 2 and 3, which may then talk by it.
	r = sound(t, layered.UpDown, small(t), layered.Options{Root: "s4"})
	require.Equal(t, []int{3, 4, 2}, route(t, r, 3, 2))
	require.Equal(t, "updn:root=s4", r.Engine)
	// The centre: 0, 2, 3 and 4 reach all in two hops, 4 in the least sum.
	require.Equal(t, route(t, r, 1, 3),
		route(t, sound(t, layered.UpDown, small(t), layered.Options{Root: "centre"}), 1, 3))
}

// The search enters 0, then 1 (of 1, 2, 3 with one link each the lowest), 2 (two links to 0 and 1;
// 5 has one), 4 (the only new neighbour), and there 3 and 5 have two links, 6 one: 3, then 6, then
// 5.
func TestDepthFirstOrderGoesOnWhereMostLinksLeadBack(t *testing.T) {
	t.Parallel()
	r := sound(t, layered.UpDown, small(t), layered.Options{Tree: layered.DepthFirst})
	for _, want := range [][]int{
		{6, 3, 0}, // 3 is above 6
		{5, 4, 6}, // 4 is above both
		{3, 4, 5}, // up, down
		{1, 2, 4}, // down all the way
		{5, 1, 2}, // or 5, 4, 2
	} {
		got := route(t, r, want[0], want[len(want)-1])
		if want[0] == 5 && want[2] == 2 {
			require.Len(t, got, 3)
			continue
		}
		require.Equal(t, want, got)
	}
	require.Equal(t, "updn:tree=dfs", r.Engine)

	// From 3 to 2 two ways are legal: up to 0 and down, and up to 4, which was entered before 3,
	// and up again.
	free := sound(t, layered.UpDownAdaptive, small(t), layered.Options{Tree: layered.DepthFirst})
	require.Equal(t, []tables.Hop{{Port: 0, VC: tables.SameVC}, {Port: 1, VC: tables.SameVC}},
		free.Tables.Choices(3, 2, 0, 3, 0))
	free = sound(t, layered.UpDownAdaptive, small(t), layered.Options{})
	require.Len(t, free.Tables.Choices(3, 2, 0, 3, 0), 1, "breadth-first 4 is below both")
}

// shapes are graphs on which every engine must do: regular ones, those of files, parallel links,
// several NICs on a switch and none.
func shapes(t testing.TB) (list []*topology.Graph) {
	for _, spec := range []string{
		"kary-ntree:2,3", "kary-ntree:4,2", "mport-tree:4,2", "mesh:4x4", "mesh:3x3x2", "torus:4x4", "torus:5x3", "ring:3",
		"ring:8", "ring:9",
		"irregular:2,1,1", "irregular:12,11,5", "irregular:9,36,2", "irregular:16,24,3,nics=3",
	} {
		list = append(list, parse(t, spec))
	}
	return append(list, small(t),
		wired(t, "pair of five links", 2, [][2]int{{0, 1}, {0, 1}, {1, 0}, {0, 1}, {0, 1}}, func(int) int { return 3 }),
		wired(t, "one switch", 1, nil, func(int) int { return 4 }),
		wired(t, "ring of double links, NICs on every other", 6,
			[][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}},
			func(s int) int { return s % 2 * 2 }),
	)
}

// variants are the options that change an orientation.
func variants(g *topology.Graph) (list []layered.Options) {
	for _, root := range []string{"low", "centre", g.Switches[len(g.Switches)-1].Name} {
		list = append(list, layered.Options{Root: root},
			layered.Options{Root: root, Tree: layered.DepthFirst, Layers: 3, Seed: 7})
	}
	return list
}

func TestUpDownDeliversAndCannotDeadlockOnGraphsOfAllShapes(t *testing.T) {
	t.Parallel()
	for _, g := range shapes(t) {
		for name, e := range upDowns {
			t.Run(name+" "+g.Spec, func(t *testing.T) {
				t.Parallel()
				for _, o := range variants(g) {
					sound(t, e, g, o)
				}
			})
		}
	}
}

// randomGraph is an irregular one, with some of its links two or three times, and up to three NICs
// on a switch.
func randomGraph(t testing.TB, seed uint64) *topology.Graph {
	draw := rand.New(rand.NewPCG(seed, 11))
	n := 8 + draw.IntN(57)
	links := min(n*(n-1)/2, n-1+draw.IntN(2*n))
	g := parse(t, fmt.Sprintf("irregular:%d,%d,%d", n, links, seed))
	if seed%2 == 0 {
		return g
	}
	var pairs [][2]int
	for _, l := range g.Links {
		if !l.BetweenSwitches() {
			continue
		}
		for range 1 + draw.IntN(8)/6 {
			pairs = append(pairs, [2]int{int(l.A.Node.Index), int(l.B.Node.Index)})
		}
	}
	draw.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	return wired(t, g.Spec, n, pairs, func(s int) int { return (s + int(seed)) % 4 * draw.IntN(2) })
}

// OpenSM's updn has a cycle on 9 of 20 random graphs with 64 switches.
func TestNoUpDownTableOfAThousandRandomGraphsHasACycle(t *testing.T) {
	t.Parallel()
	const parts = 8
	graphs := uint64(testenv.Levels(1000, 100, 30))
	for part := range uint64(parts) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := 1 + part; seed <= graphs; seed += parts {
				g := randomGraph(t, seed)
				o := layered.Options{
					Seed: seed, Tree: layered.Tree(seed / 2 % 2),
					Root: []string{"low", "centre", g.Switches[seed%8].Name}[seed%3],
				}
				for name, e := range upDowns {
					r, err := e(t.Context(), g, o)
					require.NoError(t, err)
					require.Nil(t, r.Dependencies(t.Context()).Cycle(), "%s of %s, %+v", name, g.Spec, o)
				}
			}
		})
	}
}

// levels is section 4.1 once more: hops to the root, and the lower number of two that are equal.
func levels(g *topology.Graph, root weft.SwitchID) (rank []int) {
	order := make([]weft.SwitchID, len(g.Switches))
	for i := range order {
		order[i] = weft.SwitchID(i)
	}
	slices.SortFunc(order, func(a, b weft.SwitchID) int {
		return cmp.Or(cmp.Compare(g.SwitchDistance(a, root), g.SwitchDistance(b, root)), cmp.Compare(a, b))
	})
	rank = make([]int, len(order))
	for i, s := range order {
		rank[s] = i
	}
	return rank
}

// legalHops counts by search the hops of the shortest legal way from each switch, and all first
// channels of such ways.
func legalHops(g *topology.Graph, rank []int, d weft.SwitchID) [2][]int {
	var hops [2][]int // that may still go up; that have gone down
	for i := range hops {
		hops[i] = slices.Repeat([]int{1 << 20}, len(g.Switches))
		hops[i][d] = 0
	}
	for changed := true; changed; {
		changed = false
		for _, l := range g.Links {
			if !l.BetweenSwitches() {
				continue
			}
			a, b := l.A.Node.Index, l.B.Node.Index
			for _, c := range [][2]uint32{{a, b}, {b, a}} {
				down := rank[c[0]] < rank[c[1]]
				for phase := range hops {
					if phase == 1 && !down {
						continue
					}
					n := hops[0][c[1]] + 1
					if down {
						n = hops[1][c[1]] + 1
					}
					if n < hops[phase][c[0]] {
						hops[phase][c[0]], changed = n, true
					}
				}
			}
		}
	}
	return hops
}

// Every way is legal and as short as legal ways are, and the adaptive tables have all of them.
func TestUpDownWaysAreTheShortestLegalOnes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testenv.Levels(40, 20, 6)) {
		g := randomGraph(t, 2000+seed)
		rank := levels(g, 0)
		fixed := sound(t, layered.UpDown, g, layered.Options{Layers: 2})
		free := sound(t, layered.UpDownAdaptive, g, layered.Options{})
		lft := sound(t, layered.UpDownByDestination, g, layered.Options{})
		for d := range g.NICs {
			to, _ := g.SwitchOf(weft.NICID(d))
			hops := legalHops(g, rank, to)
			for s := range g.Switches {
				in := injection(g, weft.SwitchID(s))
				if in == weft.NoPort {
					continue
				}
				for _, r := range []*layered.Routing{fixed, free, lft} {
					w := way{r: r, to: weft.NICID(d)}
					down := false
					w.each = func(from, to weft.SwitchID, _ weft.PortID, _ weft.VC) {
						if r == free {
							return // it is followed to all sides
						}
						require.False(t, down && rank[to] < rank[from], "up after down")
						down = rank[to] > rank[from]
					}
					w.follow(weft.SwitchID(s), in, 0, 0)
					if r == lft {
						require.GreaterOrEqual(t, w.hops, hops[0][s])
					} else {
						require.Equal(t, hops[0][s], w.hops)
					}
				}
				adaptive(t, free, rank, hops, weft.SwitchID(s), weft.NICID(d))
			}
		}
	}
}

// adaptive requires of a switch all first channels of the shortest legal ways, for each in port.
func adaptive(t *testing.T, r *layered.Routing, rank []int, hops [2][]int, s weft.SwitchID, d weft.NICID) {
	if to, _ := r.Graph.SwitchOf(d); to == s {
		return
	}
	for in, role := range r.Graph.Place(s).Roles {
		phase := 0
		if role == weft.RolePeer {
			peer, _, _ := r.Graph.Peer(weft.End{Node: s.Node(), Port: weft.PortID(in)})
			if rank[peer.Node.Index] < rank[s] {
				phase = 1
			}
		}
		var want, got []weft.PortID
		for p, role := range r.Graph.Place(s).Roles {
			if role != weft.RolePeer {
				continue
			}
			peer, _, _ := r.Graph.Peer(weft.End{Node: s.Node(), Port: weft.PortID(p)})
			down := rank[peer.Node.Index] > rank[s]
			after := 0
			if down {
				after = 1
			}
			if (down || phase == 0) && hops[after][peer.Node.Index]+1 == hops[phase][s] {
				want = append(want, weft.PortID(p))
			}
		}
		for _, h := range r.Tables.Choices(s, d, 0, weft.PortID(in), 0) {
			got = append(got, h.Port)
		}
		require.Equal(t, want, got)
	}
}

func TestByDestinationNoInPortMatters(t *testing.T) {
	t.Parallel()
	g := randomGraph(t, 77)
	for _, r := range []*layered.Routing{sound(t, layered.UpDownByDestination, g, layered.Options{Tree: layered.DepthFirst})} {
		for s := range g.Switches {
			for d := range g.NICs {
				first := r.Tables.Choices(weft.SwitchID(s), weft.NICID(d), 0, weft.NoPort, 0)
				require.Len(t, first, 1)
				for in := range weft.PortID(g.Switches[s].Ports) {
					require.Equal(t, first, r.Tables.Choices(weft.SwitchID(s), weft.NICID(d), 0, in, 0))
				}
			}
		}
	}
}
