package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// script gives lines to linkmon sh.
func script(t *testing.T, lines string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	out, errs := new(rig.Output), new(rig.Output)
	cmd := withInput(lines, append([]string{"sh"}, args...)...)
	cmd.SetOut(out)
	cmd.SetErr(errs)
	code = command.Run(t.Context(), cmd)
	noPasswords(t, out.String()+errs.String())
	return out.String(), errs.String(), code
}

func TestALineThatIsTooLongIsRefused(t *testing.T) {
	ownRegistry(t)
	_, errs, code := script(t, strings.Repeat("x", maxLine+1))
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: reading commands: bufio.Scanner: token too long\n", errs)
}

func TestTheShellCompletesCommandsNamesAndFlags(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	s := &shell{of: &monitor{}}
	complete := func(line string) []string { return s.complete(t.Context(), line) }
	require.Equal(t, []string{"crash"}, complete("cr"))
	require.Equal(t, []string{"cut s0.0-s1.0", "cut s0.0-s1.1"}, complete("cut s0.0"))
	require.Equal(t, []string{"link s0.0-s1.0 down", "link s0.0-s1.0 up"}, complete("link s0.0-s1.0 "))
	require.Equal(t, []string{"link s0.0", "link s0.0-s1.0", "link s0.0-s1.1"}, complete("link s0.0"))
	require.Equal(t, []string{"link s0.0 s1.0", "link s0.0 s1.1"}, complete("link s0.0 "))
	require.Equal(t, []string{"link s0.0 s1.0 up"}, complete("link s0.0 s1.0 u"))
	require.Equal(t, []string{"cut s0.0-s1.0 --direction to"}, complete("cut s0.0-s1.0 --direction t"))
	require.Equal(t, []string{"cut --silent"}, complete("cut --s"))
	require.Empty(t, complete("cut 'unclosed "))
	require.Equal(t, []string{"crash s1.0", "crash s1.1"}, complete("crash s1"))
}

func TestTheShellOnATerminal(t *testing.T) {
	testenv.Raced(t)
	ownRegistry(t)
	h := start(t, "lab")
	dir := t.TempDir()
	m := onTerminal(t, []string{"XDG_STATE_HOME=" + dir}, "sh")
	m.sees("fabric lab: kary-ntree:2,2", "lab>")
	m.write("cras")
	m.keys("Tab")
	m.write(" s1.0")
	m.sees("lab> crash s1.0")
	m.keys("Enter")
	m.sees("crash s1.0 at")
	require.Equal(t, []string{"s1.0"}, h.Fabric().CrashedSwitches())
	m.write("cut s9")
	m.keys("Enter")
	m.sees(`unknown link "s9"`)
	m.keys("Up", "Up") // the one before the last
	m.keys("Home", "C-d", "C-d", "C-d", "C-d", "C-d")
	m.write("restart")
	m.sees("lab> restart s1.0")
	m.keys("Enter")
	m.sees("s1.0 is back")
	m.write("events --follow")
	m.keys("Enter")
	m.sees("restarted s1.0")
	m.keys("C-c") // ends the command, not the shell
	m.write("wait 1ms")
	m.keys("Enter")
	m.write("exit")
	m.keys("Enter")
	m.sees("it ended with 0")
	history, err := os.ReadFile(filepath.Join(dir, "weft", "linkmon_history"))
	require.NoError(t, err)
	require.Equal(t, "crash s1.0\ncut s9\nrestart s1.0\nevents --follow\nwait 1ms\nexit\n", string(history))
}
