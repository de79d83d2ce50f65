package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/verify"
)

func TestVerifyPrintsATableAndAVerdictThatHolds(t *testing.T) {
	t.Parallel()
	out, errs, code := fabricd(t, "verify", "--topology", "kary-ntree:2,3", "--routing", "deterministic-link", "--faults", "1")
	require.Zero(t, code, errs)
	assert.Empty(t, errs, "what takes a moment needs no progress")
	assert.True(t, strings.HasPrefix(out, "kary-ntree:2,3, deterministic-link, 2 virtual channels, faults before the first packet\n\n"), out)
	assert.Regexp(t, `\n +faults +fault sets +all pairs connected +can deadlock\n +0 +1 +1 +100% +0\n +1 +16 +16 +100% +0\n`, out)
	assert.Contains(t, out, "\nholds: 17 fault sets, 56 pairs each: 0 not connected, 0 livelocks, 0 sets that can deadlock, at most 7 hops\n")
	assert.Contains(t, out, "channel dependency graph: no cycle in any set\nchannel numbering: rises on every hop\n")
	assert.Regexp(t, `\n[\d,]+ states in \d+\.\d\d s\n$`, out)
	assert.NotContains(t, out, "counterexample")

	out, errs, code = fabricd(t, "verify", "--topology", "kary-ntree:2,3", "--routing", "adaptive-link", "--faults", "1", "--subfunction", "subtrees")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "1 virtual channel, faults before the first packet, registers shared\n")
	assert.Contains(t, out, "\nDuato's condition: holds in 17 of 17 sets that leave fault-free subtrees\n")
	assert.Regexp(t, `\nsymmetry: .*: \d of 17\n`, out)
}

func TestVerifyShowsTheSmallestCounterexample(t *testing.T) {
	t.Parallel()
	out, _, code := fabricd(t, "verify", "--topology", "kary-ntree:2,3", "--routing", "updown", "--faults", "2")
	require.Equal(t, command.ExitFailed, code)
	assert.Regexp(t, `\n +0 +1 +1 +100% +0\n +1 +16 +0 +0% +0\n +2 +120 +4 +3\.33% +0\n`, out)
	assert.Contains(t, out, "\nFAILS: 137 fault sets, ")
	assert.Regexp(t, `by rule, .*\n +[\d,]+  2: the down link is dead\n`, out)
	assert.Regexp(t, `\ncounterexample: unconnected with s\S+-s\S+ dead, n\d+ to n\d+:\n    1  s2\.\d\d from n\d+ vc0  \(1: up\) -> `, out)
	assert.Contains(t, out, "vc0  (2: the down link is dead)\n    2: the down link is dead\n")
}

func TestVerifyJSONIsOneObjectThatScriptsMayRelyOn(t *testing.T) {
	t.Parallel()
	keys := []string{"pass", "fault_sets", "pairs", "unconnected", "livelocks", "cdg_acyclic", "max_hops", "counterexample"}
	for _, c := range []struct {
		routing string
		code    int
	}{{"adaptive-link", command.ExitOK}, {"updown", command.ExitFailed}} {
		out, errs, code := fabricd(t, "verify", "-t", "kary-ntree:2,3", "--routing", c.routing, "--faults", "1", "--json")
		require.Equal(t, c.code, code, errs)
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(out), &v), "one object")
		for _, k := range keys {
			require.Contains(t, v, k)
		}
		assert.Equal(t, c.code == command.ExitOK, v["pass"])
		assert.EqualValues(t, 17, v["fault_sets"])
		assert.EqualValues(t, 56, v["pairs"])
		assert.Equal(t, c.routing, v["routing"])
		if c.code == command.ExitOK {
			assert.Nil(t, v["counterexample"])
			continue
		}
		counter := v["counterexample"].(map[string]any)
		assert.Equal(t, verify.Unconnected, counter["what"])
		assert.Len(t, counter["faults"], 1, "the smallest set")
		assert.NotEmpty(t, counter["path"])
	}
}

func TestVerifyDoesAsItsFlagsSay(t *testing.T) {
	t.Parallel()
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
	assert.Contains(t, strings.Join(r.Notes, "\n"), "stopped at the first set in which something is wrong")
}

func TestVerifyTakesGivenSets(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sets")
	require.NoError(t, os.WriteFile(file, []byte("# two\n\ns0.00-s1.00, s1.11 # mixed\n s1.00-s0.00\ts0.01\n"), 0o600))
	args := []string{"verify", "-t", "kary-ntree:2,3", "--routing", "updown", "--json"}
	for _, c := range []struct {
		args  []string
		sizes []int
		sets  []uint64
	}{
		{[]string{"--set", ""}, []int{0}, []uint64{1}},
		{[]string{"--set", "s0.00-s1.00,s1.10", "--set", "s0.01"}, []int{1, 2}, []uint64{1, 1}},
		{[]string{"--sets", file, "--set", "s0.01"}, []int{1, 2}, []uint64{1, 2}},
	} {
		out, errs, code := fabricd(t, append(args, c.args...)...)
		require.NotEqual(t, command.ExitUnusable, code, errs)
		var r verify.Result
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		var sizes []int
		var sets []uint64
		for _, s := range r.ByFaults {
			sizes, sets = append(sizes, s.Faults), append(sets, s.Sets)
		}
		assert.Equal(t, c.sizes, sizes)
		assert.Equal(t, c.sets, sets)
		assert.Empty(t, r.Kind)
	}
}

func TestVerifyRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	none := write("none.yaml", "switches: [{id: a, ports: 2}, {id: b, ports: 2}]\nlinks: [{a: a, b: b}]\n")
	for _, c := range []struct {
		want string
		args []string
	}{
		{`unknown routing "adaptive-lnik": did you mean "adaptive-link"?`, []string{"--routing", "adaptive-lnik"}},
		{`unknown topology "karyntree:2,2": did you mean "kary-ntree"?`, []string{"-t", "karyntree:2,2"}},
		{"firmware adaptive-link routes trees only", []string{"-t", "torus:4x4", "--routing", "adaptive-link"}},
		{"none.yaml has 0 NICs, and a pair needs two", []string{"-t", none}},
		{`unknown kind of fault "links": did you mean "link"?`, []string{"--kind", "links"}},
		{`unknown value of --when "arrivin": did you mean "arriving"?`, []string{"--when", "arrivin"}},
		{`unknown value of --registers "shard": did you mean "shared"?`, []string{"--registers", "shard"}},
		{"--faults -1: expected a number of faults", []string{"--faults", "-1"}},
		{"--faults 3-2: expected a number of faults", []string{"--faults", "3-2"}},
		{"--faults two: expected a number of faults", []string{"--faults", "two"}},
		{"--faults 1-: expected a number of faults", []string{"--faults", "1-"}},
		{"--faults 99999999999999999999: expected", []string{"--faults", "99999999999999999999"}},
		{"129 faults of kind link, kary-ntree:4,3 has only 128", []string{"--faults", "129"}},
		{"more than 1000000000 sets of 0 to 9 faults: ask for fewer faults or for samples", []string{"--faults", "9"}},
		{"at most 6 at a time, not 7", []string{"--faults", "7", "--samples", "1", "--when", "flapping"}},
		{"--samples -1: expected 0 to 1000000000", []string{"--samples", "-1"}},
		{"--samples and --sim-seed with --set or --sets", []string{"--samples", "3", "--sim-seed", "2", "--set", "s1.00"}},
		{"--faults with --set or --sets", []string{"--faults", "3", "--sets", "x"}},
		{`--set 2: unknown link "s0.00-s1.99": did you mean`, []string{"--set", "s0.00-s1.00", "--set", "s0.00-s1.99"}},
		{"set 1 has s1.00 twice", []string{"--set", "s1.00,s1.00"}},
		{"no such file", []string{"--sets", filepath.Join(dir, "missing")}},
		{"empty holds no set", []string{"--sets", write("empty", "# nothing\n\n")}},
		{":2: unknown switch", []string{"--sets", write("bad", "s1.00\nx\ny\n")}},
		{":3: unknown switch", []string{"--sets", filepath.Join(dir, "bad")}},
		{"long:1: a line of more than", []string{"--sets", write("long", strings.Repeat("s1.00,", 1<<18))}},
		{"--vcs 17: expected 0 to 16", []string{"--vcs", "17"}},
		{"--vcs -1: expected 0 to 16", []string{"--vcs", "-1"}},
		{"needs 2 virtual channels, there are 1", []string{"--routing", "deterministic-link", "--vcs", "1"}},
		{"--jobs 257: expected 0 to 256", []string{"--jobs", "257"}},
		{`--plot x.gif: unknown format "gif": known: svg, png`, []string{"--plot", "x.gif"}},
		{"there is no folder", []string{"--plot", filepath.Join(dir, "no", "x.svg")}},
		{"is a folder, expected a file", []string{"--checkpoint", dir}},
		{"there is no folder", []string{"--scenario", filepath.Join(dir, "no", "x.yaml")}},
		{"--overlay without --plot", []string{"--overlay", "x.json"}},
		{"expected what fabricd verify --json has printed: no by_faults", []string{"--plot", filepath.Join(dir, "x.svg"), "--overlay", write("x.json", "{}")}},
		{"expected what fabricd verify --json has printed: ", []string{"--plot", filepath.Join(dir, "x.svg"), "--overlay", write("y.json", "no")}},
		{"checkpoint " + filepath.Join(dir, "x.json") + " is", []string{"--checkpoint", filepath.Join(dir, "x.json")}},
	} {
		refused(t, c.want, append([]string{"verify"}, c.args...)...)
	}
	for _, left := range []string{"x.svg", "x.gif"} {
		assert.NoFileExists(t, filepath.Join(dir, left))
	}
}

// k-1 faults at a time are too much when others were there before (DFT section VII): stale bits,
// and packets that meet both.
func TestVerifyOfFaultsThatGo(t *testing.T) {
	t.Parallel()
	out, _, code := fabricd(t, "verify", "--topology", "kary-ntree:3,2", "--routing", "adaptive-link", "--faults", "3", "--when", "repaired", "--max-concurrent", "2")
	require.Equal(t, 1, code)
	require.Contains(t, out, "some faults were repaired before the first packet, the others are there, at most 2 at once")
	require.Contains(t, out, "the registers hold what other packets have written")
	_, _, code = fabricd(t, "verify", "--topology", "kary-ntree:3,2", "--routing", "deterministic-link", "--faults", "3", "--when", "repaired", "--max-concurrent", "2")
	require.Zero(t, code, "it keeps nothing in the switches")
	out, _, code = fabricd(t, "verify", "--topology", "kary-ntree:3,2", "--routing", "deterministic-link", "--faults", "3", "--when", "flapping", "--max-concurrent", "2")
	require.Equal(t, 1, code)
	require.Contains(t, out, "4: every up port of D has been tried")
	_, errs, code := fabricd(t, "verify", "--max-concurrent", "2")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "at most 2 faults at once: that is for faults that also go, flapping or repaired")
	out, _, code = fabricd(t, "verify", "--topology", "kary-ntree:3,2", "--routing", "deterministic-link", "--faults", "2", "--samples", "5", "--per-group", "--json")
	require.Zero(t, code)
	require.Contains(t, out, `"fault_sets":5`)
}

func TestVerifyComparesWithUpDownTablesAndWithWhatIsPhysicallyPossible(t *testing.T) {
	t.Parallel()
	out, errs, _ := fabricd(t, "verify", "-t", "kary-ntree:2,3", "--routing", "deterministic-link", "--faults", "4", "--compare", "--json")
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
	refused(t, "up/down routes are computed", "verify", "-t", "ring:4", "--compare")
}
