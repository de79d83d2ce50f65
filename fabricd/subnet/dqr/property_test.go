package dqr_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// key is a flow from a switch to an address of a NIC, or to a switch.
type key struct {
	from    weft.SwitchID
	to      weft.Node
	address uint16
}

// turn is a dependency between channels.
type turn struct{ from, to layered.Channel }

// watch looks at a reconfiguration from outside, by its paths and tables.
type watch struct {
	t     require.TestingT
	g     *topology.Graph
	r     *dqr.Reconfiguration
	o     dqr.Options
	dead  cuts
	stays cuts // dead since the last Settle
	paths map[key][]layered.Channel
	old   map[turn]bool // dependencies since the last Settle
	aside int           // changes are by MoveAside, with so many layers; 0: by Fail and Restore
}

func newWatch(t require.TestingT, routing *layered.Routing, o dqr.Options) *watch {
	r, err := dqr.New(context.Background(), routing, o)
	require.NoError(t, err)
	w := &watch{t: t, g: routing.Graph, r: r, o: o, dead: cuts{}, stays: cuts{}, old: map[turn]bool{}}
	w.look()
	return w
}

// look takes the paths in force, and checks the tables, the lists and that the dependencies have no
// cycle.
func (w *watch) look() *layered.Routing {
	routing, err := w.r.Routing()
	require.NoError(w.t, err)
	w.paths = map[key][]layered.Channel{}
	for s := range weft.SwitchID(len(w.g.Switches)) {
		for d := range weft.NICID(len(w.g.NICs)) {
			for address := range routing.Tables.Paths() {
				w.add(key{s, d.Node(), uint16(address)})
			}
			for _, a := range routing.Assignment.Addresses(s, d) {
				w.arrives(routing, s, d, a)
			}
		}
		for d := range weft.SwitchID(len(w.g.Switches)) {
			if w.o.SwitchFlows {
				w.add(key{s, d.Node(), 0})
			}
		}
	}
	for x := range w.old {
		if w.gone(x.from) || w.gone(x.to) {
			delete(w.old, x)
		}
	}
	for x := range w.old {
		require.True(w.t, w.r.Upward(x.from, x.to), "%v", x)
	}
	require.False(w.t, cyclic(w.old))
	require.Zero(w.t, w.r.Miscounted())
	return routing
}

func (w *watch) gone(c layered.Channel) bool {
	_, l, _ := w.g.Peer(c.From)
	return w.dead[l]
}

func (w *watch) add(k key) {
	path, ok := w.r.Way(k.from, k.to, k.address)
	if !ok {
		return
	}
	w.paths[k] = path
	passed := map[weft.Node]bool{k.from.Node(): true}
	for i := range path {
		peer, _, _ := w.g.Peer(path[i].From)
		require.True(w.t, !passed[peer.Node] || w.o.Revisit == dqr.AllowTwice || w.o.Path == dqr.LocalCompulsory,
			"%v passes switch %s twice: %s", k, w.g.Name(peer.Node), names(w.g, k.from, path))
		passed[peer.Node] = true
		require.False(w.t, w.gone(path[i]), "%v goes over a dead link", k)
		if i > 0 {
			w.old[turn{path[i-1], path[i]}] = true
		}
	}
}

// arrives follows tables as packets do.
func (w *watch) arrives(routing *layered.Routing, s weft.SwitchID, d weft.NICID, a weft.Address) {
	home, port := w.g.SwitchOf(d)
	at, in := s, routing.Injected(s)
	var last *layered.Channel
	for range 4 * len(w.g.Links) {
		hops := routing.Tables.Choices(at, d, a.Path, in, a.VC)
		require.Len(w.t, hops, 1, "switch %d, NIC %d", at, d)
		require.Equal(w.t, a.VC, hops[0].In(a.VC))
		if at == home {
			require.Equal(w.t, port, hops[0].Port)
			return
		}
		c := layered.Channel{From: weft.End{Node: at.Node(), Port: hops[0].Port}, Layer: a.VC}
		require.False(w.t, w.gone(c))
		if last != nil {
			w.old[turn{*last, c}] = true
		}
		peer, _, ok := w.g.Peer(c.From)
		require.True(w.t, ok)
		last, at, in = &c, weft.SwitchID(peer.Node.Index), peer.Port
	}
	require.Fail(w.t, "a packet goes round", "from switch %d to NIC %d", s, d)
}

// cyclic takes channels away that nothing leads to, until none is left.
func cyclic(turns map[turn]bool) bool {
	next, waits := map[layered.Channel][]layered.Channel{}, map[layered.Channel]int{}
	for x := range turns {
		next[x.from] = append(next[x.from], x.to)
		waits[x.to]++
		waits[x.from] += 0
	}
	var free []layered.Channel
	for c, n := range waits {
		if n == 0 {
			free = append(free, c)
		}
	}
	for i := 0; i < len(free); i++ {
		for _, c := range next[free[i]] {
			if waits[c]--; waits[c] == 0 {
				free = append(free, c)
			}
		}
	}
	return len(free) != len(waits)
}

// change cuts and repairs links, and checks what became of the flows.
func (w *watch) change(cut, repair []weft.LinkID) *dqr.Result {
	before := w.paths
	for _, l := range repair {
		if !w.stays[l] {
			delete(w.dead, l)
		}
	}
	for _, l := range cut {
		if !w.dead[l] {
			w.dead[l], w.stays[l] = true, w.g.Links[l].BetweenSwitches() // links of NICs carry no dependencies
		}
	}
	asked := cuts{}
	for l := range w.dead {
		asked[l] = true
	}
	for _, l := range repair { // also those that have to wait
		delete(asked, l)
	}
	for _, l := range cut {
		asked[l] = true
	}
	do := w.r.Fail
	if repair != nil {
		do = w.r.Restore
	}
	if w.aside > 0 {
		do = func(ctx context.Context, dead func(*topology.Link) bool) (*dqr.Result, error) {
			return w.r.MoveAside(ctx, dead, repair != nil, w.aside,
				func(dead func(*topology.Link) bool) (*layered.Routing, error) {
					return layered.UpDownByDestination(ctx, w.g.Without(dead), layered.Options{})
				})
		}
	}
	res, err := do(context.Background(), asked.dead)
	require.NoError(w.t, err)
	listed := map[key]bool{}
	for p := range res.Paths() {
		k := key{p.From, p.To, p.Address}
		listed[k] = true
		require.Equal(w.t, before[k], p.Old, "%v", k)
	}
	routing := w.look()
	require.True(w.t, res.Acyclic)
	lost := 0
	for k, path := range before {
		cut := false
		for _, c := range path {
			cut = cut || w.gone(c)
		}
		now, ok := w.paths[k]
		if repair == nil && !cut && (w.aside == 0 || len(path) > 0 && int(path[0].Layer) < w.aside-2) {
			require.Equal(w.t, path, now, "%v was not affected", k)
		}
		if !ok || fmt.Sprint(path) != fmt.Sprint(now) {
			require.True(w.t, listed[k], "%v is not listed: %v, now %v", k, path, now)
		}
		if !ok {
			lost++
		}
	}
	require.GreaterOrEqual(w.t, res.Unroutable, res.Isolated)
	if routing.Tables.Paths() == 1 && !w.o.SwitchFlows {
		require.Equal(w.t, res.Unroutable, w.unroutable(routing))
		require.Equal(w.t, res.Unroutable, routing.Unroutable)
	}
	return res
}

// unroutable counts the pairs of NICs to which nothing is assigned, or whose links are dead.
func (w *watch) unroutable(routing *layered.Routing) (n int) {
	linked := func(d weft.NICID) bool {
		_, l, _ := w.g.Peer(weft.End{Node: d.Node()})
		return !w.dead[l]
	}
	for s := range weft.NICID(len(w.g.NICs)) {
		for d := range weft.NICID(len(w.g.NICs)) {
			a, _ := w.g.SwitchOf(s)
			b, _ := w.g.SwitchOf(d)
			if s != d && (!linked(s) || !linked(d) || a != b && len(routing.Assignment.Addresses(a, d)) == 0) {
				n++
			}
		}
	}
	return n
}

func (w *watch) settle() {
	w.r.Settle()
	w.stays, w.old = cuts{}, map[turn]bool{}
	w.look()
}

// cases are small fabrics with what may be asked of each.
func cases(t testing.TB) []*layered.Routing {
	engine := func(spec string, route func(context.Context, *topology.Graph, layered.Options) (*layered.Routing, error),
		o layered.Options,
	) *layered.Routing {
		r, err := route(t.Context(), topologytest.Parse(t, spec), o)
		require.NoError(t, err)
		return r
	}
	return []*layered.Routing{
		xy(t, topologytest.Parse(t, "mesh:4x4")),
		xy(t, topologytest.Parse(t, "mesh:3x2x3")),
		eCube(t, topologytest.Parse(t, "torus:4x5")),
		tree(t, topologytest.Parse(t, "mport-tree:4,3")),
		engine("irregular:10,18,3", layered.UpDown, layered.Options{}),
		engine("irregular:12,20,5", layered.UpDownByDestination, layered.Options{}),
		engine("torus:4x4", layered.LASH, layered.Options{}),
		engine("torus:4x4", layered.LASH, layered.Options{Paths: layered.ByPair}),
		engine("irregular:9,16,2", layered.DMRoots, layered.Options{Layers: 3}),
		engine("irregular:9,16,4", layered.MRoots, layered.Options{Layers: 2}),
		engine("irregular:8,14,4", layered.MPLASH, layered.Options{}),
	}
}

// play cuts, repairs and settles as the bytes say.
func play(t require.TestingT, routing *layered.Routing, o dqr.Options, moves []byte) {
	w := newWatch(t, routing, o)
	for len(moves) > 1 {
		kind, link := moves[0]%8, weft.LinkID(int(moves[1])%len(w.g.Links))
		moves = moves[2:]
		switch {
		case kind < 4:
			w.change([]weft.LinkID{link}, nil)
		case kind < 6:
			list := []weft.LinkID{}
			for l := range w.dead {
				if kind == 4 || l < link {
					list = append(list, l)
				}
			}
			w.change(nil, list)
		default:
			w.settle()
		}
	}
	w.settle()
	all := []weft.LinkID{}
	for l := range w.dead {
		all = append(all, l)
	}
	res := w.change(nil, all)
	require.Zero(t, res.Isolated)
}

// choices are options by a number, for tables of that topology.
func choices(n int, g *topology.Graph) dqr.Options {
	o := dqr.Options{
		Path: dqr.Path(n % 3), Turns: dqr.Turns(n / 3 % 3), Layers: dqr.LayerSearch(n / 9 % 2),
		Cost: dqr.Cost(n / 18 % 2), SwitchFlows: n/36%2 == 1,
	}
	if n/72%2 == 1 && (dqr.Mesh{}).Fits(g) == nil {
		o.Plugin = dqr.Mesh{}
	}
	return o
}

func TestWhateverIsCutRepairedAndSettledDependenciesLeadUpwardAndFlowsArrive(t *testing.T) {
	t.Parallel()
	for i, routing := range cases(t) {
		t.Run(fmt.Sprint(i, routing.Engine, routing.Graph.Spec), func(t *testing.T) {
			t.Parallel()
			runs := testenv.Levels(12, 2, 1)
			for seed := range runs {
				rng := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				moves := make([]byte, 20)
				for i := range moves {
					moves[i] = byte(rng.Uint32())
				}
				play(t, routing, choices(seed*13+i*5, routing.Graph), moves)
			}
		})
	}
}

func TestWithEntriesByDestinationTheSameHolds(t *testing.T) {
	t.Parallel()
	routings := cases(t)
	for i, n := range []int{0, 3, 5, 6} {
		for seed := range testenv.Levels(4, 2, 1) {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			moves := make([]byte, 20)
			for i := range moves {
				moves[i] = byte(rng.Uint32())
			}
			o := choices(seed*13+i*5, routings[n].Graph)
			o.Entries = dqr.ByDestination
			play(t, routings[n], o, moves)
		}
	}
}

func FuzzReconfiguration(f *testing.F) {
	f.Add(uint8(0), uint8(0), []byte{0, 3, 0, 9, 6, 0, 4, 0})
	f.Add(uint8(6), uint8(36), []byte{0, 3, 6, 0, 0, 9, 4, 0, 6, 0, 0, 7})
	f.Add(uint8(4), uint8(73), []byte{1, 1, 1, 2, 1, 3, 6, 6, 4, 4})
	routings := cases(f)
	f.Fuzz(func(t *testing.T, fabric, options uint8, moves []byte) {
		if len(moves) > 24 {
			return
		}
		routing := routings[int(fabric)%len(routings)]
		play(t, routing, choices(int(options), routing.Graph), moves)
	})
}
