package cli_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Tables that OpenSM computed, of topologies as ibsim has them.
const (
	torus5   = "../subnet/opensm/testdata/torus5" // by its LASH, but taken in one layer
	opensm16 = "../../scenarios/papers/layered/opensm/updn-cyclic-16"
	opensm64 = "../../scenarios/papers/layered/opensm/updn-cyclic-64" // by its Up*/Down*, which makes forbidden turns here
)

// deadlockOf writes the scenario of a cycle, and returns the channels of the cycle.
func deadlockOf(t *testing.T, topology, routing, path string) (cycle []string) {
	t.Helper()
	out, errs, code := fabricd(t, "routes", "check", "-t", topology, "--routing", routing, "--scenario", path, "--json")
	require.Equal(t, command.ExitFailed, code, errs)
	var v survey.CheckResult
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	for _, d := range v.Cycle {
		cycle = append(cycle, strings.Replace(d.Name, "->", " -> ", 1)) // as fabricd run prints channels
	}
	return cycle
}

// The deadlock that the run ends in is the cycle that the tables have: those of ours that may, and
// those of another subnet manager.
func TestTheScenarioOfACycleRunsIntoIt(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for topology, routing := range map[string]string{
		"irregular:16,32,1": "minimal-hop", "irregular:64,128,1": "minimal-hop", "torus:5x5": "minimal-hop",
		torus5 + ".net": "tables:" + torus5 + "-lfts.dump.gz", opensm16 + ".net": "tables:" + opensm16 + ".lfts.gz",
		opensm64 + ".net": "tables:" + opensm64 + ".lfts.gz",
	} {
		path := filepath.Join(t.TempDir(), "deadlock.yaml")
		want := deadlockOf(t, topology, routing, path)
		out, _, code := fabricd(t, "run", "--virtual", path)
		require.Equal(t, command.ExitFailed, code, out)
		_, cycle, found := strings.Cut(out, " packets in switches wait for each other: ")
		require.True(t, found, out)
		cycle, _, _ = strings.Cut(cycle, ", and round again")
		assert.ElementsMatch(t, want, strings.Split(cycle, ", "), topology)
	}
}

// Where the tables of OpenSM's Up*/Down* deadlock, ours and LASH carry the same traffic to its end.
func TestWhatDeadlocksOpenSMsTablesOursCarry(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, net := range []string{opensm16, opensm64} {
		path := filepath.Join(t.TempDir(), "deadlock.yaml")
		deadlockOf(t, net+".net", "tables:"+net+".lfts.gz", path)
		s, err := scenario.Read(t.Context(), path)
		require.NoError(t, err)
		for _, routing := range []string{"updn", "updn:in-port=false", "lash", "escape"} {
			s.File.Routing = routing
			data, err := format.Write(s.File)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o600))
			out, errs, code := fabricd(t, "run", "--virtual", path)
			assert.Zero(t, code, "%s of %s: %s%s", routing, net, out, errs)
		}
	}
}

// Tables of OpenSM that were read are dumped as they were, byte for byte.
func TestRoutesDumpsWhatOpenSMReads(t *testing.T) {
	t.Parallel()
	packed, err := os.Open(torus5 + "-lfts.dump.gz")
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	want, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	got, errs, code := fabricd(t, "routes", "dump", "-t", torus5+".net", "--routing", "tables:"+torus5+"-lfts.dump.gz",
		"--format", "lft")
	assert.Zero(t, code)
	assert.Equal(t, string(want), got)
	assert.Equal(t, "warning: with these tables and one virtual lane packets can wait for one another for ever, around "+
		"sw-0-0->sw-1-0 vc0, sw-1-0->sw-2-0 vc0, sw-2-0->sw-3-0 vc0, sw-3-0->sw-4-0 vc0, sw-4-0->sw-0-0 vc0. "+
		"For one lane take a routing without such a cycle, as updn:in-port=false\n", errs, "a torus, all in one lane")
}
