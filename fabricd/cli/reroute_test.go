package cli_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
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

func TestRerouteTellsWhatAFaultMoves(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `mesh:4x4 by xy in 1 layer, repaired by dqr:plugin=mesh (prepared in . s): 240 flows

fault       flows rerouted   stretch              without a path   turns enabled         free from deadlock   computed in
s1.1-s2.1   32 (13.33%)      1.47, at most 3.00   0                0, by the plug-in 4   yes                  . s

flow           old path         new path
s1.1 to n3.1   s1.1 s2.1 s3.1   s1.1 s1.2 s2.2 s3.2 s3.1
`, rerouted(t, 0, "-t", "mesh:4x4", "--plugin", "mesh", "--down", "s1.1-s2.1", "s1.1", "n3.1"))
	all := rerouted(t, 0, "-t", "mesh:4x4", "--plugin", "mesh", "--down", "s1.1-s2.1", "--paths")
	assert.Equal(t, 32, strings.Count(all, " to n"))
	v := answered(t, 0, "-t", "mesh:4x4", "--down", "s1.1-s2.1", "s1.1", "s3.1")
	assert.Len(t, v["paths"], 1, "a switch stands for its NICs")
}

func TestRerouteJSONIsOneObjectThatScriptsMayRelyOn(t *testing.T) {
	t.Parallel()
	v := answered(t, 0, "-t", "mesh:5x5", "--routing", "xy", "--method", "dqr", "--down", "s1.1-s2.1", "--down", "s4.3-s4.4", "n1.1", "n4.1")
	for name, want := range map[string]any{
		"topology": "mesh:5x5", "engine": "xy", "layers": 1.0, "method": "dqr", "switch_flows": false, "flows_total": 600.0, "cdg_acyclic": true,
		"unroutable_pairs": 0.0, "isolated_pairs": 0.0, "tolerated": true,
	} {
		assert.Equal(t, want, v[name], name)
	}
	faults := v["faults"].([]any)
	require.Len(t, faults, 2)
	first, second := faults[0].(map[string]any), faults[1].(map[string]any)
	assert.Equal(t, "s1.1-s2.1", first["fault"])
	assert.Equal(t, 60.0, first["flows_rerouted"], "2 x 3 x 5, both ways")
	assert.InDelta(t, 0.1, first["share"], 1e-12)
	assert.Equal(t, v["flows_rerouted"], first["flows_rerouted"].(float64)+second["flows_rerouted"].(float64))
	assert.InDelta(t, v["share"], first["share"].(float64)+second["share"].(float64), 1e-12)
	assert.Contains(t, v, "compute_seconds")
	assert.Contains(t, v, "prepare_seconds")
	path := v["paths"].([]any)[0].(map[string]any)
	assert.Equal(t, []any{"s1.1", "s4.1", 1.0, "s1.1-s2.1"}, []any{path["from"], "s" + path["to"].(string)[1:], path["flows"], path["fault"]})
	assert.Equal(t, []any{"s1.1", "s2.1", "s3.1", "s4.1"}, path["old"])
	assert.NotContains(t, path["new"], nil)
	assert.Greater(t, len(path["new"].([]any)), 4)
}

// Of the first fault in a mesh of n x n under XY the mean share of flows moved is 1/(3(n-1)).
func TestTheMeanShareOfFlowsMovedIsExact(t *testing.T) {
	t.Parallel()
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
	assert.Regexp(t, `\n6 +\d+ `, one)
	assert.Regexp(t, `\n1 +99 +100%`, rerouted(t, 0, "-t", "mesh:4x4", "--random", "99", "--plugin", "mesh"), "each run begins anew")
	assert.Contains(t, one, "not tolerated, the first of them:")
	by := answered(t, command.ExitFailed, args...)["by_faults"].([]any)
	last := 31.0
	for _, b := range by {
		n := b.(map[string]any)["tolerated"].(float64)
		assert.LessOrEqual(t, n, last, "what has failed stays so")
		last = n
	}
}

func TestRerouteAsksOtherMethodsToo(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"ddrc", "engine", "dqr"} {
		v := answered(t, 0, "-t", "kary-ntree:2,3", "--method", method, "--down", "s1.00")
		assert.Equal(t, 56.0, v["flows_total"], method)
		assert.Equal(t, true, v["cdg_acyclic"])
		assert.Equal(t, 0.0, v["unroutable_pairs"])
		assert.Greater(t, v["flows_rerouted"], 0.0)
	}
	v := answered(t, 0, "-t", "kary-ntree:2,3", "--method", "ddrc", "--down", "s0.00-s1.00", "--paths")
	assert.NotEmpty(t, v["paths"])
	v = answered(t, command.ExitFailed, "-t", "torus:4x4", "--routing", "lash", "--method", "engine", "--down", "s1.1-s1.2")
	assert.Equal(t, false, v["cdg_acyclic"], "old and new tables that know nothing of each other")
	v = answered(t, 0, "-t", "kary-ntree:2,2", "--switch-flows", "--down", "s0.0-s1.0")
	assert.Equal(t, 24.0, v["flows_total"], "of 4 NICs and 4 switches")
}

func TestPairsThatNoLiveLinksJoinAreExcused(t *testing.T) {
	t.Parallel()
	v := answered(t, 0, "-t", "mesh:3x3", "--down", "s0.0")
	assert.Equal(t, 16.0, v["unroutable_pairs"])
	assert.Equal(t, 16.0, v["isolated_pairs"])
	assert.Equal(t, true, v["tolerated"])
	assert.Contains(t, rerouted(t, 0, "-t", "mesh:3x3", "--down", "s0.0"), "16, joined by no live links")
}

func TestTheEngineFollowsTheShape(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"mesh:3x3": "xy", "torus:3x3": "e-cube", "torus:2x2": "xy", "ring:5": "e-cube", "mport-tree:4,2": "ftree", "irregular:8,16,1": "lash",
	} {
		out, _, _ := fabricd(t, "reroute", "-t", spec, "--random", "1")
		assert.Contains(t, out, spec+" by "+want+" in ")
	}
}

// That all pairs have a path is one thing, and another is whether packets may travel while the
// tables are uploaded.
func TestRerouteTellsConnectedFromEmptied(t *testing.T) {
	t.Parallel()
	args := []string{"-t", "mesh:4x4", "--entries", "destination", "--all"}
	first := func(code int, more ...string) map[string]any {
		return answered(t, code, append(args, more...)...)["by_faults"].([]any)[0].(map[string]any)
	}
	is := first(0)
	assert.Equal(t, []any{24.0, 0.0, 24.0}, []any{is["connected"], is["emptied"], is["tolerated"]}, "a second virtual channel is free")
	for _, more := range [][]string{{"--spare", "leave"}, {"--vcs", "1"}} {
		is = first(command.ExitFailed, more...)
		assert.Equal(t, 24.0, is["connected"], more)
		assert.Greater(t, is["emptied"], 0.0, more)
		assert.Equal(t, 24.0, is["emptied"].(float64)+is["tolerated"].(float64), more)
		out := rerouted(t, command.ExitFailed, append(args, more...)...)
		assert.Contains(t, out, "fabric emptied")
		assert.Equal(t, more[0] == "--vcs", strings.Contains(out, "no virtual channel is free: xy uses 1 of 1,"))
	}
	v := answered(t, command.ExitFailed, append(args, "--vcs", "1")...)
	link := v["not_tolerated"].([]any)[0].(map[string]any)["fault"].(string)
	v = answered(t, command.ExitFailed, "-t", "mesh:4x4", "--entries", "destination", "--vcs", "1", "--down", link)
	assert.Equal(t, []any{true, true, false}, []any{v["connected"], v["emptied"], v["tolerated"]})
	assert.Contains(t, v["faults"].([]any)[0].(map[string]any)["no_spare"], "no virtual channel is free")
}

func TestRerouteNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"which faults? give one of --down LINK, --all and --random N": {},
		"which faults? give one":                                                 {"--all", "--random", "3"},
		`unknown link "s9.9-s10.99": did you mean "s9.9-s10.9"?`:                 {"--down", "s9.9-s10.99"},
		`unknown switch "s99.9"`:                                                 {"--down", "s99.9"},
		`--down "s0.0,,s1.1": a name is empty`:                                   {"--down", "s0.0,,s1.1"},
		`unknown method of reconfiguration "dqq": did you mean "dqr"?`:           {"--all", "--method", "dqq"},
		`path: unknown value "lokal": did you mean "local"?`:                     {"--all", "--path", "lokal"},
		`option path is given twice`:                                             {"--all", "--method", "dqr:path=local", "--path", "local"},
		"--path is for --method dqr, and the method is ddrc":                     {"--all", "--method", "ddrc", "--path", "local"},
		`did you mean "xy"?`:                                                     {"--all", "--routing", "xz"},
		"adaptive-link":                                                          {"--all", "-t", "kary-ntree:2,2", "--routing", "adaptive-link"},
		"is adaptive: take method engine":                                        {"--all", "-t", "ring:4", "--routing", "escape"},
		"method none repairs nothing":                                            {"--all", "--method", "none"},
		"method ddrc knows flows between NICs only":                              {"--all", "-t", "kary-ntree:2,2", "--method", "ddrc", "--switch-flows"},
		"--faults and --sim-seed are for --random N":                             {"--down", "s0.0-s0.1", "--faults", "3"},
		"n0.0 is a NIC: name its link, s0.0-n0.0":                                {"--down", "n0.0"},
		"plug-in mesh is for meshes, tori and rings, and kary-ntree:2,2 is none": {"-t", "kary-ntree:2,2", "--plugin", "mesh", "--all"},
		"paths are listed of given faults":                                       {"--all", "--paths"},
		"name two, the source and the destination":                               {"n0.0", "--all"},
		`unknown switch or NIC "n99.9"`:                                          {"--down", "s0.0-s0.1", "n99.9", "n0.0"},
		"--faults 99: ring:4 has 4 links between switches":                       {"-t", "ring:4", "--random", "1", "--faults", "99"},
		"--faults 0: expected 1 to 1000000000":                                   {"--random", "1", "--faults", "0"},
		"--vcs 17: expected 1 to 16":                                             {"--all", "--vcs", "17"},
		"lash needs 2 virtual channels, there are 1: raise the number":           {"--all", "-t", "torus:4x4", "--routing", "lash", "--vcs", "1"},
		`spare: unknown value "us": did you mean "use"?`:                         {"--all", "--spare", "us"},
		"up/down routes are computed for trees only, and me":                     {"-t", "mesh:3x3", "--method", "ddrc", "--all"},
	} {
		refused(t, want, append([]string{"reroute"}, args...)...)
	}
}

func TestRerouteSaysThatNoPathHasChangedAndWhyAFaultIsNotTolerated(t *testing.T) {
	t.Parallel()
	still := []string{"-t", "mesh:4x4", "--down", "s1.1-s2.1", "n0.0", "n0.1"}
	assert.Contains(t, rerouted(t, 0, still...), "\nno path of these flows has changed\n")
	assert.Equal(t, []any{}, answered(t, 0, still...)["paths"])
	assert.NotContains(t, answered(t, 0, still[:4]...), "paths", "nobody asked")
	out := rerouted(t, 1, "-t", "irregular:10,20,3", "--routing", "lash", "--method", "engine", "--all")
	assert.Contains(t, out, ": without a path 0; old and new paths together can deadlock")
}
