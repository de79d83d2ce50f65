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
	for _, args := range [][]string{
		{"scenario", "validate", path},
		{"run", "--virtual", path},
		{"run", "--virtual", "--shrink", "--tries", "1", path},
	} {
		_, errs, code := fabricd(t, args...)
		require.Zero(t, code, "%v: %s", args, errs)
		require.Equal(t, 1, strings.Count(errs, "warning: "+path+warning), "%v: %s", args, errs)
	}
	_, errs, code := fabricd(t, "up", "--file", wrong)
	require.Equal(t, 2, code)
	require.Equal(t, "warning: "+wrong+warning+"fabricd: "+wrong+`:3:11: unknown routing "updonw": `+
		`did you mean "updown"? known: a-lash, adaptive-link, adaptive-link-digit, adaptive-link-one, `+
		`adaptive-switch, adaptive-switch-digit, adaptive-switch-header, adaptive-switch-one, ...
    3 | firmware: updonw
                  ^
`, errs)
}

func TestCommandsSayWhatOfATopologyFileIsLeftOut(t *testing.T) {
	t.Parallel()
	const file = "../topology/testdata/forms/diagnostics.net"
	const left = `warning: ` + file +
		`:1: skipped "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad sta...", which is not of the topology
warning: ` + file +
		`:2: skipped "ibwarn: [4711] sim_connect: attached as client 1 at node \"sw1\"", which is not of the topology
warning: ` + file +
		`:33: skipped "ibwarn: [4711] _do_madrpc: recv failed: Connection timed out", which is not of the topology
warning: ` + file + `:11: left out the cable from port 3 to port 4 of "S-00000000000a0001": both of its ends are there
warning: ` + file + `:13: left out the cable from port 7 to port 7 of "S-00000000000a0001": both of its ends are there
warning: ` + file +
		`:35: left out the link from adapter "H-00000000000b0010" to adapter "H-00000000000b0020": no switch is between them
`
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
		assert.Equal(t, 1, strings.Count(errs, left), "%s: %s", args, errs)
	}
}
