package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a fabricd up of its own.
type process struct {
	cmd  *exec.Cmd
	out  buffer
	done chan error
}

func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		t.Fatalf("the process does not end:\n%s", p.out.String())
		return nil
	}
}

func TestTheCommandsAsProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs both commands")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", bin+string(filepath.Separator), ".", "../linkmon")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	ownRegistry(t)

	linkmon := func(args ...string) (string, int) {
		cmd := exec.Command(filepath.Join(bin, "linkmon"), args...)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	start := func(name string) *process {
		p := &process{cmd: exec.Command(filepath.Join(bin, "fabricd"), "up", "-t", "kary-ntree:2,2", "--name", name), done: make(chan error, 1)}
		p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
		require.NoError(t, p.cmd.Start())
		go func() { p.done <- p.cmd.Wait() }()
		t.Cleanup(func() { _ = p.cmd.Process.Kill() })
		require.Eventually(t, func() bool {
			_, code := linkmon("--fabric", name, "status")
			return code == 0
		}, patience, 20*time.Millisecond, "%s", &p.out)
		return p
	}

	// Killed, its name can be taken again.
	killed := start("a")
	require.NoError(t, killed.cmd.Process.Kill())
	require.Error(t, killed.wait(t))
	said2, code := linkmon("status")
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: no fabric is running: start one with: fabricd up\n", said2)

	// Two at once must be told apart.
	a, b := start("a"), start("b")
	said2, code = linkmon("status")
	require.Equal(t, 2, code)
	require.Equal(t, "linkmon: 2 fabrics are running, say which with --fabric: a, b\n", said2)
	said2, code = linkmon("--fabric", "b", "cut", "s0.0", "s1.0")
	require.Zero(t, code, said2)

	// What one process sets another sees, in force although the first has ended, and heals.
	for _, args := range []string{
		"cut s0.0-s1.0 --silent", "cut s0.0-s1.1 --direction to --for 1h", "flap s0.1-s1.0 --period 20ms", "impair s0.1-s1.1 --loss 10%", "crash s1.1",
	} {
		said2, code = linkmon(append([]string{"--fabric", "a"}, strings.Fields(args)...)...)
		require.Zero(t, code, said2)
	}
	said2, code = linkmon("--fabric", "a", "faults")
	require.Zero(t, code)
	require.Equal(t, 5, strings.Count(said2, " lasts "), said2)
	said2, code = linkmon("--fabric", "a", "heal", "--all")
	require.Zero(t, code, said2)
	require.Equal(t, "s0.0-s1.0 is back\ns0.0-s1.1 is back\ns0.1-s1.0 is back\ns0.1-s1.1 is back\ns1.1 is back\n", said2)
	said2, code = linkmon("--fabric", "a", "links", "--faulty", "--json")
	require.Zero(t, code)
	require.Equal(t, "[]\n", said2)
	apply := exec.Command(filepath.Join(bin, "linkmon"), "--fabric", "a", "apply", "-")
	apply.Stdin = strings.NewReader(`[{"do": "cut", "a": "s0.0-s1.0"}, {"do": "crash", "a": "s9.9"}]`)
	refused, err := apply.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, apply.ProcessState.ExitCode())
	require.Contains(t, string(refused), `unknown switch "s9.9"`)
	said2, _ = linkmon("--fabric", "a", "links", "--faulty", "--json")
	require.Equal(t, "[]\n", said2, "nothing is done")

	// One interrupt: it drains. Two: it ends at once, however far the first has come.
	require.NoError(t, a.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, a.wait(t), a.out.String())
	require.Regexp(t, `ledger: \d+ injected = .* 0 in flight: balanced`, a.out.String())
	said2, code = linkmon("--fabric", "b", "crash", "s1.0") // its NICs' packets cannot drain now
	require.Zero(t, code, said2)
	require.NoError(t, b.cmd.Process.Signal(os.Interrupt))
	require.Eventually(t, func() bool {
		_ = b.cmd.Process.Signal(os.Interrupt)
		return len(b.done) > 0
	}, patience, 20*time.Millisecond)
	_ = b.wait(t) // by the signal, or it had drained before
}
