package dqr_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/tables"
)

func lash(t *testing.T, spec string) *layered.Routing {
	t.Helper()
	r, err := layered.LASH(t.Context(), topologytest.Parse(t, spec), layered.Options{})
	require.NoError(t, err)
	return r
}

// Links die and come back. Two layers beyond the engine's are enough for any sequence, when packets
// settle between; no entry becomes another one that packets ask, and what is new is all there
// before a source sends by it.
func TestFlowsThatMoveAsideChangeNoEntryThatPacketsAsk(t *testing.T) {
	t.Parallel()
	for i, routing := range []*layered.Routing{
		lash(t, "irregular:12,20,5"), lash(t, "irregular:16,32,3"), lash(t, "torus:4x4"),
		xy(t, topologytest.Parse(t, "mesh:4x4")), tree(t, topologytest.Parse(t, "kary-ntree:2,3")),
	} {
		g := routing.Graph
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		w := newWatch(t, routing, dqr.Options{Entries: dqr.ByDestination})
		w.aside = routing.Layers + 2
		links := between(g)
		for range testenv.Levels(40, 20, 8) {
			before, err := w.r.Routing()
			require.NoError(t, err)
			l := links[rng.IntN(len(links))]
			var res *dqr.Result
			switch {
			case w.dead[l]:
				res = w.change(nil, []weft.LinkID{l})
			case joins(t, g, w.dead, l) && len(w.dead) < 4:
				res = w.change([]weft.LinkID{l}, nil)
			default:
				continue
			}
			require.True(t, res.Tolerated())
			require.Zero(t, res.Isolated)
			keepsAsked(t, before, w.r)
			w.settle()
		}
		for range 2 { // those that left a spare layer come home at once, those from other paths after they have settled
			w.change(nil, append([]weft.LinkID{}, links...))
			w.settle()
		}
		home, err := w.r.Routing()
		require.NoError(t, err)
		for s := range weft.SwitchID(len(g.Switches)) {
			for d := range weft.NICID(len(g.NICs)) {
				require.Equal(t, routing.Assignment.Addresses(s, d), home.Assignment.Addresses(s, d), "all are home")
			}
		}
	}
}

// joins reports whether live links still join all switches when a link dies too.
func joins(t *testing.T, g *topology.Graph, dead cuts, l weft.LinkID) bool {
	_, err := layered.UpDownByDestination(t.Context(),
		g.Without(func(x *topology.Link) bool { return dead[x.ID] || x.ID == l }), layered.Options{})
	return err == nil
}

// keepsAsked checks the entries that packets of some tables ask, until they come to where tables
// have none.
func keepsAsked(t *testing.T, before *layered.Routing, r *dqr.Reconfiguration) {
	t.Helper()
	first, err := r.First()
	require.NoError(t, err)
	last, err := r.Routing()
	require.NoError(t, err)
	g := before.Graph
	for s := range weft.SwitchID(len(g.Switches)) {
		only := func(x *layered.Routing) tables.Program { return tables.Program{Tables: x.Tables} }
		require.True(t, tables.Diff(s, only(first), only(last), 1, 2).Empty(), "sources alone are left for the second round")
		for d := range weft.NICID(len(g.NICs)) {
			require.Equal(t, before.Assignment.Addresses(s, d), first.Assignment.Addresses(s, d))
			for _, a := range before.Assignment.Addresses(s, d) {
				at, in := s, before.Injected(s)
				for home, _ := g.SwitchOf(d); at != home; {
					hops := before.Tables.Choices(at, d, a.Path, in, a.VC)
					require.Equal(t, hops, last.Tables.Choices(at, d, a.Path, in, a.VC))
					peer, _, _ := g.Peer(weft.End{Node: at.Node(), Port: hops[0].Port})
					at, in = weft.SwitchID(peer.Node.Index), peer.Port
				}
			}
		}
	}
}

func TestWithoutASpareLayerNothingMovesAside(t *testing.T) {
	t.Parallel()
	routing := lash(t, "irregular:16,32,3")
	g := routing.Graph
	links := between(g)
	around := func(dead func(*topology.Link) bool) (*layered.Routing, error) {
		return layered.UpDownByDestination(t.Context(), g.Without(dead), layered.Options{})
	}
	aside := func(r *dqr.Reconfiguration, layers int, dead ...weft.LinkID) error {
		c := cuts{}
		for _, l := range dead {
			c[l] = true
		}
		_, err := r.MoveAside(t.Context(), c.dead, false, layers, around)
		return err
	}
	byDestination := dqr.Options{Entries: dqr.ByDestination}
	require.ErrorIs(t, aside(begin(t, routing, byDestination), routing.Layers, links[0]), dqr.ErrNoSpare)

	r := begin(t, routing, byDestination)
	require.NoError(t, aside(r, routing.Layers+1, links[0]))
	r.Settle()
	require.ErrorIs(t, aside(r.Clone(), routing.Layers+1, links[0], links[9]), dqr.ErrNoSpare, "flows are in the only one")
	require.NoError(t, aside(r, routing.Layers+2, links[0], links[9]))
	require.ErrorIs(t, aside(r.Clone(), routing.Layers+2, links[0], links[9], links[20]), dqr.ErrNoSpare,
		"packets are on their way in both")
	r.Settle()
	require.NoError(t, aside(r, routing.Layers+2, links[0], links[9], links[20]),
		"the first is free: its flows went to the other")

	require.ErrorContains(t, aside(begin(t, routing, dqr.Options{}), 16, links[0]), "entries by destination")
}
