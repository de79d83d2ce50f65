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

// What is found of the packets from a subtree that another stands for is what is found where all
// are explored.
func TestOneSubtreeStandsForTheOthersButTheDestinations(t *testing.T) {
	for _, on := range []string{"kary-ntree:3,3", "mport-tree:4,3", "leaf-spine:2,4,2", "kary-ntree:4,2"} {
		for _, fw := range firmware.All() {
			for _, kind := range []Kind{Links, Any} {
				config := Config{Graph: topologytest.Parse(t, on), Firmware: fw, Sets: Sets{Kind: kind, Max: 2}}
				if check := config; check.check() != nil || !fw.Cyclic || fw.ChannelNumber == nil {
					continue
				}
				r := lazyRunOf(t, config)
				o := newMortals(r.model, &r.Sets, false)
				few, all := newLazyWalk(r.model, 2, o), newLazyWalk(r.model, 2, o)
				few.siblings = newSiblings(r.model, o, newTurns(r.model, o), false)
				require.NotNil(t, few.siblings)
				less := 0
				for f := range r.model.flows {
					require.NoError(t, few.walk(t.Context(), f))
					require.NoError(t, all.walk(t.Context(), f))
					assert.True(t, few.stood, "%s on %s: %d", fw.Name, on, f)
					assert.Equal(t, all.pairs(f), few.pairs(f), "%s on %s: %d", fw.Name, on, f)
					less += len(all.classes) - len(few.classes)
				}
				assert.Positive(t, less)
			}
		}
	}
}

// A subtree from which packets are sent otherwise is found out by what is decided there, and all
// sources are explored; in a tree where a sample is compared, every decision is compared then.
func TestASubtreeThatIsNotAsTheOthersIsExploredByItself(t *testing.T) {
	odd := firmware.DeterministicLink()
	route := odd.Route
	odd.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		place, dst := sw.Place(), int(pkt.Dst)/49
		if place.Tree.Tier == 1 && at.From == weft.RoleDown && place.Tree.Prefix%7 == uint32(dst+3)%7 {
			return switching.Discard("not from there")
		}
		return route(pkt, at, sw)
	}
	for _, says := range []bool{false, true} {
		odd.Cyclic = says
		r := lazyRun(t, "kary-ntree:7,3", odd, 0)
		found, err := r.find(t.Context(), (*lazyWalk).relevant)
		require.NoError(t, err)
		assert.Equal(t, 343*49, found.sum.failing)
		assert.Equal(t, says, found.doubt != "")
	}
}
