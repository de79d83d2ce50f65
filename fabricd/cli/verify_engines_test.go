package cli_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
)

// engineNames are all engines, some with options.
func engineNames(t *testing.T, g *topology.Graph) (names []string) {
	t.Helper()
	for _, e := range command.RoutesEntries() {
		if e.Fits(g) {
			names = append(names, e.Name)
		}
	}
	require.Contains(t, names, "lash")
	return append(names, "updn-adaptive:layers=2", "updn:tree=dfs,layers=3", "updn:in-port=false", "mroots:layers=2",
		"escape:layers=4", "lash:both=true", "lash:balance=false", "lash:paths=pair", "mp-lash:step4=false",
		"a-lash:step4=false", "a-lash:move=false")
}

// Verify runs the firmware in every state, routes follows tables: two ways to the same verdict, and
// to the longest path.
func TestVerifyAndRoutesAgreeOnEveryEngine(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, spec := range []string{
		"irregular:16,32,1", "irregular:12,16,2,nics=2,parallel=2", "torus:4x4", "ring:6",
		"mesh:3x3", "kary-ntree:2,3",
	} {
		g := topologytest.Parse(t, spec)
		for _, name := range engineNames(t, g) {
			r, err := subnet.Routes(t.Context(), name, g)
			require.NoError(t, err, name)
			s, err := survey.Of(t.Context(), r)
			require.NoError(t, err, name)
			assert.Zero(t, s.Unroutable, "%s of %s", name, spec)
			fw, vcs, err := subnet.Firmware(t.Context(), name, g)
			require.NoError(t, err)
			v, err := verify.Run(t.Context(), verify.Config{Graph: g, Name: name, Firmware: fw, VCs: vcs, Sets: verify.Sets{}})
			require.NoError(t, err)
			assert.Equal(t, s.Cycle == nil, v.Pass, "%s of %s: %v", name, spec, v)
			if r.Kind == layered.Deterministic {
				assert.Equal(t, s.Cycle == nil, v.CDGAcyclic, "%s of %s", name, spec)
			} else if v.CDGAcyclic { // what moves between layers may go in circles that each layer has not, and waits in none (theorem 3)
				assert.Nil(t, s.Cycle, "%s of %s", name, spec)
			}
			assert.Equal(t, s.MaxHops+1, v.MaxHops, "%s of %s: switches and links between them", name, spec)
			if name != "minimal-hop" {
				assert.Nil(t, s.Cycle, "%s of %s", name, spec)
			}
		}
	}
}
