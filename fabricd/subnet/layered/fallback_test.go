package layered_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestTooFewLayersAreRefusedAndSaidToBe(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:32,64,1")
	for name, e := range map[string]engine{"lash": layered.LASH, "mp-lash": layered.MPLASH, "a-lash": layered.ALASH} {
		_, err := e(t.Context(), g, layered.Options{Layers: 1})
		require.ErrorContains(t, err, name+" needs ")
		require.ErrorContains(t, err,
			"layers on irregular:32,64,1 and may use 1: allow more virtual channels, or a fallback (updn, longer)")
		for _, n := range []int{-1, 17} {
			_, err = e(t.Context(), g, layered.Options{Layers: n})
			require.EqualError(t, err, fmt.Sprintf("layers=%d: expected 1 to 16, the virtual channels that a link can have", n))
		}
		for _, f := range []layered.Fallback{layered.FallUpDn, layered.Longer} {
			_, err = e(t.Context(), g, layered.Options{Layers: 1, Fallback: f, Root: "s99"})
			require.ErrorContains(t, err, "root=s99", name)
		}
	}
	_, err := layered.LASH(t.Context(), g, layered.Options{Layers: 1})
	require.ErrorContains(t, err, "lash needs 2 layers")
	_, err = layered.MPLASH(t.Context(), g, layered.Options{Limit: -1})
	require.ErrorContains(t, err, "limit=-1: expected")
}

func TestWithTooFewLayersEveryPairHasAWay(t *testing.T) {
	t.Parallel()
	for _, l := range lashes {
		for _, f := range []layered.Fallback{layered.FallUpDn, layered.Longer} {
			for layers := 1; layers <= testenv.Levels(3, 2, 1); layers++ {
				t.Run(fmt.Sprint(l.name, f, layers), func(t *testing.T) {
					t.Parallel()
					for seed := range testenv.Levels(3, 1, 1) {
						o := l.o
						o.Layers, o.Fallback, o.Tree = layers, f, layered.Tree(seed%2)
						r := sound(t, l.e, parse(t, fmt.Sprintf("irregular:40,80,%d,nics=2", seed)), o)
						require.LessOrEqual(t, r.Layers, layers)
					}
				})
			}
		}
	}
}

// longer counts the pairs whose ways are not all shortest, and requires that they are in that
// layer, if given.
func longer(t *testing.T, r *layered.Routing, layer int) (n int) {
	for s := range r.Graph.Switches {
		for d := range r.Graph.NICs {
			to, _ := r.Graph.SwitchOf(weft.NICID(d))
			for _, a := range r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d)) {
				w := way{r: r, to: weft.NICID(d), path: a.Path}
				w.follow(weft.SwitchID(s), injection(r.Graph, weft.SwitchID(s)), a.VC, 0)
				if w.hops > r.Graph.SwitchDistance(weft.SwitchID(s), to) {
					n++
					if layer >= 0 {
						require.EqualValues(t, layer, a.VC)
					}
				}
			}
		}
	}
	return n
}

// Section 8.4: the more layers there are, the fewer paths are longer than they must be, down from
// what Up*/Down* has.
func TestEachLayerMoreMakesFewerPathsLonger(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	g := parse(t, "irregular:64,128,2")
	upDown, err := layered.UpDown(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	for name, e := range map[string]engine{"lash": layered.LASH, "mp-lash": layered.MPLASH, "a-lash": layered.ALASH} {
		for _, f := range []layered.Fallback{layered.FallUpDn, layered.Longer} {
			last := longer(t, upDown, 0)
			for layers := 1; layers <= 4; layers++ {
				r, err := e(t.Context(), g, layered.Options{Layers: layers, Fallback: f, Step4: layered.Off})
				require.NoError(t, err)
				in := layers - 1 // that of Up*/Down*
				if f == layered.Longer {
					in = -1
				}
				n := longer(t, r, in)
				if layers > 1 || f == layered.Longer {
					require.True(t, n < last || n == 0, "%s with %d layers: %d longer paths after %d", name, layers, n, last)
				} else {
					require.Equal(t, last, n, "one layer of %s is Up*/Down*", name)
				}
				last = n
			}
			require.Zero(t, last)
		}
	}
}

// With too few layers for all of its paths MP-LASH keeps one of each pair, and as many more as fit.
func TestPathsAreDroppedBeforePairsFallBack(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:64,128,2")
	for _, e := range []engine{layered.MPLASH, layered.ALASH} {
		all := sound(t, e, g, layered.Options{Step4: layered.Off})
		some := sound(t, e, g, layered.Options{Step4: layered.Off, Layers: all.Layers - 1})
		shortest(t, some)
		count := func(r *layered.Routing) (n int) {
			for s := range g.Switches {
				for d := range g.NICs {
					n += len(r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d)))
				}
			}
			return n
		}
		require.Less(t, count(some), count(all))
		require.Greater(t, count(some), count(all)*9/10)
	}
}

func TestMoreVirtualChannelsAreNotAdvisedWhereThereAreNone(t *testing.T) {
	t.Parallel()
	g := parse(t, "ring:8")
	require.EqualError(t, layered.TooFew("a-lash", g, 33, 16), "a-lash needs 33 layers on ring:8, and a link has at "+
		"most 16: give a fallback (updn, longer), or take another routing, as lash or updn")
	require.ErrorContains(t, layered.TooFew("a-lash", g, 33, 15), "may use 15: allow more virtual channels")
}

// In the layer that is kept for Up*/Down* are the pairs that have no other, and balancing moves none
// there.
func TestTheLayerOfUpDownTakesNoOtherPaths(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:64,128,2")
	for name, e := range map[string]engine{"lash": layered.LASH, "mp-lash": layered.MPLASH, "a-lash": layered.ALASH} {
		for layers := 1; layers <= 2; layers++ {
			o := layered.Options{Layers: layers, Fallback: layered.FallUpDn}
			balanced := perLayer(sound(t, e, g, o))
			o.Balance = layered.Off
			as := perLayer(sound(t, e, g, o))
			require.Len(t, balanced, layers)
			require.Equal(t, as[layers-1], balanced[layers-1], "%s: pairs in each layer: %v after %v",
				name, balanced, as)
		}
	}
}
