package routes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Ctrl-C ends the command at once, however long the engine would take, and while paths are
// followed.
func TestCtrlCEndsRoutesWhileTheyAreComputed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int // the look at the context at which Ctrl-C comes
		args []string
	}{
		{100, []string{"-t", "irregular:1024,4096,1", "--routing", "lash"}}, // of 1,024 destinations
		{100, []string{"dump", "-t", "irregular:1024,4096,1", "--routing", "mp-lash"}},
		{100, []string{"check", "-t", "torus:32x32", "--routing", "minimal-hop"}},
		{64 + 32, []string{"-t", "torus:8x8", "--routing", "minimal-hop"}},            // the dependencies are found
		{2*64 + 32, []string{"-t", "torus:8x8", "--routing", "minimal-hop"}},          // loads are counted
		{3*64 + 32, []string{"check", "-t", "torus:8x8", "--routing", "minimal-hop"}}, // the users of a cycle are listed
		{6*64 + 32, []string{"diff", "-t", "torus:8x8", "--routing", "minimal-hop", "--with", "minimal-hop:seed=1"}},
	} {
		ctx := testenv.NewInterrupted(t.Context(), c.n)
		var out, errs rig.Output
		cmd := Command()
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetArgs(c.args)
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		require.EqualError(t, cmd.ExecuteContext(ctx), "interrupted, no routes are computed", c.args)
		assert.Empty(t, out.String(), c.args)
		assert.Less(t, ctx.Asked(), c.n+5, "%v: it ended at once", c.args)
	}
}
