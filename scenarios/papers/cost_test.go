package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

func TestATopologyIsMeasured(t *testing.T) {
	testenv.Unraced(t)
	var said bytes.Buffer
	require.NoError(t, measureCost(t.Context(), "mport-tree:4,2", &said))
	r, err := parseCost(said.String())
	require.NoError(t, err)
	assert.Equal(t, "mport-tree:4,2", r.topology, "whose comma is none between columns")
	assert.Equal(t, []int{8, 6}, []int{r.nics, r.switches})
	assert.Equal(t, packetCycles/20/8, r.cycles)
	assert.InDelta(t, float64(packetCycles)/400*2.5, float64(r.hops), 30_000,
		"packets at this load, times the switches that they cross")
	assert.Positive(t, r.nsPerHop)
	assert.Less(t, r.nsPerHop, 1e6)
}

func TestAllAreMeasuredInProcessesOfTheirOwn(t *testing.T) {
	testenv.Unraced(t)
	folder := t.TempDir()
	require.NoError(t, measureCosts(t.Context(), folder, []string{"kary-ntree:2,2", "mesh:2x2"}))
	text, err := os.ReadFile(filepath.Join(folder, "cost.csv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, strings.Join(costHeader, ","), lines[0])
	assert.Contains(t, lines[1], `"kary-ntree:2,2",4,4,`)
	r, err := parseCost(strings.ReplaceAll(lines[2], `"`, ""))
	require.NoError(t, err)
	assert.Equal(t, "mesh:2x2", r.topology)
	assert.Greater(t, r.megabytes, 1.0)
	for _, name := range []string{"cost.svg", "cost.png"} {
		assert.FileExists(t, filepath.Join(folder, name))
	}
}

func TestATopologyThatCannotBeMeasuredIsNamed(t *testing.T) {
	testenv.Unraced(t)
	require.ErrorContains(t, measureCost(t.Context(), "kary-ntree:4", &bytes.Buffer{}), "kary-ntree")
	err := measureCosts(t.Context(), t.TempDir(), []string{"mesh:1"})
	require.ErrorContains(t, err, "mesh:1: exit status 2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, measureCost(ctx, "mesh:2x2", &bytes.Buffer{}), context.Canceled)
	require.ErrorIs(t, measureCosts(t.Context(), filepath.Join(t.TempDir(), "no"), []string{"mesh:2x2"}), os.ErrNotExist)
}

func TestALineThatIsNoRowIsNamed(t *testing.T) {
	for _, line := range []string{"", "a,1,2", "a,b,c,1,2,3,4,5,6,7,x", strings.Repeat("x,", 9) + "x"} {
		_, err := parseCost(line)
		require.ErrorContains(t, err, "said", line)
	}
}
