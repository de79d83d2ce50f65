package harness_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeTB is a test that records how it fails. It runs in a goroutine of its own, as tests do, so
// that Fatalf ends it.
type fakeTB struct {
	testing.TB // for what is not overridden, and to be one
	name       string

	mu       sync.Mutex
	failed   bool
	text     strings.Builder
	cleanups []func()
}

// failing runs body as a test of that name and returns what it printed and whether it failed.
func failing(t *testing.T, name string, body func(t testing.TB)) (text string, failed bool) {
	t.Helper()
	f := &fakeTB{TB: t, name: name}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer f.clean()
		body(f)
	}()
	<-done
	return f.text.String(), f.failed
}

func (f *fakeTB) clean() {
	for len(f.cleanups) > 0 {
		last := f.cleanups[len(f.cleanups)-1]
		f.cleanups = f.cleanups[:len(f.cleanups)-1]
		last()
	}
}

func (f *fakeTB) Name() string       { return f.name }
func (f *fakeTB) Helper()            {}
func (f *fakeTB) Cleanup(fun func()) { f.cleanups = append(f.cleanups, fun) }
func (f *fakeTB) Log(args ...any)    { f.print(false, fmt.Sprintln(args...)) }
func (f *fakeTB) Fail()              { f.print(true, "") }

func (f *fakeTB) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *fakeTB) Errorf(format string, args ...any) { f.print(true, fmt.Sprintf(format, args...)+"\n") }

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

func (f *fakeTB) print(failed bool, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = f.failed || failed
	f.text.WriteString(text)
}
