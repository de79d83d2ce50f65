package reroute

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Ctrl-C ends the command at once, however long the engine or the method would take.
func TestCtrlCEndsRerouteWhileAnEngineComputes(t *testing.T) {
	t.Parallel()
	const pairs = 64 * 63 // the engine looks for each
	for _, c := range []struct {
		n    int // the look at the context at which Ctrl-C comes
		args []string
	}{
		{100, []string{"-t", "torus:32x32", "--down", "s0.0-s1.0"}}, // of 1,024 destinations
		{100, []string{"-t", "irregular:1024,4096,1", "--all", "--routing", "lash", "--method", "engine"}},
		{64 + pairs + 32, []string{"-t", "torus:8x8", "--down", "s0.0-s1.0"}},        // dqr reads the tables
		{64 + pairs + 64*4 + 32, []string{"-t", "torus:8x8", "--down", "s0.0-s1.0"}}, // it gives flows new paths
		{64 + pairs + 32, []string{"-t", "torus:8x8", "--down", "s0.0-s1.0", "--routing", "xy", "--method", "engine"}},
	} {
		ctx := testenv.NewInterrupted(t.Context(), c.n)
		var out, errs rig.Output
		cmd := Command()
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetArgs(c.args)
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		require.EqualError(t, cmd.ExecuteContext(ctx), "interrupted, nothing is told", c.args)
		assert.Empty(t, out.String(), c.args)
		assert.Less(t, ctx.Asked(), c.n+5, "%v: it ended at once", c.args)
	}
}
