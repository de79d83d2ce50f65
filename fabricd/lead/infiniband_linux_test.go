package lead_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/lead"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/harness/rig"
)

// NICs inject nothing before a manager has written tables, so no packet is discarded.
func TestAFabricThatWaitsForItsManagerDiscardsNothing(t *testing.T) {
	ownRegistry(t)
	ended := make(chan lead.Result, 1)
	l, err := lead.Start(t.Context(), lead.Config{
		Name: "lab", Listen: "127.0.0.1:0", InfiniBand: fmt.Sprintf("weft-lead-%d", os.Getpid()), InfiniBandPriority: 1,
		Settings: settings.Settings{
			Topology: "kary-ntree:2,2", Routing: subnet.FromManager, Traffic: "uniform:0.2",
		},
		Observer: lead.Observer{Ended: func(r lead.Result) { ended <- r }},
	})
	require.NoError(t, err)
	rig.Until(t, func() bool { return l.Term().Fabric.Totals().Delivered > 100 }, "no manager lets NICs inject")
	require.NoError(t, l.Close())
	r := <-ended
	require.True(t, r.Ledger.Balanced)
	require.Zero(t, r.Ledger.Lost+r.Ledger.Discarded, "%+v", r.Ledger)
}
