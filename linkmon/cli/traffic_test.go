package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTrafficIsReplacedByWord(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	require.Equal(t, "traffic is uniform:0.05\n", ok(t, "traffic", "uniform:0.05"))
	require.Equal(t, "uniform:0.05", h.Fabric().Traffic().String())
	require.Empty(t, ok(t, "traffic", "none", "--json"))
	require.True(t, h.Quiesce().Balanced)
}
