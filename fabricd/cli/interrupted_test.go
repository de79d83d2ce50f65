package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// What was counted when somebody pressed Ctrl-C is printed.
func TestTolerateIsInterruptedCleanly(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-m", "I+D,I", "--faults", "9"},
		{"-m", "I+D,I", "--faults", "9", "--samples", "100000000"},
		{"-m", "I+M,I", "--limit"},
	} {
		ctx := testenv.NewInterrupted(t.Context(), 5)
		var out, errs rig.Output
		args = append([]string{"tolerate", "-t", "torus:3x3x3", "--json"}, args...)
		assert.Equal(t, command.ExitUnusable, run(ctx, &out, &errs, args...), args)
		assert.Contains(t, errs.String(), "interrupted", args)
		assert.Equal(t, 1, strings.Count(out.String(), `"complete":false`), "%v: %s", args, out.String())
		assert.Equal(t, 1, strings.Count(out.String(), "\n"), "the others were not begun: %s", out.String())
	}
}

// Ctrl-C ends a command at once, however long an engine or a method would take, and while paths are
// followed.
func TestCtrlCEndsWhatIsComputed(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	const (
		routes, reroute = "interrupted, no routes are computed", "interrupted, nothing is told"
		pairs           = 64 * 63 // the engine looks for each
	)
	for _, c := range []struct {
		says string
		n    int // the look at the context at which Ctrl-C comes
		args []string
	}{
		// the dependencies are found
		{routes, 64 + 32, []string{"routes", "-t", "torus:8x8", "--routing", "minimal-hop"}},
		{routes, 2*64 + 32, []string{"routes", "-t", "torus:8x8", "--routing", "minimal-hop"}}, // loads are counted
		// the users of a cycle are listed
		{routes, 3*64 + 32, []string{"routes", "check", "-t", "torus:8x8", "--routing", "minimal-hop"}},
		{routes, 6*64 + 32, []string{
			"routes", "diff", "-t", "torus:8x8", "--routing", "minimal-hop", "--with",
			"minimal-hop:seed=1",
		}},
		// dqr reads the tables
		{reroute, 64 + pairs + 32, []string{"reroute", "-t", "torus:8x8", "--down", "s0.0-s1.0"}},
		// it gives flows new paths
		{reroute, 64 + pairs + 64*4 + 32, []string{"reroute", "-t", "torus:8x8", "--down", "s0.0-s1.0"}},
		{
			reroute, 64 + pairs + 32,
			[]string{"reroute", "-t", "torus:8x8", "--down", "s0.0-s1.0", "--routing", "xy", "--method", "engine"},
		},
		{routes, 100, []string{"routes", "-t", "irregular:1024,4096,1", "--routing", "lash"}}, // of 1,024 destinations
		{routes, 100, []string{"routes", "dump", "-t", "irregular:1024,4096,1", "--routing", "mp-lash"}},
		{routes, 100, []string{"routes", "check", "-t", "torus:32x32", "--routing", "minimal-hop"}},
		{reroute, 100, []string{"reroute", "-t", "torus:32x32", "--down", "s0.0-s1.0"}}, // of 1,024 destinations
		{
			reroute, 100, []string{
				"reroute", "-t", "irregular:1024,4096,1", "--all", "--routing", "lash", "--method",
				"engine",
			},
		},
	}[:testenv.N(12, 7)] {
		ctx := testenv.NewInterrupted(t.Context(), c.n)
		var out, errs rig.Output
		assert.Equal(t, command.ExitUnusable, run(ctx, &out, &errs, c.args...), c.args)
		assert.Equal(t, "fabricd: "+c.says+"\n", errs.String(), c.args)
		assert.Empty(t, out.String(), c.args)
		assert.Less(t, ctx.Asked(), c.n+5, "%v: it ended at once", c.args)
	}
}

// A proof that is killed goes on from its checkpoint, and says what one in one go says.
func TestAProofThatIsKilledGoesOn(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	dir := t.TempDir()
	begin := func(args ...string) *rig.Process {
		args = append([]string{
			"verify", "-t", "mport-tree:36,2", "--routing", "deterministic-link", "--faults", "17", "--no-symmetry",
			"--jobs", "1", "--json",
		}, args...)
		return rig.Run(t, inFolder(filepath.Join(builtCommands(t), "fabricd"), dir, args...))
	}
	killed := begin("--checkpoint", "proof")
	file := filepath.Join(dir, "proof")
	rig.Until(t, func() bool { return killed.Ended() || fileIsThere(file) }, "something is saved")
	killed.Kill()
	require.NotContains(t, killed.Out.String(), `"pass"`, "it was not at its end")

	code, on := begin("--checkpoint", "proof").Ends()
	require.Zero(t, code, on)
	code, whole := begin().Ends()
	require.Zero(t, code, whole)
	results := regexp.MustCompile(`(?m)^\{.*`) // the rest says how far it is
	assert.Equal(t, untimed(results.FindString(whole)), untimed(results.FindString(on)))
}

func fileIsThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
