package layered_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// share counts the pairs of different switches with NICs in each layer.
func share(r *layered.Routing) []int {
	n := make([]int, r.Layers)
	seen := map[[2]weft.SwitchID]bool{}
	for d := range r.Graph.NICs {
		to, _ := r.Graph.SwitchOf(weft.NICID(d))
		for s := range r.Graph.Switches {
			at := [2]weft.SwitchID{weft.SwitchID(s), to}
			for _, a := range r.Assignment.Addresses(at[0], weft.NICID(d)) {
				if at[0] != to && !seen[at] {
					n[a.VC]++
				}
			}
			seen[at] = true
		}
	}
	return n
}

func TestPairsAreDealtEvenlyToLayers(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:16,32,1,nics=2")
	for name, e := range map[string]engine{
		"updn": layered.UpDown, "d-mroots": layered.DMRoots,
		"minimal-hop": layered.MinimalHop,
	} {
		for layers := 1; layers <= 16; layers++ {
			r, err := e(t.Context(), g, layered.Options{Layers: layers})
			require.NoError(t, err)
			require.Equal(t, layers, r.Layers)
			n := share(r)
			require.LessOrEqual(t, slices.Max(n)-slices.Min(n), 1, "%s: %v", name, n)
			for d := range g.NICs {
				for s := range g.Switches {
					a, b := r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d)),
						r.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d^1))
					require.Equal(t, a, b, "NICs of a switch share the layer")
					require.Len(t, a, 1, "packets of a pair stay in order")
				}
			}
		}
	}
	a, err := layered.UpDown(t.Context(), g, layered.Options{Layers: 2})
	require.NoError(t, err)
	b, err := layered.UpDown(t.Context(), g, layered.Options{Layers: 2, Seed: 1})
	require.NoError(t, err)
	require.NotEqual(t, a.Assignment, b.Assignment, "the seed deals")
}

func TestAdaptivePacketsMoveBetweenAllLayersUnlessTheyMayNot(t *testing.T) {
	t.Parallel()
	g := parse(t, "irregular:8,16,1")
	for o, want := range map[layered.Options][]weft.Address{
		{}:                             {{}},
		{Layers: 3}:                    {{Layers: 7}, {Layers: 7, VC: 1}, {Layers: 7, VC: 2}},
		{Layers: 2, Move: layered.Off}: {{}, {VC: 1}},
		{Layers: 2, Move: layered.On}:  {{Layers: 3}, {Layers: 3, VC: 1}},
	} {
		r := sound(t, layered.UpDownAdaptive, g, o)
		require.Equal(t, want, r.Assignment.Addresses(3, 5))
		require.Equal(t, layered.Adaptive, r.Kind)
	}
}

// loads are the most and the sum of the pairs that go over one channel, a pair of a source switch
// and a destination NIC counted once.
func loads(r *layered.Routing) (most, sum int) {
	for _, n := range r.Dependencies(context.Background()).Loads {
		most, sum = max(most, n), sum+n
	}
	return most, sum
}

func TestEqualWaysShareTheLoad(t *testing.T) {
	t.Parallel()
	pair := wired(t, "pair", 2, [][2]int{{0, 1}, {0, 1}, {0, 1}}, func(int) int { return 6 })
	for name, e := range map[string]engine{
		"updn": layered.UpDown, "updn by destination": layered.UpDownByDestination,
		"minimal-hop": layered.MinimalHop,
	} {
		r, err := e(t.Context(), pair, layered.Options{})
		require.NoError(t, err)
		most, sum := loads(r)
		require.Equal(t, 12, sum)
		require.Equal(t, 2, most, name)
	}
	// The mean of a torus is 27, 3 hops of 1,296 pairs over 144 channels. Choosing by what the next
	// channel carries alone gives 47.
	r, err := layered.MinimalHop(t.Context(), parse(t, "torus:6x6"), layered.Options{})
	require.NoError(t, err)
	most, sum := loads(r)
	require.Equal(t, 36*36*3, sum)
	require.LessOrEqual(t, most, 40)
}

func BenchmarkUpDown(b *testing.B) {
	engines := []struct {
		name   string
		engine engine
	}{
		{"updn", layered.UpDown},
		{"updn-by-destination", layered.UpDownByDestination},
		{"updn-adaptive", layered.UpDownAdaptive},
		{"d-mroots", layered.DMRoots},
		{"mroots", layered.MRoots},
		{"escape", layered.EscapePaths},
		{"minimal-hop", layered.MinimalHop},
	}
	for _, n := range []int{128, 1024} {
		g := parse(b, fmt.Sprintf("irregular:%d,%d,1", n, 2*n))
		for _, e := range engines {
			b.Run(fmt.Sprintf("engine=%s/switches=%d", e.name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := e.engine(b.Context(), g, layered.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
