package dqr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestThePluginToleratesEverySingleFaultOfAMeshAndEnablesNothingBeyondItsTurns(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 10, 15, 20}[:testenv.Levels(4, 2, 1)] {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, fmt.Sprintf("mesh:%dx%d", n, n))
			r := begin(t, xy(t, g), dqr.Options{Plugin: dqr.Mesh{}})
			links, rerouted := between(g), 0
			if n > 10 {
				links = sampled(links)
			}
			for _, l := range links {
				res := fail(t, r.Clone(), l)
				assert.True(t, res.Tolerated(), "%s: %+v", g.Links[l].Name, res)
				assert.Zero(t, res.NewTurns+res.LocalTurns, g.Links[l].Name)
				rerouted += res.FlowsRerouted
			}
			// The mean share is 1/(3(n-1)): a link of a row, x links from its end, cuts x(n-x)
			// pairs of columns of 2n pairs of switches each, one of a column y(n-y) pairs of rows
			// of as many, and so on over all links.
			if len(links) < 2*n*(n-1) {
				return // not all of them
			}
			assert.Equal(t, len(links)*r.Prepared().FlowsTotal, rerouted*3*(n-1))
		})
	}
}

func TestTheDefaultToleratesEverySingleFaultOfAMeshWithoutAPlugin(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 10}[:testenv.N(2, 1)] {
		g := topologytest.Parse(t, fmt.Sprintf("mesh:%dx%d", n, n))
		r := begin(t, xy(t, g), dqr.Options{})
		for _, l := range between(g) {
			res := fail(t, r.Clone(), l)
			assert.True(t, res.Tolerated(), "%s: %+v", g.Links[l].Name, res)
		}
	}
}
