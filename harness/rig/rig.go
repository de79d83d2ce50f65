// Package rig is what tests of every package share: waiting for a condition, processes and what
// they print, ports, and connections that can be cut. It is no _test file because the tests of many
// packages use it; nothing but tests imports it, and it imports nothing of ours.
package rig

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is for what must happen; only a failing test waits so long.
const Patience = 2 * time.Minute

// Until waits until ok reports true. It asks on the goroutine of the test, so ok may fail the test.
// what says what is waited for: a format and its arguments, which are read when the time is over.
func Until(t testing.TB, ok func() bool, what ...any) {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for pause := time.Millisecond; !ok(); pause = min(2*pause, 16*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-late.C:
			require.FailNow(t, "it does not happen", what...)
		}
	}
}

// Fastest is the least time of five that f takes: a busy machine holds some of them up, but if f
// waits for something it does so each time.
func Fastest(f func()) time.Duration {
	least := Patience
	for range 5 {
		began := time.Now()
		f()
		least = min(least, time.Since(began))
	}
	return least
}

// Output is what a process or a command has printed. It may be written and read at once.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String is all of it.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Await waits until it holds a text.
func (o *Output) Await(t testing.TB, text string) {
	t.Helper()
	Until(t, func() bool { return strings.Contains(o.String(), text) }, "%q in:\n%s", text, o)
}

// Signals cancels when what is written holds a word, as Ctrl-C does at that moment.
type Signals struct {
	Output
	Word   string
	Cancel func()
}

// Write implements [io.Writer].
func (s *Signals) Write(p []byte) (int, error) {
	n, err := s.Output.Write(p)
	if strings.Contains(s.String(), s.Word) {
		s.Cancel()
	}
	return n, err
}

// FreePort is a port of a local address, 127.0.0.1 when none is given, that nobody listens on now.
func FreePort(t testing.TB, address ...string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(append(address, "127.0.0.1")[0], "0"))
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Next returns the next value of a channel, or its zero value when the channel is closed.
func Next[T any](t testing.TB, values <-chan T, what ...any) (v T) {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case v = <-values:
	case <-late.C:
		require.FailNow(t, "it does not happen", what...)
	}
	return v
}
