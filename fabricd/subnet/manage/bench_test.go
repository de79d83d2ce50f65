package manage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// A plan after the first fault, and all that is checked of it.
func BenchmarkPlan(b *testing.B) {
	for _, x := range []struct {
		topology, routing, method string
		vcs                       int
	}{
		{"mport-tree:36,2", "ftree", "ddrc", 1},
		{"mport-tree:36,2", "ftree", "dqr", 1},
		{"irregular:128,256,1", "lash", "dqr", 16},
		{"irregular:128,256,1", "lash", "engine", 16},
		{"mesh:20x20", "xy", "dqr", 1},
	} {
		b.Run(x.topology+"/"+x.routing+"/"+x.method, func(b *testing.B) {
			g := topologytest.Parse(b, x.topology)
			p := planner(b, g, x.routing, x.method, x.vcs)
			p.Settled()
			var dead subnet.Dead
			for _, l := range g.Links {
				if l.BetweenSwitches() {
					dead.AddLink(l.ID)
					break
				}
			}
			for b.Loop() {
				_, err := p.Plan(b.Context(), &dead)
				require.NoError(b, err)
			}
		})
	}
}
