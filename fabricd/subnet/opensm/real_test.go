package opensm_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm/peer"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// No process of the real thing outlives its test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 2 * time.Minute // only a failing test waits that long

// simulate starts the real thing, or skips the test where it is not installed; the whole check of a
// change installs it.
func simulate(t *testing.T, g *topology.Graph) (*peer.Sim, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	sim, err := peer.Start(ctx, t.TempDir(), g)
	if errors.Is(err, peer.ErrMissing) {
		testenv.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	t.Cleanup(sim.Stop)
	return sim, ctx
}

// OpenSM gives the LIDs that we say it gives.
func TestOpenSMGivesTheLIDsOfAssignLIDs(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	g := topologytest.Parse(t, "irregular:12,20,3,nics=2")
	for lmc, option := range []string{"0", "1", "2"} {
		sim, ctx := simulate(t, g) // a new one: ports keep their LIDs
		result, err := sim.Route(ctx, "minhop", "-l", option)
		require.NoError(t, err)
		f, err := os.Open(result.File("guid2lid"))
		require.NoError(t, err)
		defer f.Close()
		want, err := opensm.ReadGUID2LID(g, opensm.File{Name: f.Name(), Reader: f})
		require.NoError(t, err)
		got, err := opensm.AssignLIDs(g, 0, lmc)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// Each engine's tables become a routing without holes, and are written again byte by byte.
func TestTablesOfTheRealOpenSMAreReadAndWritten(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, spec := range []string{"irregular:12,24,1", "mesh:3x3,nics=2", "kary-ntree:4,2"}[:testenv.Levels(3, 1, 1)] {
		g := topologytest.Parse(t, spec)
		sim, ctx := simulate(t, g)
		roots := filepath.Join(t.TempDir(), "roots")
		require.NoError(t, os.WriteFile(roots, []byte(g.Identity(weft.SwitchID(0).Node()).GUID.String()+"\n"), 0o600))
		for engine, options := range map[string][]string{"minhop": nil, "updn": {"-a", roots}, "lash": nil} {
			result, err := sim.Route(ctx, engine, options...)
			require.NoError(t, err, "%s %s", spec, engine)
			r := open(t, g, result.File("opensm-lfts.dump"))
			assert.Zero(t, r.Unroutable, "%s %s", spec, engine)
			lids, err := opensm.AssignLIDs(g, 0, 0)
			require.NoError(t, err)
			want, err := os.ReadFile(result.File("opensm-lfts.dump"))
			require.NoError(t, err)
			var got bytes.Buffer
			require.NoError(t, writeLFT(&got, r, lids))
			assert.Equal(t, toNICs(string(want)), toNICs(got.String()), "%s %s", spec, engine)
			// And what we write is what it loads and dumps again.
			lft := filepath.Join(t.TempDir(), "weft.lfts")
			require.NoError(t, os.WriteFile(lft, got.Bytes(), 0o600))
			result, err = sim.Route(ctx, "file", "-U", lft)
			require.NoError(t, err)
			want, err = os.ReadFile(result.File("opensm-lfts.dump"))
			require.NoError(t, err)
			assert.Equal(t, string(want), got.String(), "%s %s", spec, engine)
		}
	}
}

// What engines of ours compute it loads, and dumps byte by byte as it was written; with several
// LIDs a port too.
func TestTheRealOpenSMTakesTablesOfOurs(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, spec := range []string{"irregular:12,24,1,nics=2", "torus:4x4", "kary-ntree:2,3"}[:testenv.Levels(3, 1, 1)] {
		g := topologytest.Parse(t, spec)
		for lmc, option := range []string{"0", "1"} {
			sim, ctx := simulate(t, g)
			lids, err := opensm.AssignLIDs(g, 0, lmc)
			require.NoError(t, err)
			for name, engine := range map[string]func(context.Context, *topology.Graph, layered.Options) (*layered.Routing,
				error){
				"lash": layered.LASH, "updn": layered.UpDownByDestination, "minimal-hop": layered.MinimalHop,
			} {
				r, err := engine(t.Context(), g, layered.Options{})
				require.NoError(t, err)
				var want bytes.Buffer
				require.NoError(t, writeLFT(&want, r, lids))
				lft := filepath.Join(t.TempDir(), "weft.lfts")
				require.NoError(t, os.WriteFile(lft, want.Bytes(), 0o600))
				result, err := sim.Route(ctx, "file", "-U", lft, "-l", option)
				require.NoError(t, err, "%s %s", spec, name)
				got, err := os.ReadFile(result.File("opensm-lfts.dump"))
				require.NoError(t, err)
				assert.Equal(t, want.String(), string(got), "%s %s LMC %d", spec, name, lmc)
			}
		}
	}
}

// toNICs leaves out the entries for switches, which are no part of a routing: it is our choice
// where they lead.
func toNICs(dump string) string {
	var b strings.Builder
	for line := range strings.Lines(dump) {
		if !strings.Contains(line, "# Switch") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// The layers of its lash are free of cycles only together with the service levels.
func TestLayersOfTheRealLASHAreRead(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	result, r := routed(t, topologytest.Parse(t, "irregular:10,16,2"), "lash")
	assert.Equal(t, result.Lanes, r.Layers)
	assert.Greater(t, r.Layers, 1)
}

// Those of its DFSSSP differ among the NICs of a switch.
func TestLayersOfTheRealDFSSSPAreRead(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	_, r := routed(t, topologytest.Parse(t, "ring:5,nics=2"), "dfsssp")
	alike := true
	for s := range r.Graph.Switches {
		for _, d := range r.Graph.NICs {
			alike = alike && len(r.Assignment.Addresses(weft.SwitchID(s), d.ID)) <= 1
		}
	}
	assert.False(t, alike)
}

// routed has the real OpenSM route a graph, and reads its tables with the service level of each
// path, which are free of cycles and are written again as they were.
func routed(t *testing.T, g *topology.Graph, engine string) (*peer.Result, *layered.Routing) {
	sim, ctx := simulate(t, g)
	result, err := sim.Route(ctx, engine)
	require.NoError(t, err)
	lids, err := opensm.AssignLIDs(g, 0, 0)
	require.NoError(t, err)
	levels, err := sim.PathSLs(ctx, engine, func(n weft.NICID) int { first, _ := lids.Of(n.Node()); return first })
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "path-sl")
	require.NoError(t, os.WriteFile(file, []byte(levels), 0o600))

	r := open(t, g, result.File("opensm-lfts.dump")+",sl2vl="+result.File("opensm-sl2vl.dump")+",path-sl="+file)
	assert.Zero(t, r.Unroutable)
	assert.Nil(t, r.Dependencies(t.Context()).Cycle())
	var again bytes.Buffer
	require.NoError(t, opensm.WritePathSL(&again, r, lids))
	assert.Equal(t, levels, again.String())
	return result, r
}

// What we write of service levels is what OpenSM dumps where it is told to map them so.
func TestServiceLevelsAreMappedAsOpenSMDumpsThem(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:10,16,2,nics=2")
	r, err := layered.LASH(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	require.Equal(t, 2, r.Layers)
	sim, ctx := simulate(t, g)
	options := filepath.Join(t.TempDir(), "opensm.conf")
	require.NoError(t, os.WriteFile(options, []byte("qos_sl2vl 0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1\n"), 0o600))
	result, err := sim.Route(ctx, "minhop", "-F", options)
	require.NoError(t, err)
	want, err := os.ReadFile(result.File("opensm-sl2vl.dump"))
	require.NoError(t, err)
	lids, err := opensm.AssignLIDs(g, 0, 0)
	require.NoError(t, err)
	var got bytes.Buffer
	require.NoError(t, opensm.WriteSL2VL(&got, r, lids))
	assert.Equal(t, string(want), got.String())
}

func TestAnEngineThatRefusesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	sim, ctx := simulate(t, topologytest.Parse(t, "irregular:6,9,1"))
	_, err := sim.Route(ctx, "updn") // without roots
	assert.ErrorIs(t, err, peer.ErrRefused)
}
