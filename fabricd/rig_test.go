package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second // for what must happen; only a failing test waits so long

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func run(ctx context.Context, out, errs io.Writer, args ...string) int {
	cmd := command()
	cmd.SetOut(out)
	cmd.SetErr(errs)
	cmd.SetArgs(args)
	return cli.Run(ctx, cmd)
}

// fabricd runs a command that ends by itself.
func fabricd(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs buffer
	code = run(ctx, &out, &errs, args...)
	require.NoError(t, ctx.Err(), "%v does not end", args)
	return out.String(), errs.String(), code
}

// refused runs a command that must end with code 2 and a message that holds want.
func refused(t *testing.T, want string, args ...string) {
	t.Helper()
	out, errs, code := fabricd(t, args...)
	require.Equal(t, cli.ExitUnusable, code, args)
	require.Empty(t, out, args)
	require.Contains(t, errs, "fabricd: ", args)
	require.Contains(t, errs, want, args)
}

// up is a fabricd up in this process.
type up struct {
	entry     registry.Entry
	out, errs buffer
	interrupt func()
	code      chan int
}

// launch starts fabricd up on a small tree and waits until the registry has it. Without a name it is called weft.
func launch(t *testing.T, args ...string) *up {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	u := &up{interrupt: cancel, code: make(chan int, 1)}
	go func() {
		u.code <- run(ctx, &u.out, &u.errs, append([]string{"up", "--topology", "kary-ntree:2,2"}, args...)...)
	}()
	t.Cleanup(func() {
		cancel()
		if len(args) > 0 && t.Failed() {
			t.Log(u.out.String(), u.errs.String())
		}
	})
	require.Eventually(t, func() bool {
		e, err := registry.Find("")
		u.entry = e
		return err == nil
	}, patience, 5*time.Millisecond)
	return u
}

// end interrupts the fabric, as Ctrl-C does, and returns all it has printed.
func (u *up) end(t *testing.T) string {
	t.Helper()
	return u.endsWith(t, cli.ExitOK)
}

// endsWith is end for a fabric that ends with that code.
func (u *up) endsWith(t *testing.T, want int) string {
	t.Helper()
	u.interrupt()
	select {
	case code := <-u.code:
		require.Equal(t, want, code, u.errs.String())
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	return u.out.String()
}

func (u *up) operator(t *testing.T) *api.Client {
	t.Helper()
	c, err := api.Dial(u.entry, "test", true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func ownRegistry(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "run") // for its user alone, as it is made
	t.Setenv("WEFT_RUN_DIR", dir)
	return dir
}
