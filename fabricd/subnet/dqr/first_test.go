package dqr_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Each switch has one of two tables, drawn at random. Packets may come to a dead link by old ones;
// they never go round, and take turns only of old and new paths.
func TestInWhateverOrderSwitchesGetTablesPacketsTakeOldAndNewTurnsOnly(t *testing.T) {
	t.Parallel()
	for i, routing := range cases(t)[:8] {
		g := routing.Graph
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		for range testenv.Levels(6, 3, 1) {
			w := newWatch(t, routing, dqr.Options{})
			old, err := w.r.Routing()
			require.NoError(t, err)
			known := map[turn]bool{}
			for x := range w.old {
				known[x] = true
			}
			l := between(g)[rng.IntN(len(between(g)))]
			w.change([]weft.LinkID{l}, nil)
			for x := range w.old {
				known[x] = true
			}
			first, err := w.r.First()
			require.NoError(t, err)
			last, err := w.r.Routing()
			require.NoError(t, err)
			for range 4 {
				for _, pair := range [][2]*layered.Routing{{old, first}, {first, last}} {
					draw := make([]*layered.Routing, len(g.Switches))
					for s := range draw {
						draw[s] = pair[rng.IntN(2)]
					}
					for s := range weft.SwitchID(len(g.Switches)) {
						for d := range weft.NICID(len(g.NICs)) {
							for _, a := range draw[s].Assignment.Addresses(s, d) {
								mixed(t, w, draw, known, s, d, a)
							}
						}
					}
				}
			}
		}
	}
}

func mixed(t *testing.T, w *watch, draw []*layered.Routing, known map[turn]bool, at weft.SwitchID, d weft.NICID,
	a weft.Address,
) {
	home, _ := w.g.SwitchOf(d)
	in := draw[at].Injected(at)
	var last *layered.Channel
	for hops := 0; at != home; hops++ {
		require.Less(t, hops, 4*len(w.g.Links))
		choices := draw[at].Tables.Choices(at, d, a.Path, in, a.VC)
		require.Len(t, choices, 1)
		c := layered.Channel{From: weft.End{Node: at.Node(), Port: choices[0].Port}, Layer: a.VC}
		if last != nil {
			require.True(t, known[turn{*last, c}], "at switch %d for NIC %d", at, d)
		}
		if w.gone(c) {
			return
		}
		peer, _, ok := w.g.Peer(c.From)
		require.True(t, ok)
		last, at, in = &c, weft.SwitchID(peer.Node.Index), peer.Port
	}
}
