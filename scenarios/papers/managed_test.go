package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestACutIsRepairedByTheManagerOverTheBrokerAndTheLedgerBalances(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for _, x := range [][3]string{
		{"kary-ntree:2,3", "ftree", "ddrc"},
		{"kary-ntree:2,3", "hybrid", "ddrc"},
		{"mesh:3x3", "xy", "dqr"},
	} {
		t.Run(x[1]+" "+x[2], func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, x[0])
			traffic, err := settings.ParseTraffic("uniform:0.2")
			require.NoError(t, err)
			f, err := startManaged(t.Context(), managedConfig{
				Graph: g, Routing: x[1], Method: x[2], Traffic: traffic, Seed: 1, Link: settings.Link{Paced: true},
				Patience: rig.Patience, // a switch on a busy machine takes its tables late
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			r, err := f.CutManaged(t.Context(), g.Links[0].ID)
			require.NoError(t, err)
			c := r.Reconfiguration
			require.Positive(t, c.InForceSeconds)
			require.InDelta(t, c.InForceSeconds, c.DetectSeconds+c.ComputeSeconds+c.DrainSeconds+c.DistributeSeconds, 1e-6,
				"phases follow each other")
			require.Positive(t, c.Switches)
			require.Zero(t, c.Unroutable)
			for gone := f.Settling(); !gone(); { // packets that went by the old tables
				require.NoError(t, f.Pause(t.Context(), time.Millisecond, nil))
			}
			was := f.Ledger().Discarded
			require.NoError(t, f.Pause(t.Context(), 100*time.Millisecond, nil))
			require.Equal(t, was, f.Ledger().Discarded, "nothing is sent to the dead link any more")
			require.NoError(t, f.RestoreManaged(t.Context(), g.Links[0].ID))
			require.NoError(t, f.StopTraffic())
			ledger, err := f.Quiesce(t.Context())
			require.NoError(t, err)
			require.True(t, ledger.Balanced)
			require.Positive(t, ledger.Delivered)
		})
	}
}

func TestAFabricThatNobodyManagesStartsToo(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	g := topologytest.Parse(t, "kary-ntree:2,3")
	f, err := startManaged(t.Context(), managedConfig{Graph: g, Routing: "adaptive-link"})
	require.NoError(t, err)
	_, _, err = f.Cut(g.Links[0].ID)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestAMethodThatDoesNotFitIsToldAndEverythingEnds(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	g, err := topology.Parse("mesh:3x3")
	require.NoError(t, err)
	_, err = startManaged(t.Context(), managedConfig{Graph: g, Routing: "xy", Method: "ddrc"})
	require.ErrorContains(t, err, "tree")
}
