package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

func left(n int) string { return fmt.Sprintf("%d left out\n", n) }

func TestWhatIsWrittenIsReadInOrder(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	o := NewOutput(&buf, left)
	want := ""
	for i := range 1000 {
		line := fmt.Sprintln("line", i)
		n, err := io.WriteString(o, line)
		require.NoError(t, err)
		require.Equal(t, len(line), n)
		want += line
	}
	require.Empty(t, o.Close(time.Minute))
	require.Equal(t, want, buf.String())
	_, _ = io.WriteString(o, "after the end")
	require.Equal(t, want, buf.String())
}

func TestNobodyWaitsForAReader(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	o := NewOutput(w, left)
	line := strings.Repeat("x", 1023) + "\n"
	const lines = 3000 // three times what is kept
	for range lines {
		_, _ = io.WriteString(o, line)
	}
	_, _ = io.WriteString(o, "the end\n")
	unread := o.Close(time.Millisecond)
	require.Equal(t, "the end\n", string(unread[len(unread)-1]), "the newest is kept")

	read := make(chan string, 1)
	go func() {
		all, err := io.ReadAll(r)
		read <- fmt.Sprint(string(all), err)
	}()
	require.Empty(t, o.Close(time.Minute), "who reads after all reads what is kept")
	require.NoError(t, w.Close())
	text := <-read
	out, notes := 0, 0
	for l := range strings.Lines(text) {
		n := 0
		if _, err := fmt.Sscanf(l, "%d left out\n", &n); err == nil {
			out, notes = out+n, notes+1
		}
	}
	require.Positive(t, notes, "a note says that something was left out")
	require.Equal(t, lines, out+strings.Count(text, line), "and how much")
	require.True(t, strings.HasSuffix(text, "the end\n<nil>"))
}

func TestACommandThatNobodyReadsEndsAndRepeatsItsLastWords(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	r, w := io.Pipe()
	var errs bytes.Buffer
	failed := errors.New("failed")
	err := Unhurried(w, &errs, false, func(stdout, stderr io.Writer) error {
		fmt.Fprintln(stderr, "a word")
		for i := range 10 {
			fmt.Fprintln(stdout, "line", i)
		}
		return failed
	})
	require.Equal(t, failed, err)
	require.Equal(t, "a word\n10 messages on standard output were not read; the last of them:\nline 6\nline 7\nline "+
		"8\nline 9\n", errs.String())
	require.NoError(t, r.Close())
}

func TestATerminalIsFoundBelowAnOutput(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	o := NewOutput(&buf, left)
	require.Equal(t, io.Writer(&buf), o.Unwrap())
	require.False(t, Terminal(o))
	require.Zero(t, Width(o))
	require.Empty(t, o.Close(time.Minute))
}
