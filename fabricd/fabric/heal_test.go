package fabric_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

// healed requires, of a fabric that is quiet, what both firmwares promise for up to k-1 dead links:
// only what was on the wires and in the queues of the cut links is lost, and nothing is discarded.
func healed(t *testing.T, h *harness.Harness) {
	t.Helper()
	h.RequireLedger(harness.NoneDiscarded)
	require.NoError(t, h.Fabric().LossesExplained())
}

func TestEachOfThe128LinksAloneIsCutUnderLoadAndHeals(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	some := testenv.Levels(128, 9, 3)
	spec, _ := loadedTree()
	for name, f := range linkFirmware {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, spec, harness.Firmware(f), loaded())
			links := betweenSwitches(h.Topology())
			require.True(t, spec != tree || len(links) == 128)
			more(h, 100)
			for i, l := range links {
				if i%(len(links)/some) != 0 {
					continue
				}
				cut(h, l)
				more(h, 20)
				restore(h, l)
				more(h, 20)
				require.Zero(t, h.Fabric().ReroutedInLastGeneration(),
					"%s is back, and packets generated since were re-routed", l.Name)
				require.Zero(t, h.Fabric().Ledger().Discarded, "%s", l.Name)
				fresh(h)
			}
			healed(t, h)
			require.Len(t, h.Fabric().Faults(), some)
			allPairs(t, h)
			assert.Zero(t, h.Fabric().ReroutedInLastGeneration())
		})
	}
}

func anyOf(r *rand.Rand, links []topology.Link, most int) (set []topology.Link) {
	for _, i := range r.Perm(len(links))[:most] {
		set = append(set, links[i])
	}
	return set
}

// inOneGroup draws all but one of the links that lead up from one switch: the most a switch group
// may lose, and then there is one way left, which is found only by trying them all.
func inOneGroup(r *rand.Rand, links []topology.Link, most int) (set []topology.Link) {
	below := links[r.IntN(len(links))].B.Node
	for _, i := range r.Perm(len(links)) {
		if links[i].B.Node == below && len(set) < most {
			set = append(set, links[i])
		}
	}
	return set
}

func TestRandomSetsOfThreeLinksAreCutOneByOneUnderLoadAndHeal(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	sets := testenv.Levels(30, 2, 2) // one of each kind
	spec, _ := loadedTree()
	for name, f := range linkFirmware {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, spec, harness.Firmware(f), loaded())
			links := betweenSwitches(h.Topology())
			most := h.Topology().Place(0).Tree.K - 1 // three of a 4-ary tree
			r := rand.New(rand.NewPCG(testenv.Seed(t, 1), 3))
			for i := range sets {
				set := anyOf(r, links, most)
				if i%2 == 1 {
					set = inOneGroup(r, links, most)
				}
				for _, l := range set {
					h.Cut(ends(h, l))
					more(h, 20)
				}
				require.Zero(t, h.Fabric().Ledger().Discarded, "%v", set)
				for _, l := range set {
					restore(h, l)
				}
				more(h, 20)
				require.Zero(t, h.Fabric().ReroutedInLastGeneration(), "%v", set)
				require.Zero(t, h.Fabric().Ledger().Discarded, "%v", set)
				fresh(h)
			}
			require.Positive(t, reroutes(h))
			healed(t, h)
		})
	}
}
