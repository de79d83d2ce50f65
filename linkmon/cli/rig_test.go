package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestMain(m *testing.M) {
	namespace.Main()
	if os.Getenv(asLinkmon) != "" {
		Main()
	}
	goleak.VerifyTestMain(m)
}

// patient ends do not take a neighbour for dead because the machine is busy.
var patient = harness.Liveness(50*time.Millisecond, 8)

// damping holds a link that flaps down until the test is over.
var damping = settings.Damping{HalfLife: "60s", Suppress: 3, Reuse: 1, Max: "600s"}

// start runs a small fabric that linkmon finds by name in the registry of this test. Options come
// after its own traffic and liveness.
func start(t *testing.T, name string, options ...harness.Option) *harness.Harness {
	t.Helper()
	return registered(t, live.Config{
		Name: name, InMemory: true,
		Harness: append([]harness.Option{harness.Traffic("uniform:0.1"), patient}, options...),
	}).Harness
}

// registered runs a fabric that linkmon finds by name.
func registered(t *testing.T, c live.Config) *live.Lab {
	t.Helper()
	c.Topology = "kary-ntree:2,2"
	l := live.Start(t, c)
	l.Answer()
	claim, err := registry.Take(c.Name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, claim.Release()) })
	require.NoError(t, claim.Publish(registry.Entry{
		Listed: registry.Listed{
			Name: c.Name, PID: 7, Started: time.Now(), URL: l.Broker.ClientURL(), Topology: c.Topology,
			Routing: "adaptive-link", Page: "http://127.0.0.1:1/",
		},
		Operator: l.Broker.Credentials(bus.RoleOperator), Viewer: l.Broker.Credentials(bus.RoleViewer), Token: "secret",
	}))
	return l
}

// ownRegistry gives the test a registry of its own.
func ownRegistry(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "run") // for its user alone, as it is made
	t.Setenv("WEFT_RUN_DIR", dir)
	return dir
}

// linkmon runs the command to its end. No output may ever hold a password.
func linkmon(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	out, errs := new(rig.Output), new(rig.Output)
	code = run(t.Context(), out, errs, args...)
	noPasswords(t, out.String()+errs.String())
	return out.String(), errs.String(), code
}

func run(ctx context.Context, out, errs *rig.Output, args ...string) int {
	cmd := Command()
	cmd.SetOut(out)
	cmd.SetErr(errs)
	cmd.SetArgs(append([]string{}, args...)) // those of the test binary are not meant where there are none
	return command.Run(ctx, cmd)
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
func background(t *testing.T, args ...string) (out *rig.Output, stop func() int) {
	t.Helper()
	out = new(rig.Output)
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() { code <- run(ctx, out, new(rig.Output), args...) }()
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
	cmd := Command()
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetArgs(args)
	return cmd
}
