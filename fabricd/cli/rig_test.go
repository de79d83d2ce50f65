package cli_test

import (
	"context"
	"flag"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestMain(m *testing.M) {
	namespace.Main()
	cli.Command() // which adds sources of firmware, before anybody asks for one
	testscript.Main(withoutLeaks{m}, programs)
}

// withoutLeaks are all tests, and that they leave no goroutine.
type withoutLeaks struct{ *testing.M }

// Run implements [testscript.TestingM].
func (w withoutLeaks) Run() (code int) {
	if !testenv.Race { // tests that run in parallel mostly wait for processes; -parallel overrides this
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(w.M, goleak.Cleanup(func(c int) { code = c }))
	return code
}

// builtCommands is the folder of fabricd and linkmon as programs: the test binary again, as scripts
// execute it.
func builtCommands(t testing.TB) string {
	t.Helper()
	fabricd, err := exec.LookPath("fabricd")
	require.NoError(t, err)
	return filepath.Dir(fabricd)
}

func run(ctx context.Context, out, errs io.Writer, args ...string) int {
	cmd := cli.Command()
	cmd.SetOut(out)
	cmd.SetErr(errs)
	cmd.SetArgs(args)
	return command.Run(ctx, cmd)
}

// fabricd runs a command that ends by itself.
func fabricd(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	var out, errs rig.Output
	code = run(ctx, &out, &errs, args...)
	require.NoError(t, ctx.Err(), "%v does not end", args)
	return out.String(), errs.String(), code
}

// process is what differs from run to run of how a process is named.
var process = regexp.MustCompile(`(process )\d+|(on host |since )[\w:.-]*\w`)

// refused runs a command that must end with code 2 and that message, in which "?" is for what
// process finds.
func refused(t *testing.T, want string, args ...string) {
	t.Helper()
	out, errs, code := fabricd(t, args...)
	require.Equal(t, command.ExitUnusable, code, args)
	require.Empty(t, out, args)
	require.Equal(t, "fabricd: "+want+"\n", process.ReplaceAllString(errs, "$1$2?"), args)
}

// running is a command in this process.
type running struct {
	out, errs rig.Output
	interrupt func() // as Ctrl-C does
	done      chan struct{}
	code      int // when done is closed
	judged    bool
}

// begin starts a command. When the test ends it is interrupted, and must end with 0 unless the test
// has said how it ends.
func begin(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{}
	r.start(t, &r.out, args...)
	return r
}

// beginUnread starts a command whose standard output nobody reads.
func beginUnread(t *testing.T, args ...string) *running {
	t.Helper()
	unread, stdout := io.Pipe()
	r := &running{}
	r.start(t, stdout, args...)
	t.Cleanup(func() { require.NoError(t, unread.Close()) }) // and the goroutine that writes ends
	return r
}

func (r *running) start(t *testing.T, stdout io.Writer, args ...string) {
	t.Helper()
	if args[0] == "up" && !slices.Contains(args, "--drain-timeout") { // its own is too short on a busy machine
		args = append(args, "--drain-timeout", (rig.Patience / 2).String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.interrupt, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		r.code = run(ctx, stdout, &r.errs, args...)
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v:\n%s%s", args, &r.out, &r.errs)
		}
		if r.interrupt(); !r.judged {
			r.ends(t, command.ExitOK)
		}
	})
}

// end interrupts it, and returns all it has printed. It must end with 0.
func (r *running) end(t *testing.T) string {
	t.Helper()
	return r.endsWith(t, command.ExitOK)
}

// endsWith is end for what ends with that code.
func (r *running) endsWith(t *testing.T, want int) string {
	t.Helper()
	r.interrupt()
	return r.ends(t, want)
}

// ends waits for its end.
func (r *running) ends(t *testing.T, want int) string {
	t.Helper()
	r.judged = true
	rig.Next(t, r.done, "it ends")
	require.Equal(t, want, r.code, &r.errs)
	return r.out.String()
}

// up is a fabricd up in this process.
type up struct {
	*running
	entry registry.Entry
}

// launch starts fabricd up on a small tree and waits until the registry has it. Without a name it
// is called weft.
func launch(t *testing.T, args ...string) *up {
	t.Helper()
	return registered(t, begin(t, append([]string{"up", "--topology", "kary-ntree:2,2"}, args...)...))
}

// registered waits until the registry has a fabric.
func registered(t *testing.T, r *running) *up {
	t.Helper()
	u := &up{running: r}
	rig.Until(t, func() bool {
		var err error
		u.entry, err = registry.Find("")
		return err == nil
	})
	return u
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
