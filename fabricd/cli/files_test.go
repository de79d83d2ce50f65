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
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTopologyGenerateWritesEveryKindInEveryFormat(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"kary-ntree:2,3", "mport-tree:4,2", "leaf-spine:2,3,4", "mesh:3x2", "torus:3x3x3", "irregular:8,12,1", "ring:5"} {
		text, _, code := fabricd(t, "topology", "generate", spec, "--json")
		require.Zero(t, code)
		var g struct {
			Switches []struct{ ID string }
			NICs     []struct{ ID string }
			Links    []struct {
				ID, A, B string
				APort    *int `json:"a_port"`
				BPort    *int `json:"b_port"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &g))
		require.NotEmpty(t, g.Switches)
		require.NotEmpty(t, g.NICs)
		for _, l := range g.Links {
			require.NotEmpty(t, l.ID+l.A+l.B)
			require.NotNil(t, l.APort)
			require.NotNil(t, l.BPort)
		}
		dot, _, code := fabricd(t, "topo", "gen", spec, "--format", "dot", "--nics=false")
		require.Zero(t, code)
		require.Contains(t, dot, "graph \""+spec+"\"")
		require.NotContains(t, dot, `"`+g.NICs[0].ID+`"`)

		file := filepath.Join(t.TempDir(), "out.yaml")
		_, _, code = fabricd(t, "topology", "generate", spec, "-o", file)
		require.Zero(t, code)
		said, _, code := fabricd(t, "topology", "validate", file)
		require.Zero(t, code)
		require.Contains(t, said, file+" is valid: ")
	}
}

func TestTopologyGraphDrawsInEveryFormat(t *testing.T) {
	t.Parallel()
	svg, _, code := fabricd(t, "topology", "graph", "kary-ntree:2,3")
	require.Zero(t, code)
	require.Contains(t, svg, "<svg ")
	require.Contains(t, svg, ">n000</text>")
	svg, _, code = fabricd(t, "topology", "graph", "kary-ntree:2,3", "--nics=false")
	require.Zero(t, code)
	require.NotContains(t, svg, "n000")
	file := filepath.Join(t.TempDir(), "out.dot")
	_, _, code = fabricd(t, "topology", "graph", "mesh:3x3", "--format", "dot", "-o", file)
	require.Zero(t, code)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), `graph "mesh:3x3"`)
	text2, _, code := fabricd(t, "topology", "graph", "mesh:3x3", "--format", "mermaid")
	require.Zero(t, code)
	require.Contains(t, text2, "flowchart LR")

	refused(t, `unknown format "sgv": did you mean "svg"?`, "topology", "graph", "ring:3", "--format", "sgv")
	file = filepath.Join(t.TempDir(), "out.mmd")
	refused(t, "too many links for Mermaid", "topology", "graph", "kary-ntree:4,4", "--format", "mermaid", "-o", file)
	require.NoFileExists(t, file)
}

func TestTopologyRefusesWrongInput(t *testing.T) {
	t.Parallel()
	refused(t, `unknown format "jsn": did you mean "json"?`, "topology", "generate", "ring:3", "--format", "jsn")
	refused(t, `did you mean "ring"?`, "topology", "generate", "rng:3")
	refused(t, "no such file", "topology", "generate", "ring:3", "-o", filepath.Join(t.TempDir(), "no", "file"))
	refused(t, `unknown command "genrate": did you mean "generate"?`, "topology", "genrate", "ring:3")
	refused(t, "nosuch.yaml: no such file", "topology", "validate", "nosuch.yaml")
	refused(t, "expected k of at least 2", "topology", "validate", "kary-ntree:1,2")
	refused(t, ":1:", "topology", "validate", write(t, "switchs: 3\n"))
}

func TestValidateJSONIsOneVerdict(t *testing.T) {
	t.Parallel()
	out, _, code := fabricd(t, "topology", "validate", "ring:4", "--json")
	require.Zero(t, code)
	require.JSONEq(t, `{"valid":true,"file":"ring:4","switches":4,"nics":4,"links":8}`, out)
	out, _, code = fabricd(t, "topology", "validate", "kary-ntree:1,2", "--json")
	require.Equal(t, 2, code)
	var v command.Checked
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	require.False(t, v.Valid)
	require.Contains(t, v.Error, "expected k of at least 2")
}

const failing = `
name: too much
topology: kary-ntree:2,2
routing: adaptive-link
traffic: uniform:0.1
duration: 200ms
timeline:
  - {at: 50ms, cut: s0.0-s1.0}
expect: {delivered_at_least: 1000000}
`

func TestRunOfAFailingScenarioExitsWithOneAndSaysWhy(t *testing.T) {
	t.Parallel()
	path := write(t, failing)
	out, errs, code := fabricd(t, "run", path)
	require.Equal(t, 1, code)
	require.Regexp(t, `fault 1: cut s0.0-s1.0\n`, out)
	require.Regexp(t, `failed: delivered_at_least 1000000: \d+ were delivered\nFAIL too much`, out)
	require.Contains(t, errs, "cut s0.0-s1.0")
	require.NotContains(t, errs, "fabricd:")

	out, _, code = fabricd(t, "run", path, "--json", "--sim-seed", "7")
	require.Equal(t, 1, code)
	var r map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, false, r["pass"])
	require.Len(t, r["failed"], 1)
	require.Len(t, r["faults"], 1)
	require.EqualValues(t, 7, r["sim_seed"])
	for _, field := range []string{"injected", "delivered", "lost", "discarded", "in_flight", "balanced"} {
		require.Contains(t, r["ledger"], field)
	}
}

func TestRunOfAPassingScenarioExitsWithZero(t *testing.T) {
	t.Parallel()
	out, errs, code := fabricd(t, "run", write(t, "name: fine\ntopology: kary-ntree:2,2\nrouting: updown\nduration: 50ms\nexpect: {discarded: 0}\n"))
	require.Zero(t, code, errs)
	require.Contains(t, out, "PASS fine")
}

func TestAMalformedScenarioIsRefusedWithFileAndLine(t *testing.T) {
	t.Parallel()
	path := write(t, "name: x\ntopology: kary-ntree:2,2\nrouting: adptive-link\nduration: 1s\nexpect: {}\n")
	for _, args := range [][]string{{"run", path}, {"scenario", "validate", path}} {
		refused(t, path+`:3:10: unknown routing "adptive-link": did you mean "adaptive-link"?`, args...)
		refused(t, "3 | routing: adptive-link", args...)
	}
	refused(t, "no such file", "run", "nosuch.yaml")
	refused(t, `unknown command "check"`, "scenario", "check", path)
	out, _, code := fabricd(t, "scenario", "validate", write(t, failing))
	require.Zero(t, code)
	require.Contains(t, out, "is valid: 4 switches, 4 NICs, 8 links")
}

// Every command that takes a topology says what of its file is left out.
func TestFilesMayHaveTheOldNameOfARoutingWithAWarning(t *testing.T) {
	t.Parallel()
	const scenario = "name: old\ntopology: kary-ntree:2,2\nfirmware: updown\nduration: 1ms\nexpect: {}\n"
	path, wrong := write(t, scenario), write(t, strings.Replace(scenario, "updown", "updonw", 1))
	const warning = ":3:1: firmware is now routing; the old name goes in 0.2.0\n"
	for _, args := range [][]string{{"scenario", "validate", path}, {"run", "--virtual", path}, {"run", "--virtual", "--shrink", "--tries", "1", path}} {
		_, errs, code := fabricd(t, args...)
		require.Zero(t, code, "%v: %s", args, errs)
		require.Equal(t, 1, strings.Count(errs, "warning: "+path+warning), "%v: %s", args, errs)
	}
	_, errs, code := fabricd(t, "up", "--file", wrong)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "warning: "+wrong+warning)
	require.Contains(t, errs, wrong+`:3:11: unknown routing "updonw"`)
}

func TestCommandsSayWhatOfATopologyFileIsLeftOut(t *testing.T) {
	t.Parallel()
	const file = "../topology/testdata/forms/diagnostics.net"
	path := write(t, "topology: "+file+"\nname: quiet\nduration: 1ms\ntraffic: none\nrouting: lash\nexpect: "+
		"{discarded: 0}\n")
	for _, args := range [][]string{
		{"topology", "validate", file},
		{"topology", "convert", file, "--json"},
		{"topology", "graph", file},
		{"routes", "-t", file},
		{"routes", "check", "-t", file},
		{"routes", "dump", "-t", file},
		{"verify", "-t", file, "--faults", "0"},
		{"reroute", "-t", file, "--all"},
		{"explain", "-t", file, "--switch", "sw1", "--in-port", "h1", "--dst", "h3"},
		{"scenario", "validate", path},
		{"run", "--virtual", path},
	} {
		_, errs, code := fabricd(t, args...)
		assert.NotEqual(t, command.ExitUnusable, code, "%s: %s", args, errs)
		assert.Equal(t, 6, strings.Count(errs, "warning: "+file+":"), "%s: %s", args, errs)
		assert.Contains(t, errs, file+":11: left out the cable from port 3 to port 4 of", "%s", args)
	}
}
