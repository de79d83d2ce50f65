package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/chart"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestRoutingsAreMeasuredAtTheSizesNamed(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	folder := t.TempDir()
	require.NoError(t, measureRoutings(t.Context(), []string{folder, "8", "300"}))
	text, err := os.ReadFile(filepath.Join(folder, "routes-cost.csv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	assert.Equal(t, strings.Join(routesHeader, ","), lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "lash,8,16,5,"), lines[1])
	assert.NotContains(t, string(text), "mp-lash:step4=false,300", "it is measured up to 256")
	for _, name := range []string{"routes-cost.svg", "routes-cost.png"} {
		assert.FileExists(t, filepath.Join(folder, name))
	}
}

func TestTimesAreInOrder(t *testing.T) {
	r, err := measureRoutes(t.Context(), "lash", 16)
	require.NoError(t, err)
	assert.Positive(t, r.least)
	assert.LessOrEqual(t, r.least, r.middle)
	assert.LessOrEqual(t, r.middle, r.top)
	assert.Positive(t, r.layers)
}

func TestMeasuringRoutingsEndsWhenItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, measureRoutings(ctx, []string{t.TempDir(), "8"}), context.Canceled)
}

func TestTimesOfOpenSMAreReadWhereThereAreAny(t *testing.T) {
	folder := t.TempDir()
	got, err := opensmTimes(folder)
	require.NoError(t, err)
	assert.Empty(t, got)
	put := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "opensm.csv"), []byte(text), 0o600))
	}
	head := "topology,opensm_layers,opensm_refused,opensm_ms,lash layers\n"
	put(head +
		"\"irregular:128,256,1\",8,false,900.5,5\n\"irregular:64,128,1\",5,false,50,3\n\"irregular:64,128,2\",5,false,40,3\n" +
		"\"irregular:64,128,3\",5,false,60,3\n\"irregular:64,128,4\",0,true,0,3\n")
	got, err = opensmTimes(folder)
	require.NoError(t, err)
	assert.Equal(t, []chart.Point{{X: 64, Y: 50, Low: 40, High: 60}, {X: 128, Y: 900.5, Low: 900.5, High: 900.5}}, got)
	for text, says := range map[string]string{
		"a,b\n":                                  "the columns are",
		head + "ring:8,1,false,2,3\n":            `opensm.csv:2: topology "ring:8"`,
		head + "\"irregular:8,1\",1,false,x,3\n": "opensm.csv:2: opensm_ms",
		head + "1\n":                             "wrong number of fields",
	} {
		put(text)
		_, err := opensmTimes(folder)
		require.ErrorContains(t, err, says)
	}
}
