package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRoutingsAreMeasuredAtTheSizesNamed(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, run(t.Context(), []string{folder, "8", "300"}))
	text, err := os.ReadFile(filepath.Join(folder, "routes-cost.csv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	assert.Equal(t, strings.Join(header, ","), lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "lash,8,16,5,"), lines[1])
	assert.NotContains(t, string(text), "mp-lash:step4=false,300", "it is measured up to 256")
	for _, name := range []string{"routes-cost.svg", "routes-cost.png"} {
		assert.FileExists(t, filepath.Join(folder, name))
	}
}

func TestTimesAreInOrder(t *testing.T) {
	r, err := measure(t.Context(), "lash", 16)
	require.NoError(t, err)
	assert.Positive(t, r.least)
	assert.LessOrEqual(t, r.least, r.middle)
	assert.LessOrEqual(t, r.middle, r.top)
	assert.Positive(t, r.layers)
}

func TestWhatCannotBeMeasuredIsNamed(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), nil), "give the folder")
	require.ErrorContains(t, run(t.Context(), []string{t.TempDir(), "x"}), `"x" switches`)
	require.ErrorContains(t, run(t.Context(), []string{t.TempDir(), "4"}), "from 5 on")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run(ctx, []string{t.TempDir(), "8"}), context.Canceled)
}
