package cli_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/testenv"
)

// rerouted runs fabricd reroute, which must end with that code, and puts a dot for each time.
func rerouted(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, errs, got := fabricd(t, append([]string{"reroute"}, args...)...)
	require.Equal(t, code, got, errs)
	require.Empty(t, errs)
	return regexp.MustCompile(`\d+\.\d+ s\b`).ReplaceAllString(out, ". s")
}

// answered is rerouted with --json.
func answered(t *testing.T, code int, args ...string) (v map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(rerouted(t, code, append(args, "--json")...)), &v))
	return v
}

// Of the first fault in a mesh of n x n under XY the mean share of flows moved is 1/(3(n-1)).
func TestTheMeanShareOfFlowsMovedIsExact(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for spec, n := range map[string]float64{"mesh:3x3": 3, "mesh:4x4": 4, "mesh:5x5": 5, "mesh:8x8": 8} {
		v := answered(t, 0, "-t", spec, "--plugin", "mesh", "--all")
		by := v["by_faults"].([]any)[0].(map[string]any)
		assert.InDelta(t, 1/(3*(n-1)), by["share"], 1e-12, spec)
		assert.Equal(t, 2*n*(n-1), by["tolerated"])
		assert.Equal(t, 1.0, by["tolerated_share"])
		assert.Equal(t, v["runs"], by["connected"])
		assert.Equal(t, v["runs"], by["joined"])
		assert.Zero(t, by["emptied"])
	}
}

func TestFaultsAreDrawnBySeed(t *testing.T) {
	t.Parallel()
	args := []string{"-t", "mesh:4x4", "--random", "30", "--faults", "6", "--path", "compulsory"}
	one := rerouted(t, command.ExitFailed, args...)
	assert.Equal(t, one, rerouted(t, command.ExitFailed, args...))
	assert.NotEqual(t, one, rerouted(t, command.ExitFailed, append(args, "--sim-seed", "2")...))
	by := answered(t, command.ExitFailed, args...)["by_faults"].([]any)
	last := 31.0
	for _, b := range by {
		n := b.(map[string]any)["tolerated"].(float64)
		assert.LessOrEqual(t, n, last, "what has failed stays so")
		last = n
	}
}
