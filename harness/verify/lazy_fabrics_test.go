package verify

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// What exploring all sets at once says of every pair is what exploring each says: in every fabric,
// for every routing that runs there and looks at no registers.
func TestAllSetsAtOnceOnEveryFabricAreAsOneByOne(t *testing.T) {
	for _, c := range []struct {
		on   string
		gone []string // links that the tree lacks
		kind Kind
		most int
		long bool
	}{
		{on: "ring:5", kind: Links, most: 2},
		{on: "mesh:3x3", kind: Links, most: 2},
		{on: "torus:3x3", kind: Links, most: 1},
		{on: "leaf-spine:2,3,2", kind: Links, most: 3},
		{on: "leaf-spine:3,2,2", kind: Any, most: 3},
		{on: "irregular:6,9,1", kind: Links, most: 2},
		{on: "kary-ntree:2,3", kind: Any, most: 1, gone: []string{"s0.00-s1.00", "s1.11-s2.11"}},
		{on: "kary-ntree:3,2", kind: Links, most: 2, gone: []string{"s0.0-s1.1"}},
		{on: "torus:4x4", kind: Links, most: 2, long: true},
		{on: "torus:3x3x3", kind: Links, most: 1, long: true},
		{on: "mesh:4x4", kind: Links, most: 3, long: true},
		{on: "irregular:8,14,2", kind: Links, most: 2, long: true},
		{on: "kary-ntree:3,3", kind: Links, most: 1, gone: []string{"s0.00-s1.10", "s1.11-s2.12"}, long: true},
		{on: "mport-tree:4,3", kind: Any, most: 2, gone: []string{"s0.00-s1.10"}, long: true},
	} {
		g := topologytest.Parse(t, c.on)
		if c.gone != nil {
			g = lacking(t, g, c.gone)
		}
		ran := 0
		for _, e := range subnet.Entries() {
			fw, vcs, err := e.New(t.Context(), g)
			config := Config{Graph: g, Firmware: fw, VCs: vcs, Sets: Sets{Kind: c.kind, Max: c.most}}
			if check := config; err != nil || check.check() != nil {
				continue // it runs elsewhere
			}
			if r, why := lazily(t, config); r == nil {
				assert.Contains(t, []string{"switches have registers", "it is not one routing that knows nothing of the " +
					"faults"}, why)
				continue
			}
			ran++
			t.Run(fmt.Sprintf("%s/%d/%s/%d/%s", c.on, len(c.gone), c.kind, c.most, e.Name), func(t *testing.T) {
				t.Parallel()
				if c.long {
					testenv.Long(t)
					testenv.OneIn(t, 6)
				}
				testenv.Unraced(t)
				lazyRunOf(t, config).sameBothWays(t)
			})
		}
		assert.Greater(t, ran, 2, c.on)
	}
}

// lazily is the run of a configuration, nil if its sets cannot be explored at once, and why.
func lazily(t *testing.T, c Config) (*run, string) {
	t.Helper()
	require.NoError(t, c.Sets.resolve(c.Graph))
	require.NoError(t, c.check())
	m, err := newModel(&c)
	require.NoError(t, err)
	r := &run{Config: c, model: m, folded: c.Firmware.Vectors}
	if why := r.canBeLazy(); why != "" {
		return nil, why
	}
	return r, ""
}

// lacking is a topology as from a file, without some of its links.
func lacking(t *testing.T, g *topology.Graph, gone []string) *topology.Graph {
	t.Helper()
	links := slices.DeleteFunc(slices.Clone(g.Links), func(l topology.Link) bool { return slices.Contains(gone, l.Name) })
	require.Len(t, links, len(g.Links)-len(gone))
	for i := range links {
		links[i].ID = weft.LinkID(i)
	}
	less, err := topology.New("lacking", slices.Clone(g.Switches), slices.Clone(g.NICs), links)
	require.NoError(t, err)
	return less
}

// A firmware that does not say that the destination alone matters is explored pair by pair, and one
// that looks at more of a packet than where it comes from, set by set.
func TestSourcesThatMatterAreExploredByThemselves(t *testing.T) {
	odd := firmware.DeterministicLink()
	route := odd.Route
	odd.DestinationBased = false
	odd.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if t := sw.Place().Tree; pkt.Src == 1 && t.Leaf() && !t.HasDown(pkt.Dst) && !sw.PortUp(t.Up(1)) {
			return switching.Discard("not from there")
		}
		return route(pkt, at, sw)
	}
	r := lazyRun(t, "kary-ntree:2,3", odd, 2)
	r.sameBothWays(t)

	odd.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if pkt.Size == 1 {
			return switching.Discard("too small")
		}
		return route(pkt, at, sw)
	}
	res, err := Run(t.Context(), Config{Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: odd, Sets: Sets{Max: 1}})
	require.NoError(t, err)
	assert.Equal(t, Enumeration, res.Method)
	assert.False(t, res.Pass)
}
