package scenario_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/virtual/world"
)

// virtually makes the world of a run in virtual time.
func virtually() fabric.World { return world.New() }

func TestShippedScenariosHoldInVirtualTime(t *testing.T) {
	t.Parallel()
	for _, path := range shipped(t) {
		s := read(t, path)
		t.Run(s.Name, func(t *testing.T) {
			r, err := scenario.Runner{World: virtually}.Run(t.Context(), s)
			require.NoError(t, err)
			assert.True(t, r.Pass, "%v", r.Failed)
			fmt.Println(s.Name, r.Seconds, r.VirtualSeconds, r.EventHash, r.Ledger.Injected, r.Totals.PacketHops)
		})
	}
}
