// Package rig is what tests of every package share: waiting for a condition, processes and what
// they print, ports, and connections that can be cut. It is no _test file because the tests of many
// packages use it; nothing but tests imports it, and of ours it imports testenv alone.
package rig

import (
	"bytes"
	"math/rand/v2"
	"net"
	"strconv"
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
	for pause := time.Millisecond; !ok(); pause = min(pause+pause/4, 64*time.Millisecond) {
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

// FreePort is a port of a local address, 127.0.0.1 when none is given, that nobody listens on now,
// and that it has not returned before. It is below the ports that systems give to who asks for any:
// until it is used, and while what uses it starts again, nobody gets it by chance.
func FreePort(t testing.TB, address ...string) int {
	t.Helper()
	const first, end = 20_000, 32_768
	for range 1000 {
		port := first + rand.IntN(end-first)
		l, err := net.Listen("tcp", net.JoinHostPort(append(address, "127.0.0.1")[0], strconv.Itoa(port)))
		if err != nil {
			continue
		}
		require.NoError(t, l.Close())
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			return port
		}
	}
	require.FailNow(t, "there is no free port", "from %d to %d", first, end-1)
	return 0
}

var givenPorts sync.Map // by FreePort

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
