package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/switch/link"
)

func TestMain(m *testing.M) {
	if os.Getenv(asLinkmon) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// patient ends do not take a neighbour for dead because the machine is busy.
var patient = harness.Liveness(50*time.Millisecond, 8)

// damping holds a link that flaps down until the test is over.
var damping = link.Damping{HalfLife: 60 * weft.Second, Suppress: 3, Reuse: 1, Max: 600 * weft.Second}

// start runs a small fabric that linkmon finds by name in the registry of this test.
func start(t *testing.T, name string, options ...harness.Option) *harness.Harness {
	t.Helper()
	h := harness.New(t, "kary-ntree:2,2", append(options, harness.Traffic("uniform:0.1"), patient)...)
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: name})
	require.NoError(t, err)
	t.Cleanup(b.Shutdown)
	control, err := bus.NewServer(bus.ServerConfig{Fabric: name, Broker: b})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	s, err := api.NewServer(h.Fabric(), control, api.Info{Name: name, Firmware: "adaptive-link", Started: time.Now()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { s.Run(ctx, nil) })
	t.Cleanup(func() { cancel(); serving.Wait() })

	claim, err := registry.Take(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, claim.Release()) })
	require.NoError(t, claim.Publish(registry.Entry{
		Name: name, PID: 7, Started: time.Now(), URL: b.ClientURL(), Topology: "kary-ntree:2,2", Firmware: "adaptive-link",
		Operator: b.Credentials(bus.RoleOperator), Viewer: b.Credentials(bus.RoleViewer),
		Page: "http://127.0.0.1:1/", Token: "secret",
	}))
	return h
}

// ownRegistry gives the test a registry of its own.
func ownRegistry(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "run") // for its user alone, as it is made
	t.Setenv("WEFT_RUN_DIR", dir)
	return dir
}

// output is a buffer for one writer and one reader at a time. It keeps whole lines apart for lines.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{} // capacity 1
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await waits until the output holds text.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(30 * time.Second) // only a failing test waits so long
	for !bytes.Contains([]byte(o.String()), []byte(text)) {
		select {
		case <-o.more:
		case <-late:
			t.Fatalf("no %q in:\n%s", text, o.String())
		}
	}
}

// linkmon runs the command to its end. No output may ever hold a password.
func linkmon(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	out, errs := newOutput(), newOutput()
	code = run(t.Context(), out, errs, args...)
	noPasswords(t, out.String()+errs.String())
	return out.String(), errs.String(), code
}

func run(ctx context.Context, out, errs *output, args ...string) int {
	cmd := command()
	cmd.SetOut(out)
	cmd.SetErr(errs)
	cmd.SetArgs(args)
	return cli.Run(ctx, cmd)
}

// ok runs a command that must succeed and returns what it prints.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := linkmon(t, args...)
	require.Zero(t, code, "%v: %s", args, errs)
	return out
}

// object runs a command with --json and parses the one object it prints.
func object[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	out := ok(t, append(args, "--json")...)
	require.NoError(t, json.Unmarshal([]byte(out), &v), out)
	return v
}

// background runs a command until stop, which returns its exit code.
func background(t *testing.T, args ...string) (out *output, stop func() int) {
	t.Helper()
	out = newOutput()
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() { code <- run(ctx, out, newOutput(), args...) }()
	return out, func() int { cancel(); return <-code }
}

func noPasswords(t *testing.T, text string) {
	t.Helper()
	entries, err := registry.List()
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, text, e.Operator.Password)
		require.NotContains(t, text, e.Viewer.Password)
	}
}

// withInput is the command with something to read.
func withInput(stdin string, args ...string) *cobra.Command {
	cmd := command()
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetArgs(args)
	return cmd
}
