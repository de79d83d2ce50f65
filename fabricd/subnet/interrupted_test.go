package subnet_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// What a firmware is made of looks at its context at each switch, and returns at once when that has
// ended.
func TestAFirmwareIsMadeUnlessItsContextEnds(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{
		"ftree": "mport-tree:4,3", "hybrid": "mport-tree:4,3", "hybrid-adaptive": "mport-tree:4,3",
		"deterministic-table": "mport-tree:4,3", "ddrc-source": "mport-tree:4,3",
		"lash": "torus:4x4", "duato:mechanisms=I+D": "torus:4x4",
	} {
		g := topologytest.Parse(t, spec)
		e, err := subnet.ByName(name)
		require.NoError(t, err)
		ctx := testenv.NewInterrupted(t.Context(), 0)
		_, _, err = e.New(ctx, g)
		require.NoError(t, err, name)
		all := ctx.Asked()
		require.GreaterOrEqual(t, all, len(g.Switches), name)
		for _, n := range []int{1, all / 2, all} {
			ctx := testenv.NewInterrupted(t.Context(), n)
			_, _, err := e.New(ctx, g)
			require.ErrorIs(t, err, context.Canceled, "%s, %d of %d", name, n, all)
			require.ErrorContains(t, err, "no routes are computed", name)
			assert.LessOrEqual(t, ctx.Asked(), n+2, "%s, %d of %d", name, n, all)
		}
	}
}

// An engine looks at its context at least once for each destination, from the beginning to the end,
// and when that has ended it returns at once: it looks at most twice more, to say why.
func TestAnEngineEndsWithItsContext(t *testing.T) {
	t.Parallel()
	names := []string{
		"lash:paths=pair", "lash:both=true", "lash:paths=pair,rounds=20", "lash:layers=1,fallback=longer",
		"mp-lash:layers=2,fallback=updn",
		"a-lash:layers=2,fallback=longer", "xy", "e-cube",
	}
	for _, e := range computing() {
		if e.Name != "ftree" { // [TestAFirmwareIsMadeUnlessItsContextEnds]
			names = append(names, e.Name)
		}
	}
	for _, name := range names {
		g := topologytest.Parse(t, "torus:5x4")
		ctx := testenv.NewInterrupted(t.Context(), 0)
		_, err := subnet.Routes(ctx, name, g)
		require.NoError(t, err, name)
		all := ctx.Asked()
		require.GreaterOrEqual(t, all, len(g.NICs), name)
		for _, n := range []int{1, 2, all / 2, all - 1} {
			ctx := testenv.NewInterrupted(t.Context(), n)
			_, err := subnet.Routes(ctx, name, g)
			require.ErrorIs(t, err, context.Canceled, "%s, %d of %d", name, n, all)
			require.ErrorContains(t, err, "no routes are computed", name)
			assert.LessOrEqual(t, ctx.Asked(), n+2, "%s, %d of %d", name, n, all)
		}
	}
}
