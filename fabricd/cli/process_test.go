package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestTheCommandsAsProcesses(t *testing.T) {
	testenv.Long(t)
	bin := builtCommands(t)
	ownRegistry(t)

	linkmon := func(args ...string) (string, int) {
		cmd := exec.Command(filepath.Join(bin, "linkmon"), args...)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	start := func(name string) *rig.Process {
		p := rig.Run(t, exec.Command(filepath.Join(bin, "fabricd"), "up", "-t", "kary-ntree:2,2", "--fabric", name))
		rig.Until(t, func() bool {
			_, code := linkmon("--fabric", name, "status")
			return code == 0
		}, "%s", &p.Out)
		return p
	}

	// Killed, its name can be taken again.
	killed := start("a")
	killed.Kill()
	require.False(t, killed.Cmd.ProcessState.Success())
	said, code := linkmon("status")
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: no fabric is running: start one with: fabricd up\n", said)

	// Two at once must be told apart.
	a, b := start("a"), start("b")
	said, code = linkmon("status")
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: 2 fabrics are running, say which with --fabric: a, b\n", said)
	said, code = linkmon("--fabric", "b", "cut", "s0.0", "s1.0")
	require.Zero(t, code, said)

	// What one process sets another sees, in force although the first has ended, and heals.
	for _, args := range []string{
		"cut s0.0-s1.0 --silent", "cut s0.0-s1.1 --direction to --for 1h", "flap s0.1-s1.0 --period 20ms", "impair s0.1-s1.1 --loss 10%", "crash s1.1",
	} {
		said, code = linkmon(append([]string{"--fabric", "a"}, strings.Fields(args)...)...)
		require.Zero(t, code, said)
	}
	said, code = linkmon("--fabric", "a", "faults")
	require.Zero(t, code)
	require.Equal(t, 5, strings.Count(said, " lasts "), said)
	said, code = linkmon("--fabric", "a", "heal", "--all")
	require.Zero(t, code, said)
	require.Equal(t, "s0.0-s1.0 is back\ns0.0-s1.1 is back\ns0.1-s1.0 is back\ns0.1-s1.1 is back\ns1.1 is back\n", said)
	said, code = linkmon("--fabric", "a", "links", "--faulty", "--json")
	require.Zero(t, code)
	require.Equal(t, "[]\n", said)
	apply := exec.Command(filepath.Join(bin, "linkmon"), "--fabric", "a", "apply", "-")
	apply.Stdin = strings.NewReader(`[{"do": "cut", "a": "s0.0-s1.0"}, {"do": "crash", "a": "s9.9"}]`)
	refused, err := apply.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, apply.ProcessState.ExitCode())
	require.Contains(t, string(refused), `unknown switch "s9.9"`)
	said, _ = linkmon("--fabric", "a", "links", "--faulty", "--json")
	require.Equal(t, "[]\n", said, "nothing is done")

	// One interrupt: it drains. Two: it ends at once, however far the first has come.
	a.Signal(syscall.SIGINT)
	code, said = a.Ends()
	require.Zero(t, code, said)
	require.Regexp(t, `ledger: \d+ injected = .* 0 in flight: balanced`, said)
	said, code = linkmon("--fabric", "b", "crash", "s1.0") // its NICs' packets cannot drain now
	require.Zero(t, code, said)
	b.Signal(syscall.SIGINT)
	rig.Until(t, func() bool {
		_ = b.Cmd.Process.Signal(os.Interrupt)
		return b.Ended() // by the signal, or it had drained before
	})
}

// The commands are pasted while fabricd up runs. A line that begins with $ is left out: what it
// prints follows there.
func TestTheCommandsOfTheReadmeAndOfFaultsWork(t *testing.T) {
	testenv.Long(t)
	bin := builtCommands(t)
	ownRegistry(t)
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	start := func(line string) *rig.Process {
		cmd := exec.Command("sh", "-c", "exec "+line)
		cmd.Dir = "../.."
		p := rig.Run(t, cmd)
		p.Says("delivered ")
		return p
	}
	up := start("fabricd up --traffic uniform:0.01")
	for _, page := range []string{"README.md", "docs/howto/faults.md"} {
		text, err := os.ReadFile("../../" + page)
		require.NoError(t, err)
		ran := 0
		for line := range strings.Lines(string(text)) {
			line, shown := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
			word, _, _ := strings.Cut(line, " ")
			if !shown || word != "linkmon" && word != "fabricd" && word != "echo" {
				continue
			}
			ran++
			if strings.HasPrefix(line, "fabricd up") {
				start(line).Kill() // as many packets as it sends may not drain in time
				continue
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Dir = "../.."
			said, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s: %s", line, said)
		}
		require.GreaterOrEqual(t, ran, 8, page)
		healed, err := exec.Command("linkmon", "heal", "--all").CombinedOutput()
		require.NoError(t, err, "%s", healed)
	}
	up.Signal(syscall.SIGINT)
	code, said := up.Ends()
	require.Zero(t, code, said)
}
