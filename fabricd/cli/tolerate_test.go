package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/weft-fabric/weft/harness/testenv"
)

// tolerated runs fabricd tolerate --json, which must end with that code, and reads its lines.
func toleratedLines(t *testing.T, code int, args ...string) (lines []map[string]any) {
	t.Helper()
	out, errs, got := fabricd(t, append([]string{"tolerate", "--json"}, args...)...)
	require.Equal(t, code, got, errs)
	require.Empty(t, errs)
	for line := range strings.Lines(out) {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		lines = append(lines, v)
	}
	return lines
}

// Symmetries, and how many goroutines there are, change nothing.
func TestTolerateCountsTheSameWithoutSymmetry(t *testing.T) {
	t.Parallel()
	plain := func(args ...string) map[string]any {
		v := toleratedLines(t, 1, append([]string{"-t", "torus:3x4", "-m", "I", "--faults", "3"}, args...)...)[0]
		for _, name := range []string{"seconds", "judged", "symmetries"} {
			delete(v, name)
		}
		return v
	}
	want := plain()
	assert.Equal(t, want, plain("--no-symmetry"))
	assert.Equal(t, want, plain("--jobs", "5"))
	samples := plain("--samples", "5000", "--sim-seed", "3")
	assert.Equal(t, samples, plain("--samples", "5000", "--sim-seed", "3", "--jobs", "1"))
	assert.NotEqual(t, samples, plain("--samples", "5000", "--sim-seed", "4"))
	assert.InDelta(t, want["not_tolerated_share"], samples["not_tolerated_share"],
		3*samples["not_tolerated_error"].(float64))
}

func TestTolerateFindsLimits(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	v := toleratedLines(t, 0, "--limit", "-m", "D,I,M,I+D,Ix2,Ix2+D")
	for i, want := range []float64{0, 1, 3, 5, 5, 9} {
		assert.Equal(t, want, v[i]["tolerates"], v[i]["mechanisms"])
		assert.Len(t, v[i]["example"].(map[string]any)["links"], int(want)+1)
	}
	v = toleratedLines(t, 0, "--limit", "-t", "torus:3x3", "-m", "Ix9,Ix9+D")
	for i := range v {
		assert.Equal(t, []any{true, 18.0, nil}, []any{v[i]["any"], v[i]["tolerates"], v[i]["example"]}, "whatever dies")
	}
	// What is known of mechanisms that are included saves work and changes nothing.
	v = toleratedLines(t, 0, "--limit", "-t", "torus:4x4", "-m", "I+M,I+D+M,M,D+M,Ix2,I")
	for _, known := range v {
		alone := toleratedLines(t, 0, "--limit", "-t", "torus:4x4", "-m", known["mechanisms"].(string))[0]
		assert.Equal(t, alone["tolerates"], known["tolerates"], known["mechanisms"])
	}
	v = toleratedLines(t, 0, "--limit", "-m", "I+D", "--region", "distance-1", "--center", "s0.0.0")
	assert.Equal(t, 33.0, v[0]["links"])
}
