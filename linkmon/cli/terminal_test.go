package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// asLinkmon makes the test binary be linkmon, for what needs a process of its own on a terminal.
const asLinkmon = "WEFT_TEST_AS_LINKMON"

// terminal is a real pseudo-terminal with linkmon on it, kept by tmux, which also reads the screen
// as a person would.
type terminal struct {
	t      *testing.T
	socket string
}

// onTerminal starts linkmon on a terminal of 80 by 24. What env says is set beside what the test
// has.
func onTerminal(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	testenv.Need(t, "tmux", "tmux")
	self, err := os.Executable()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "w") // short, as paths of sockets must be
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &terminal{t: t, socket: filepath.Join(dir, "tmux")}
	line := []string{
		"env", asLinkmon + "=1", "LC_ALL=C.UTF-8", "WEFT_RUN_DIR=" + os.Getenv("WEFT_RUN_DIR"), "XDG_STATE_HOME=" + dir,
		"COLORTERM=truecolor",
	}
	line = append(append(append(line, env...), self), args...)
	for i, word := range line {
		line[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	// Who runs on the terminal holds this open for writing.
	runs := filepath.Join(dir, "runs")
	require.NoError(t, rig.MakePipe(runs))
	held, err := os.OpenFile(runs, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	command := "trap : INT; exec 9>'" + runs + "'; " + strings.Join(line, " ") + "; echo it ended with $?; read -r _"
	m.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", command)
	t.Cleanup(func() {
		_ = m.command("kill-server").Run()
		// Until linkmon has ended it may write into folders that the test removes.
		require.NoError(t, held.SetReadDeadline(time.Now().Add(rig.Patience)))
		_, err := io.Copy(io.Discard, held)
		require.NoError(t, errors.Join(err, held.Close()), "linkmon ends with its terminal")
	})
	return m
}

func (m *terminal) command(args ...string) *exec.Cmd {
	// Not the context of the test, which has ended when its cleanup runs.
	return exec.CommandContext(context.Background(), "tmux", append([]string{"-u", "-S", m.socket}, args...)...)
}

func (m *terminal) tmux(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	require.NoError(m.t, err, "tmux %q: %s", args, out)
	return string(out)
}

// keys presses keys, by tmux's names for them.
func (m *terminal) keys(keys ...string) {
	m.t.Helper()
	m.tmux(append([]string{"send-keys"}, keys...)...)
}

// write types a text as it stands.
func (m *terminal) write(text string) {
	m.t.Helper()
	m.tmux("send-keys", "-l", text)
}

func (m *terminal) screen() string {
	m.t.Helper()
	return m.tmux("capture-pane", "-p")
}

// until waits until the screen is as f wants it.
func (m *terminal) until(f func(screen string) error) {
	m.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond) // each look starts a process
	defer tick.Stop()
	late := time.After(60 * time.Second) // only a failing test waits so long
	for {
		text := m.screen()
		err := f(text)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			m.t.Fatalf("%v on the screen:\n%s", err, text)
		}
	}
}

// sees waits until all the texts are on the screen.
func (m *terminal) sees(texts ...string) {
	m.t.Helper()
	m.until(func(screen string) error {
		var errs []error
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				errs = append(errs, fmt.Errorf("no %q", text))
			}
		}
		return errors.Join(errs...)
	})
}

// losesSight waits until a text is gone from the screen.
func (m *terminal) losesSight(text string) {
	m.t.Helper()
	m.until(func(screen string) error {
		if strings.Contains(screen, text) {
			return fmt.Errorf("still %q", text)
		}
		return nil
	})
}
