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
)

// The command runs itself: as a test it is the test's binary, which is then the command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestATopologyIsMeasured(t *testing.T) {
	var said bytes.Buffer
	require.NoError(t, one(t.Context(), "mport-tree:4,2", &said))
	r, err := parse(said.String())
	require.NoError(t, err)
	assert.Equal(t, "mport-tree:4,2", r.topology, "whose comma is none between columns")
	assert.Equal(t, []int{8, 6}, []int{r.nics, r.switches})
	assert.Equal(t, packetCycles/20/8, r.cycles)
	assert.InDelta(t, float64(packetCycles)/400*2.5, float64(r.hops), 30_000, "packets at this load, times the switches that they cross")
	assert.Positive(t, r.nsPerHop)
	assert.Less(t, r.nsPerHop, 1e6)
}

func TestAllAreMeasuredInProcessesOfTheirOwn(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, all(t.Context(), folder, []string{"kary-ntree:2,2", "mesh:2x2"}))
	text, err := os.ReadFile(filepath.Join(folder, "cost.csv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, strings.Join(header, ","), lines[0])
	assert.Contains(t, lines[1], `"kary-ntree:2,2",4,4,`)
	r, err := parse(strings.ReplaceAll(lines[2], `"`, ""))
	require.NoError(t, err)
	assert.Equal(t, "mesh:2x2", r.topology)
	assert.Greater(t, r.megabytes, 1.0)
	for _, name := range []string{"cost.svg", "cost.png"} {
		assert.FileExists(t, filepath.Join(folder, name))
	}
}

func TestWhatCannotBeMeasuredIsNamed(t *testing.T) {
	require.ErrorContains(t, one(t.Context(), "kary-ntree:4", &bytes.Buffer{}), "kary-ntree")
	err := all(t.Context(), t.TempDir(), []string{"mesh:1"})
	require.ErrorContains(t, err, "mesh:1: exit status 1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, one(ctx, "mesh:2x2", &bytes.Buffer{}), context.Canceled)
	require.ErrorIs(t, all(t.Context(), filepath.Join(t.TempDir(), "no"), []string{"mesh:2x2"}), os.ErrNotExist)
}

func TestALineThatIsNoRowIsNamed(t *testing.T) {
	for _, line := range []string{"", "a,1,2", "a,b,c,1,2,3,4,5,6,7,x", strings.Repeat("x,", 9) + "x"} {
		_, err := parse(line)
		require.ErrorContains(t, err, "said", line)
	}
}
