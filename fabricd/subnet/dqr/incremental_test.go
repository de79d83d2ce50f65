package dqr_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// One builds its tables after each change, of the last ones; the other for the first time at the
// end. What packets may do while they are uploaded is found the same in steps as at once.
func TestTablesMadeOfTheLastOnesAreThoseThatAreMadeAnew(t *testing.T) {
	t.Parallel()
	for i, routing := range cases(t)[:8] {
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		steps, err := dqr.New(t.Context(), routing, dqr.Options{})
		require.NoError(t, err)
		once := steps.Clone()
		last, err := steps.Routing()
		require.NoError(t, err)
		links := between(routing.Graph)
		for range 6 {
			cut := links[rng.IntN(len(links))]
			dead := func(l *topology.Link) bool { return l.ID == cut }
			steps = steps.Clone()
			for _, r := range []*dqr.Reconfiguration{steps, once} {
				_, err := r.Restore(t.Context(), dead)
				require.NoError(t, err)
			}
			first, err := steps.First()
			require.NoError(t, err)
			now, err := steps.Routing()
			require.NoError(t, err)
			anew, err := once.Clone().Routing()
			require.NoError(t, err)
			requireAlike(t, anew, now)
			whole, err := once.First()
			require.NoError(t, err)
			requireAlike(t, whole, first)

			var places []layered.Place
			for s := range routing.Graph.Switches {
				d := tables.Diff(routing.Graph.Switches[s].ID, programOf(last), programOf(now), 1, 2)
				nics := len(routing.Graph.NICs)
				for _, set := range d.Set {
					for at := set.At; at < set.At+set.N; at++ {
						x := layered.Place{
							At: d.Switch, Layer: weft.VC(at / nics / now.Tables.Paths()), Path: uint16(at % now.Tables.Paths()),
							Dst: weft.NICID(at / now.Tables.Paths() % nics),
						}
						places = append(places, x)
						for x.Layer++; !now.Tables.PerLayer() && int(x.Layer) < now.Tables.VCs(); x.Layer++ { // one row for all
							places = append(places, x)
						}
					}
				}
				for _, a := range d.Addresses {
					for dst := a.Dst; int(dst) < int(a.Dst)+a.N; dst++ {
						for _, to := range a.List {
							places = append(places, layered.Place{At: d.Switch, Layer: to.VC, Path: to.Path, Dst: dst})
						}
					}
				}
			}
			none := func(weft.LinkID) bool { return false }
			got := layered.NewTransition(last).With(places, last, now)
			require.True(t, layered.Mixture(nil, nil, last, now).Equal(got.Without(none)))
			last = now
			if rng.IntN(2) == 0 {
				steps.Settle()
				once.Settle()
			}
		}
	}
}

func programOf(r *layered.Routing) tables.Program {
	return tables.Program{Tables: r.Tables, Assignment: r.Assignment}
}

func requireAlike(t *testing.T, want, got *layered.Routing) {
	t.Helper()
	for _, s := range want.Graph.Switches {
		require.True(t, tables.Diff(s.ID, programOf(want), programOf(got), 1, 2).Empty(), s.Name)
	}
}
