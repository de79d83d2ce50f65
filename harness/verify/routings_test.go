package verify_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
)

// The firmwares themselves, by what the engines compute: every pair, address, layer and choice.
func TestRoutingsOfIrregularTopologiesConnectEveryPairWithoutDeadlock(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, c := range []struct {
		routing string
		acyclic bool // adaptive layers beside an escape layer have circles, in which nothing need wait
	}{
		{"updn-adaptive", true},
		{"mroots:layers=3", true},
		{"lash", true},
		{"mp-lash", true},
		{"a-lash", false},
		{"escape", true},
		{"updn", true},
		{"updn:layers=3,tree=dfs", true},
		{"updn-adaptive:layers=3", true},
		{"updn-adaptive:layers=3,move=false", true},
		{"d-mroots:layers=3", true},
		{"lash:paths=pair", true},
		{"mp-lash:step4=true", true},
		{"a-lash:move=false", true},
		{"escape:layers=4", true},
	}[:testenv.Levels(15, 8, 4)] {
		t.Run(c.routing, func(t *testing.T) {
			t.Parallel()
			for _, spec := range []string{"irregular:12,30,2,nics=2", "irregular:16,32,1"}[:testenv.N(2, 1)] {
				g := topologytest.Parse(t, spec)
				fw, vcs, err := subnet.Firmware(t.Context(), c.routing, g)
				require.NoError(t, err)
				r, err := verify.Run(t.Context(), verify.Config{Graph: g, Firmware: fw, VCs: vcs})
				require.NoError(t, err)
				assert.True(t, r.Pass, "%s: %v", spec, r)
				assert.Equal(t, c.acyclic, r.CDGAcyclic, spec)
				assert.Zero(t, r.Livelocks, spec)

				// Dead links cost packets, and nothing else.
				r, err = verify.Run(t.Context(), verify.Config{
					Graph: g, Firmware: fw, VCs: vcs,
					Sets: verify.Sets{Kind: verify.Links, Min: 1, Max: 1},
				})
				require.NoError(t, err)
				assert.Zero(t, r.Deadlocks, spec)
				assert.Zero(t, r.Livelocks, spec)
				assert.Empty(t, r.SourceBased, spec)
			}
		})
	}
}
