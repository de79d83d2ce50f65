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

func TestTolerateJSONIsAnObjectThatScriptsMayRelyOn(t *testing.T) {
	t.Parallel()
	v := toleratedLines(t, 0, "--topology", "torus:3x3x3", "--mechanisms", "I+D", "--faults", "3")
	require.Len(t, v, 1)
	for name, want := range map[string]any{
		"topology": "torus:3x3x3", "mechanisms": "I+D", "faults": 3.0, "fault_sets": 85320.0, "not_tolerated": 0.0, "example": nil, "links": 81.0, "complete": true,
		"symmetries": 216.0,
	} {
		assert.Equal(t, want, v[0][name], name)
	}
	by := v[0]["by_mechanism"].(map[string]any)
	assert.Equal(t, v[0]["pairs_affected"], by["I"].(float64)+by["D"].(float64)+by["I+D"].(float64))
	assert.Greater(t, v[0]["by_mechanism_share"].(map[string]any)["I"], 0.98)
	one := toleratedLines(t, 0, "--mechanisms", "I", "--faults", "1")[0]
	assert.Equal(t, []any{81.0, 4050.0, 50.0}, []any{one["fault_sets"], one["pairs_affected"], one["mean_pairs_affected"]})
	assert.InDelta(t, 0.0685, one["affected_share_of_all"], 0.0001, "the paper's 6.85%")

	v = toleratedLines(t, 1, "-m", "I,M", "-m", "none", "--faults", "1-2")
	require.Len(t, v, 6, "a line for each of the mechanisms and each number of faults")
	assert.Equal(t, "I", v[1]["mechanisms"])
	assert.Equal(t, 81.0, v[1]["not_tolerated"])
	assert.Equal(t, map[string]any{"links": []any{"s0.0.0-s1.0.0", "s1.0.0-s2.0.0"}, "src": "s0.0.0", "dst": "s1.0.0", "unroutable_pairs": 4.0}, v[1]["example"])
	assert.Equal(t, 0.0, v[3]["not_tolerated"])
	assert.Equal(t, 3240.0, v[5]["not_tolerated"])
}

func TestToleratePrintsTables(t *testing.T) {
	t.Parallel()
	out, errs, code := fabricd(t, "tolerate", "-t", "torus:3x3", "-m", "I,I+D", "--faults", "1-2")
	require.Equal(t, 1, code, errs)
	assert.Equal(t, `torus:3x3: sets of dead links of 18 that are not tolerated

faults   sets   I             I+D
1        18     0%            0%
2        153    11.76% (18)   0%
`, out[:strings.Index(out, "\nPairs")])
	assert.Contains(t, out, "I, 2 faults: s0.0-s1.0 s1.0-s2.0: no way from s0.0 to s1.0, and 3 pairs more\n")
}

// What was excused is told, and that there is no mean where no set is tolerated.
func TestTolerateTellsWhatItsTablesLeaveOut(t *testing.T) {
	t.Parallel()
	out, errs, code := fabricd(t, "tolerate", "-t", "mesh:2x3", "-m", "D,I+D", "--faults", "1-2")
	require.Equal(t, 1, code, errs)
	assert.Contains(t, out, "\n\n2 faults: 6 sets (28.57%) with pairs that no live links join; these are excused\n\nPairs", "four corners, and two pairs of neighbours")
	assert.NotContains(t, out, "1 fault: 0 sets")
	assert.Regexp(t, `\nD +1 +- +no set is tolerated\n`, out)
	assert.Regexp(t, `\nI\+D +1 +\d+\.\d +\d+\.\d\d% +I`, out)
	out, _, _ = fabricd(t, "tolerate", "-t", "torus:3x3", "-m", "I,I+D", "--faults", "18")
	assert.Equal(t, 1, strings.Count(out, "18 faults: 1 set (100%) with pairs"), "once for all mechanisms")
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
	assert.InDelta(t, want["not_tolerated_share"], samples["not_tolerated_share"], 3*samples["not_tolerated_error"].(float64))
}

func TestTolerateFindsLimits(t *testing.T) {
	testenv.Long(t)
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
	out, _, code := fabricd(t, "tolerate", "--limit", "-t", "torus:3x3", "-m", "I+D,Ix9")
	assert.Equal(t, 0, code, "it is answered, whatever the answer")
	assert.Contains(t, out, "\nIx9          any")
}

func TestTolerateJudgesAGivenSet(t *testing.T) {
	t.Parallel()
	args := []string{"-t", "torus:4x4", "-m", "I+D,none", "--down", "s0.0-s0.1,s1.1"}
	v := toleratedLines(t, 1, append(args, "--paths")...)
	require.Len(t, v, 2)
	assert.Equal(t, []any{true, 30.0, 68.0, 0}, []any{v[0]["tolerated"], v[0]["isolated_pairs"], v[0]["pairs_affected"], len(v[0]["unroutable"].([]any))},
		"a switch without links is excused, the others go on")
	assert.Len(t, v[0]["ways"], 68)
	assert.Len(t, v[0]["isolated"], 20)
	assert.Len(t, v[1]["unroutable"], 68)
	assert.Empty(t, v[1]["ways"])

	out, errs, code := fabricd(t, append([]string{"tolerate"}, append(args[:4:4], "--down", "s0.0-s0.1", "s0.0", "s0.1")...)...)
	require.Equal(t, 1, code, errs)
	assert.Contains(t, out, "by I+D:\npair           hops   uses   way\ns0.0 to s0.1   3      I+D    ")
	assert.Contains(t, out, "by none:\ns0.0 to s0.1 has no way\n")
	out, errs, code = fabricd(t, "tolerate", "-t", "torus:4x4", "--down", "s0.0-s0.1", "s2.2", "s2.3")
	require.Equal(t, 0, code, errs)
	assert.Contains(t, out, "s2.2 to s2.3   1      none   any shortest path")
	v = toleratedLines(t, 0, "-t", "torus:3x3x3", "-m", "M", "--down", "s0.0.0-s0.0.1", "s0.0.0", "s0.0.1")
	way := v[0]["ways"].([]any)[0].(map[string]any)
	assert.Equal(t, "M", way["uses"])
	assert.NotEmpty(t, way["sub_paths"].([]any)[0].(map[string]any)["misroutes"])
	assert.NotEmpty(t, way["header"])
}

func TestTolerateRefusesWhatItCannotAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"expected at least 2", []string{"-t", "torus:3x1"}},
		{"no mesh, torus or ring", []string{"-t", "kary-ntree:2,2"}},
		{"I+DD", []string{"-m", "I+DD"}},
		{"is empty", []string{"-m", ""}},
		{"16", []string{"-m", "Ix16"}},
		{`distance-1`, []string{"--region", "distance1"}},
		{"--center is for --region", []string{"--center", "s0.0.0"}},
		{"s0.0.9", []string{"--region", "distance-1", "--center", "s0.0.9"}},
		{"--faults 82: 81 links may die", []string{"--faults", "82"}},
		{"--faults 3-1", []string{"--faults", "3-1"}},
		{"more than 2^63 sets", []string{"-t", "torus:8x8x8", "--faults", "14"}},
		{"--faults and --samples: --limit counts no sets", []string{"--limit", "--faults", "3", "--samples", "9"}},
		{"leave one of them out", []string{"--limit", "--down", "s0.0.0-s0.0.1"}},
		{"give --down LINK", []string{"--paths"}},
		{"give --down LINK", []string{"s0.0.0", "s0.0.1"}},
		{"found s0.0.0", []string{"--down", "s0.0.0-s0.0.1", "s0.0.0"}},
		{"to itself", []string{"--down", "s0.0.0-s0.0.1", "s0.0.0", "s0.0.0"}},
		{"s0.0.0-s0.0.3", []string{"--down", "s0.0.0-s0.0.3"}},
		{"links of NICs", []string{"--down", "s0.0.0-n0.0.0"}},
		{"--region and --center", []string{"--down", "s0.0.0-s0.0.1", "--region", "distance-1"}},
		{"--jobs -1: expected 0 to 256", []string{"--jobs", "-1"}},
	} {
		refused(t, c.want, append([]string{"tolerate"}, c.args...)...)
	}
}
