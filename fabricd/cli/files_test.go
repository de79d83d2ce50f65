package cli_test

import (
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

// Every command that takes a topology says what of its file is left out.
func TestFilesMayHaveTheOldNameOfARoutingWithAWarning(t *testing.T) {
	t.Parallel()
	const scenario = "name: old\ntopology: kary-ntree:2,2\nfirmware: updown\nduration: 1ms\nexpect: {}\n"
	path, wrong := write(t, scenario), write(t, strings.Replace(scenario, "updown", "updonw", 1))
	const warning = ":3:1: firmware is now routing; 0.2.0 removes the old name\n"
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
