package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
)

func TestVerifyDoesAsItsFlagsSay(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	result := func(args ...string) (r verify.Result) {
		out, errs, code := fabricd(t, append([]string{"verify", "--json", "-t", "kary-ntree:2,3"}, args...)...)
		require.NotEqual(t, command.ExitUnusable, code, errs)
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		return r
	}
	r := result("--routing", "adaptive-link", "--faults", "2-3", "--samples", "5", "--kind", "any", "--sim-seed", "7")
	assert.EqualValues(t, 10, r.FaultSets)
	assert.Equal(t, []int{2, 3}, []int{r.ByFaults[0].Faults, r.ByFaults[1].Faults})
	assert.Equal(t, []string{"any", "shared", "before"}, []string{string(r.Kind), r.Registers, r.When})
	other := result("--routing", "adaptive-link", "--faults", "2-3", "--samples", "5", "--kind", "any", "--sim-seed", "8")
	assert.NotEqual(t, r.States, other.States, "other sets are drawn")

	r = result("--faults", "2", "--samples", "5", "--registers", "alone", "--vcs", "3", "--jobs", "1")
	assert.EqualValues(t, 5, r.FaultSets, "samples are of exactly so many faults")
	assert.Equal(t, "alone", r.Registers)
	assert.Equal(t, 3, r.VCs)

	r = result("--routing", "adaptive-link", "--fixed-choice", "--faults", "2")
	assert.Positive(t, r.Deadlocks)
	assert.NotEmpty(t, r.Symmetry)
	assert.Less(t, r.Explored, r.FaultSets)
	r = result("--routing", "adaptive-link", "--no-symmetry", "--faults", "2")
	assert.Empty(t, r.Symmetry)
	assert.Equal(t, r.Explored, r.FaultSets)

	r = result("--routing", "deterministic-link", "--kind", "switch", "--when", "arriving", "--faults", "1")
	assert.False(t, r.Pass)
	assert.Equal(t, "arriving", r.When)
	assert.Equal(t, verify.Switches, r.Kind)
	r = result("--routing", "deterministic-switch", "--kind", "switch", "--when", "flapping", "--faults", "1")
	assert.True(t, r.Pass)

	r = result("--routing", "updown", "--faults", "3", "--first", "--jobs", "1")
	assert.Less(t, r.FaultSets, uint64(1+16+120+560))
	assert.Equal(t,
		[]string{"stopped at the first set in which something is wrong: the counts are of the sets explored until then"},
		r.Notes)
}

func TestVerifyComparesWithUpDownTablesAndWithWhatIsPhysicallyPossible(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	out, errs, _ := fabricd(t, "verify", "-t", "kary-ntree:2,3", "--routing", "deterministic-link", "--faults", "4",
		"--compare", "--json")
	require.Empty(t, errs)
	var r verify.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	for i, s := range r.ByFaults {
		require.True(t, s.Compared)
		assert.LessOrEqual(t, s.UpDown, s.Physical)
		assert.LessOrEqual(t, s.Connected, s.Physical)
		if i < 2 {
			assert.Equal(t, s.Sets, s.UpDown, "k-1 faults are none to up/down tables made anew")
		} else {
			assert.Less(t, s.UpDown, s.Physical)
		}
	}
}

func TestVerifyRefusesLongLinesOfSets(t *testing.T) {
	t.Parallel()
	path := write(t, strings.Repeat("s1.00,", 1<<18))
	refused(t, path+":1: a line of more than 1048576 bytes", "verify", "--sets", path)
}
