package verify

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Firmware that says that it is cyclic decides about every destination as about the first of its
// orbit.
func TestCyclicFirmwareDecidesAboutDestinationsAlike(t *testing.T) {
	for _, on := range []string{"kary-ntree:3,3", "mport-tree:4,3", "kary-ntree:2,4", "leaf-spine:2,4,2"} {
		for _, fw := range firmware.All() {
			if !fw.Cyclic {
				continue
			}
			for _, kind := range []Kind{Links, Any} {
				r := lazyRunOf(t, Config{
					Graph: topologytest.Parse(t, on), Firmware: fw, Sets: Sets{Kind: kind, Max: 2},
				})
				o := newMortals(r.model, &r.Sets, false)
				alike, w := newOrbits(r, newTurns(r.model, o)), newLazyWalk(r.model, 2, o)
				require.NotNil(t, alike)
				require.Equal(t, 1, alike.every)
				compared := 0
				for f := range r.model.flows {
					if alike.turn[f] > 0 {
						continue
					}
					require.NoError(t, w.walk(t.Context(), f))
					for _, to := range alike.turns[1:] {
						assert.True(t, w.mirrors(alike, f, int(to.nics[f])), "%s on %s: %d", fw.Name, on, f)
						compared++
					}
				}
				assert.Equal(t, len(r.model.flows)-len(r.model.flows)/alike.size(), compared)
			}
		}
	}
}

// A firmware that treats one destination otherwise is found out by what it decides about that one,
// or, in a tree where a sample is compared, by this: every destination is compared then.
func TestADestinationThatIsNotAsTheOthersIsExploredByItself(t *testing.T) {
	odd := firmware.DeterministicLink()
	route := odd.Route
	odd.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if n := len(sw.Place().Tree.W); pkt.Dst%49 == 48 && sw.Place().Tree.Leaf() && n > 0 && at.From == weft.RoleUp {
			return switching.Discard("not that one")
		}
		return route(pkt, at, sw)
	}
	for _, c := range []struct {
		on   string
		says bool
		odd  uint64
	}{
		{"kary-ntree:7,2", false, 48 - 6},
		{"kary-ntree:7,3", true, 7 * (342 - 6)},
		{"kary-ntree:7,3", false, 7 * (342 - 6)},
	} {
		odd.Cyclic = c.says
		r := lazyRun(t, c.on, odd, 0)
		found, err := r.find(t.Context(), (*lazyWalk).relevant)
		require.NoError(t, err)
		assert.Equal(t, c.odd, uint64(found.sum.failing), c.on)
	}
	r := lazyRun(t, "kary-ntree:7,3", alwaysOdd(6*49), 0)
	found, err := r.find(t.Context(), (*lazyWalk).relevant)
	require.NoError(t, err)
	assert.NotEmpty(t, found.doubt)
	assert.Equal(t, 49*(342-6), found.sum.failing)
}

// alwaysOdd says that it is cyclic, and loses all that goes up to the last of the subtrees below the
// highest switches, whose first NIC is given.
func alwaysOdd(first weft.NICID) switching.Firmware {
	fw := firmware.DeterministicLink()
	route := fw.Route
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if pkt.Dst >= first && at.From == weft.RoleUp {
			return switching.Discard("not there")
		}
		return route(pkt, at, sw)
	}
	return fw
}
