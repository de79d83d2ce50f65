package dqr_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// twice counts the flows in force whose path passes a switch twice.
func twice(r *dqr.Reconfiguration, routing *layered.Routing) (n int) {
	g := routing.Graph
	for s := range weft.SwitchID(len(g.Switches)) {
		for d := range weft.NICID(len(g.NICs)) {
			path, _ := r.Way(s, d.Node(), 0)
			passed := map[weft.Node]bool{s.Node(): true}
			for _, c := range path {
				to, _, _ := g.Peer(c.From)
				if passed[to.Node] {
					n++
					break
				}
				passed[to.Node] = true
			}
		}
	}
	return n
}

// Each link dies alone; the paths that the engine made pass none twice.
func TestNoPathPassesASwitchTwiceUnlessThatIsAllowed(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	n := testenv.Levels(64, 32, 32)
	g := topologytest.Parse(t, fmt.Sprintf("irregular:%d,%d,3", n, 2*n))
	routing, err := layered.LASH(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	unroutable, again := map[dqr.Revisit]int{}, map[dqr.Revisit]int{}
	for _, o := range []dqr.Options{{}, {Revisit: dqr.AllowTwice}} {
		r := begin(t, routing, o)
		for _, l := range between(g) {
			c := r.Clone()
			unroutable[o.Revisit] += fail(t, c, l).Unroutable
			again[o.Revisit] += twice(c, routing)
		}
	}
	assert.Zero(t, again[dqr.NeverTwice])
	assert.Positive(t, again[dqr.AllowTwice])
	assert.Equal(t, unroutable[dqr.AllowTwice], unroutable[dqr.NeverTwice], "and no flow is lost by that")
}

// Links die and come back. In these two a flow that comes home would lead others, which join it, to
// a switch that they have passed.
func TestNoFlowThatComesHomeMakesOthersPassASwitchTwice(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		topology string
		engine   func(context.Context, *topology.Graph, layered.Options) (*layered.Routing, error)
		layers   int
		seed     uint64
	}{
		{"irregular:20,42,4", layered.DMRoots, 3, 7},
		{"irregular:24,50,6", layered.LASH, 0, 0},
	} {
		routing, err := x.engine(t.Context(), topologytest.Parse(t, x.topology), layered.Options{Layers: x.layers})
		require.NoError(t, err)
		links, r := between(routing.Graph), begin(t, routing, dqr.Options{})
		rng := rand.New(rand.NewPCG(x.seed, 1))
		dead := cuts{}
		for range 40 {
			for range 1 + rng.IntN(3) {
				if l := links[rng.IntN(len(links))]; dead[l] {
					delete(dead, l)
				} else if len(dead) < 8 {
					dead[l] = true
				}
			}
			_, err := r.Restore(t.Context(), dead.dead)
			require.NoError(t, err)
			if rng.IntN(3) > 0 {
				r.Settle()
			}
			require.Zero(t, twice(r, routing), x.topology)
		}
	}
}
