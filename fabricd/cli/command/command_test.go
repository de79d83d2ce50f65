package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
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
	require.Regexp(t, `^weft \d+\.\d+\.\d+(-[\w.]+)?, commit (not known|[\w.+-]+), go1\S* \w+/\w+\n$`, out.String())
}

// What go install takes from a proxy, or go build from a tagged commit, is of the version that it
// was asked for. A program of another module, or of a commit in between, has no such version.
func TestTheVersionOfTheModuleIsThatOfTheProgram(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v0.1.0": "0.1.0", "v1.2.3-rc.1": "1.2.3-rc.1", "v0.1.0+dirty": "0.1.0+dirty", "": Release, "(devel)": Release,
		"v0.0.0-20261129082319-0af4791289ab": Release, "v0.1.1-0.20261129082319-0af4791289ab+dirty": Release,
	} {
		require.Equal(t, want, releaseOf(debug.Module{Path: module, Version: version}), version)
	}
	require.Equal(t, Release, releaseOf(debug.Module{Path: "example.org/around", Version: "v0.1.0"}))
}

// CHANGELOG.md has the form of Keep a Changelog: newest first, each version with a date and a link.
// The version here is the first of it, and a development build of the next while there is something
// unreleased.
func TestTheVersionIsThatOfTheChangelog(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../CHANGELOG.md")
	require.NoError(t, err)
	headings := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, headings)
	require.Equal(t, "[Unreleased]", headings[0][1])
	newest := ""
	for i, h := range headings {
		name := "Unreleased"
		if i > 0 {
			m := regexp.MustCompile(`^\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$`).FindStringSubmatch(h[1])
			require.NotNil(t, m, h[1])
			name, newest = m[1], cmp.Or(newest, m[1])
		}
		require.Contains(t, string(text), "\n["+name+"]: https://"+module+"/", h[1])
	}
	if next, dev := strings.CutSuffix(Release, "-dev"); dev {
		require.NotEqual(t, newest, next)
	} else {
		require.Equal(t, newest, Release)
	}
	for _, h := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(string(text), -1) {
		require.Contains(t, []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}, h[1])
	}
}
