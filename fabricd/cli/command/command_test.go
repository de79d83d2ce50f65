package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestExitCodesTellFailedFromUnusable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		code    int
		printed string
	}{
		{nil, ExitOK, ""},
		{ErrFailed, ExitFailed, ""},
		{fmt.Errorf("run: %w", ErrFailed), ExitFailed, ""},
		{errors.New("no such thing"), ExitUnusable, "weft: no such thing\n"},
	} {
		var out bytes.Buffer
		require.Equal(t, c.code, report(&out, "weft", c.err))
		require.Equal(t, c.printed, out.String())
	}
}

func TestJSONIsOneLineAsWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, JSON(&out, map[string]string{"a": "s0 -> s1 & <s2>"}))
	require.Equal(t, "{\"a\":\"s0 -> s1 & <s2>\"}\n", out.String())
	require.Error(t, JSON(&out, func() {}))
}

func TestOffATerminalEveryStateIsALineOfItsOwn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewLine(&out)
	l.Show("one")
	l.Print("two")
	l.Show("three")
	l.Done()
	l.End()
	require.Equal(t, "one\ntwo\nthree\n", out.String())
	require.False(t, Terminal(&out))
}

func TestOnATerminalTheStateIsRefreshedInPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &Line{w: &out, live: true}
	l.Show("one")
	l.Print("two")
	l.Show("three")
	l.End()
	l.End()
	require.Equal(t, "\r\x1b[Kone\r\x1b[Ktwo\n\r\x1b[Kthree\n", out.String())
}

func TestAFileIsNoTerminal(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	require.False(t, Terminal(f))
	require.NoError(t, f.Close())
}

func TestAGroupPrintsItsHelpAndRefusesWhatItDoesNotHave(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (string, error) {
		root := &cobra.Command{Use: "weft", SilenceUsage: true, SilenceErrors: true}
		group := Group(&cobra.Command{Use: "topology", Short: "Make topologies"})
		group.AddCommand(&cobra.Command{Use: "generate", Run: func(*cobra.Command, []string) {}})
		root.AddCommand(group)
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(args)
		err := root.Execute()
		return out.String(), err
	}
	help, err := run("topology")
	require.NoError(t, err)
	want, err := run("topology", "--help")
	require.NoError(t, err)
	require.Equal(t, want, help)
	_, err = run("topology", "generate")
	require.NoError(t, err)
	_, err = run("topology", "genrate")
	require.EqualError(t, err, `unknown command "genrate": did you mean "generate"? known: generate`)
}

func TestRunPrintsErrorsWhereTheCommandPrintsThem(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "weft", RunE: func(*cobra.Command, []string) error { return errors.New("no") }}
	var out bytes.Buffer
	root.SetErr(&out)
	root.SetArgs([]string{})
	require.Equal(t, ExitUnusable, Run(t.Context(), root))
	require.Equal(t, "weft: no\n", out.String())
}

// Interrupting this process itself: not parallel.
func TestTheFirstInterruptEndsTheContext(t *testing.T) {
	ctx, stop := interruptible()
	defer stop()
	p, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, p.Signal(syscall.SIGTERM))
	<-ctx.Done()
}

func TestOnlyATerminalHasAWidth(t *testing.T) {
	t.Parallel()
	require.Zero(t, Width(&bytes.Buffer{}))
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	require.Zero(t, Width(f))
	require.NoError(t, f.Close())
}

func TestAProgramTellsItsVersion(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := &cobra.Command{Use: "weft", RunE: func(*cobra.Command, []string) error { return errors.New("ran") }}
	root.SetOut(&out)
	root.SetArgs([]string{"--version"})
	require.NoError(t, Execute(t.Context(), root))
	require.Regexp(t, `^weft \d+\.\d+\.\d+(-dev)?, commit (not known|[\w.+-]+), go1\S* \w+/\w+\n$`, out.String())
}

// The version is that of the first heading of CHANGELOG.md, and a development build until that is
// released.
func TestTheVersionIsThatOfTheChangelog(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../CHANGELOG.md")
	require.NoError(t, err)
	heading := regexp.MustCompile(`(?m)^## ([\d.]+), (.*)$`).FindStringSubmatch(string(text))
	require.NotNil(t, heading)
	require.Equal(t, heading[1]+map[bool]string{true: "-dev"}[heading[2] == "unreleased"], Release)
}
