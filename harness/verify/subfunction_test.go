package verify_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
)

// Theorem 5 of the fat-tree paper: its routing subfunction meets Duato's condition for link faults.
// For the function that re-routes down two tiers it does not connect every packet, and one that
// avoids the faults' whole groups does.
func TestRoutingSubfunctionsMeetDuatosConditionUpToKMinus1Faults(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, c := range []struct {
		routing, topology string
		kind              verify.Kind
		most              int
		subtrees, groups  uint64 // sets for which the condition holds
		sets              uint64
	}{
		{"misroute-vector", "kary-ntree:2,4", verify.Links, 1, 49, 49, 49},
		{"adaptive-link", "kary-ntree:2,3", verify.Links, 2, 109, 109, 137}, // beyond k-1 it need not
		{"adaptive-switch", "kary-ntree:3,3", verify.Links, 2, 1324, 1486, 1486},
		{"adaptive-link", "kary-ntree:3,3", verify.Links, 2, 1486, 1486, 1486},
		{"adaptive-switch", "kary-ntree:3,3", verify.Any, 2, 2467, 2629, 2629},
		{"adaptive-switch-header", "kary-ntree:4,2", verify.Any, 3, 1351, 1351, 1351},
	}[:testenv.Levels(6, 3, 3)] {
		g := topologytest.Parse(t, c.topology)
		fw, _, err := subnet.Firmware(t.Context(), c.routing, g)
		require.NoError(t, err)
		held := func(f verify.Subfunction) uint64 {
			r, err := verify.Run(context.Background(), verify.Config{
				Graph: g, Firmware: fw,
				Sets: verify.Sets{Kind: c.kind, Max: c.most}, Subfunction: f,
			})
			require.NoError(t, err)
			require.Equal(t, c.sets, r.Duato.Checked)
			return r.Duato.Held
		}
		assert.Equal(t, c.subtrees, held(verify.FaultFreeSubtrees), "%+v", c)
		assert.Equal(t, c.groups, held(verify.FaultFreeGroups), "%+v", c)
	}
}
