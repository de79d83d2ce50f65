package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/rig"
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

func TestAScriptOfTheShellRunsTheSameCommands(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	out, errs, code := script(t, `
# what Mininet users type
link s0.0 s1.0 down
cut "s0.1-s1.0" --silent --for 1h   # and what linkmon has
wait 1ms
impair s0.0-s1.1 --loss 5%
impair s0.0-s1.1 --delay 1ms
crash s1.1
links --faulty
status
faults
switch s1.1
heal --all
exit
cut s0.0 s1.0
`)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	for _, text := range []string{
		"cut s0.0-s1.0 at", "cut s0.1-s1.0 silently at", "impair s0.0-s1.1, delay 1ms (now loss 5%, delay 1ms)", "crash s1.1 at",
		"crashed   s1.1", "s0.0-s1.0 is back", "s1.1 is back", "s1.1, down, holds 0 packets",
	} {
		require.Contains(t, out, text)
	}
	require.Regexp(t, `(?m)^4\S* .* crash|^5\S* .* crash`, out, "the table of faults")
	require.Empty(t, h.Fabric().LinksDown(), "nothing runs after exit")
	require.False(t, h.Fabric().Faults()[2].Silent, "no flag of a line stays for the next")
	h.RequireLedger()
}

func TestAScriptStopsAtTheFirstErrorAndSaysWhere(t *testing.T) {
	ownRegistry(t)
	h := start(t, "lab")
	out, errs, code := script(t, "cut s0.0 s1.0\n\n  cut s0.0 s1.9 # no such switch\ncut s0.1 s1.1\n")
	require.Equal(t, 2, code)
	require.Contains(t, out, "cut s0.0-s1.0 at")
	require.Contains(t, errs, "linkmon: line 3: cut s0.0 s1.9 # no such switch: ")
	require.Contains(t, errs, `unknown switch or NIC "s1.9": did you mean "s1.0"?`)
	require.Len(t, h.Fabric().CutLinks(), 1)

	out, errs, code = script(t, "cut s0.0 s1.9\nstats\ncut 's0.1\ncut s0.1 s1.1\nwait 3\nfaults --nix\n", "--keep-going")
	require.Equal(t, 2, code)
	require.Contains(t, out, "cut s0.1-s1.1 at")
	require.Contains(t, errs, `line 2: stats: unknown command "stats": did you mean "status"?`)
	require.Contains(t, errs, "line 3: cut 's0.1: cut 's0.1: a quote is not closed")
	require.Contains(t, errs, "line 5: wait 3: wait 3: expected a time with its unit, as 500ms or 2s")
	require.Contains(t, errs, "line 6: faults --nix: unknown flag --nix")
	require.Contains(t, errs, "linkmon: 5 lines failed, see above")
	require.Len(t, h.Fabric().CutLinks(), 2)

	_, errs, code = script(t, "cut s0.0 s1.0\n", "--readonly")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "line 1: cut s0.0 s1.0: nothing may be changed")
	_, errs, code = script(t, strings.Repeat("x", maxLine+1))
	require.Equal(t, 2, code)
	require.Contains(t, errs, "reading commands: ")
}

func TestTheShellHelpsAndPrintsJSON(t *testing.T) {
	ownRegistry(t)
	start(t, "lab")
	out, _, code := script(t, "help\nhelp cut\nlinks --json\n")
	require.Zero(t, code)
	require.Contains(t, out, "wait        Do nothing for a while")
	require.Contains(t, out, "--silent")
	require.Contains(t, out, `[{"link":"s0.0-s1.0"`)
	require.NotContains(t, out, "completion")
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
	require.Contains(t, complete("cut --s"), "cut --silent")
	require.Empty(t, complete("cut 'unclosed "))
	require.Equal(t, []string{"crash s1.0", "crash s1.1"}, complete("crash s1"))
}

func TestTheShellOnATerminal(t *testing.T) {
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
	require.Contains(t, string(history), "crash s1.0\ncut s9\nrestart s1.0\n")
}
