package dqr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestTheTreeOf648PortsIsConnectedBetweenItsSwitchesAndToleratesEverySingleFaultEndToEnd(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	g := topologytest.Parse(t, "mport-tree:36,2")
	routing := tree(t, g)
	r := begin(t, routing, dqr.Options{Path: dqr.EndToEnd, SwitchFlows: true})
	p := r.Prepared()
	assert.Equal(t, 648*647+2862, p.FlowsTotal)
	assert.Equal(t, 2862, p.FlowsRerouted, "the pairs of switches")
	assert.Zero(t, p.Unroutable)
	assert.True(t, p.Acyclic)
	links := between(g)
	assert.Len(t, links, 648)
	for _, l := range sampled(links) {
		res := fail(t, r.Clone(), l)
		assert.True(t, res.Tolerated(), "%s: %+v", g.Links[l].Name, res)
	}
}

func TestLocalPathsOfTheTreeAreNoHindranceUnlessTheyAreCompulsory(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	g := topologytest.Parse(t, fmt.Sprintf("mport-tree:%d,2", testenv.Levels(36, 20, 20)))
	routing := tree(t, g)
	tolerated, faults := map[dqr.Path]int{}, 0
	for _, path := range []dqr.Path{dqr.LocalPath, dqr.LocalCompulsory} {
		r := begin(t, routing, dqr.Options{Path: path, SwitchFlows: true})
		faults = 0
		for i, l := range between(g) {
			if i%18 == 0 || i%19 == 0 {
				faults++
				if fail(t, r.Clone(), l).Tolerated() {
					tolerated[path]++
				}
			}
		}
	}
	t.Logf("%d faults, tolerated %v", faults, tolerated)
	assert.Equal(t, faults, tolerated[dqr.LocalPath])
	assert.Less(t, tolerated[dqr.LocalCompulsory], faults)
}

// sampled are all links, or some where time is short.
func sampled(links []weft.LinkID) (list []weft.LinkID) {
	stride := testenv.Levels(1, 37, 37)
	for i := 0; i < len(links); i += stride {
		list = append(list, links[i])
	}
	return list
}
