package verify_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// proofsTable has what was found, beside what is there of claims that are not run. A run with
// -update writes it.
const proofsTable = "../../docs/results/proofs.md"

// claim is one statement about routing functions and sets of faults, which must hold.
type claim struct {
	about    string // which statement of the papers
	routing  []string
	topology string
	kind     verify.Kind
	most     int
	samples  int
	perGroup bool
	when     verify.When
	oneByOne bool // see verify.Config
	long     bool // only at soak
	fails    bool // it must not hold
	connects bool // only that all pairs are connected, without livelock: beyond k-1 faults adaptive functions can deadlock
}

var (
	linkFunctions = []string{
		"deterministic-link", "deterministic-table", "source-routed", "adaptive-link",
		"adaptive-link-digit", "misroute-vector",
	}
	switchFunctions = []string{
		"deterministic-switch", "adaptive-switch", "adaptive-switch-digit",
		"adaptive-switch-header",
	}
	allFunctions   = append(append([]string(nil), linkFunctions...), switchFunctions...)
	inSwitches     = []string{"adaptive-link", "adaptive-link-digit", "adaptive-switch", "adaptive-switch-digit"} // vectors
	deterministic  = []string{"deterministic-link", "deterministic-table", "source-routed", "deterministic-switch"}
	oneFaultLink   = []string{"deterministic-link-one", "deterministic-link-flat", "adaptive-link-one"}
	oneFaultSwitch = []string{"deterministic-switch-one", "adaptive-switch-one"}
)

const (
	byLinks  = "Lemmas 2, 6, 9, Theorems 1, 5; of R_m: Lemmas 1, 2, Theorem 2"
	byAny    = "Lemmas 4, 7, 10, Theorems 3, 5"
	arriving = "the same while faults come between hops"
	flapping = "the same while faults come and go between hops"
)

// small are the topologies on which claims are checked in every run; at soak they all are.
var small = []string{"kary-ntree:2,3", "kary-ntree:2,4", "kary-ntree:3,2", "mport-tree:4,3", "torus:3x3"}

func claims() (c []claim) {
	for _, size := range []struct {
		k, n int
		long bool
	}{
		{2, 3, false},
		{2, 4, false},
		{2, 5, true},
		{2, 6, true},
		{3, 2, false},
		{3, 3, false},
		{3, 4, true},
		{4, 2, false},
		{4, 3, true},
		{5, 2, true},
	} {
		tree := fmt.Sprintf("kary-ntree:%d,%d", size.k, size.n)
		byLink, bySwitch := allFunctions, switchFunctions
		if size.k > 4 {
			byLink, bySwitch = without(byLink, inSwitches), without(bySwitch, inSwitches)
		}
		c = append(
			c,
			claim{about: byLinks, routing: allFunctions, topology: tree, kind: verify.Links, most: size.k - 1, long: size.long},
			claim{about: byAny, routing: switchFunctions, topology: tree, kind: verify.Any, most: size.k - 1, long: size.long},
			claim{
				about: byLinks + "; " + arriving, routing: allFunctions, topology: tree, kind: verify.Links,
				most: size.k - 1, when: verify.Arriving, long: size.long || size.k*size.n >= 8,
			},
			claim{
				about: byLinks + "; " + flapping, routing: byLink, topology: tree, kind: verify.Links,
				most: size.k - 1, when: verify.Flapping, long: size.long,
			},
			claim{
				about: byAny + "; " + arriving, routing: switchFunctions, topology: tree, kind: verify.Any, most: size.k - 1,
				when: verify.Arriving, long: size.long || size.k*size.n >= 8,
			},
			claim{
				about: byAny + "; " + flapping, routing: bySwitch, topology: tree, kind: verify.Any, most: size.k - 1,
				when: verify.Flapping, long: size.long,
			},
		)
	}
	for _, when := range []verify.When{verify.Arriving, verify.Flapping} {
		c = append(
			c,
			claim{
				about: byLinks + "; " + []string{1: arriving, 2: flapping}[when], routing: allFunctions,
				topology: "kary-ntree:4,3", kind: verify.Links, most: 2, when: when, long: true,
			},
			claim{
				about: byAny + "; " + []string{1: arriving, 2: flapping}[when], routing: switchFunctions,
				topology: "kary-ntree:4,3", kind: verify.Any, most: 1, when: when, long: true,
			},
		)
	}
	// The paper's own tree with fewer faults.
	c = append(
		c,
		claim{about: byLinks, routing: allFunctions, topology: "kary-ntree:4,3", kind: verify.Links, most: 1, long: true},
		claim{about: byAny, routing: switchFunctions, topology: "kary-ntree:4,3", kind: verify.Any, most: 1, long: true},
		claim{
			about: "k-1 dead links in every switch group at once: connected", connects: true, routing: linkFunctions,
			topology: "kary-ntree:3,3", kind: verify.Links, most: 2, samples: 200, perGroup: true,
		},
		claim{
			about: "k-1 dead links in every switch group at once: connected", connects: true, routing: linkFunctions,
			topology: "kary-ntree:4,3", kind: verify.Links, most: 3, samples: 500, perGroup: true, long: true,
		},
		claim{
			about: "up to k-1 dead links in each switch group", routing: deterministic[:3], topology: "kary-ntree:3,3",
			kind: verify.Links, most: 2, perGroup: true, long: true,
		},
		claim{
			about:   "up to k-1 dead links in each switch group are too many for the switch functions",
			routing: deterministic[3:], topology: "kary-ntree:3,3", kind: verify.Links, most: 2, perGroup: true, fails: true,
			long: true,
		},
		claim{
			about: "up to k-1 dead links in each switch group", routing: deterministic[:3], topology: "kary-ntree:4,3",
			kind: verify.Links, most: 3, perGroup: true, long: true,
		},
		claim{
			about: "up to k-1 dead links in each switch group: connected", connects: true, routing: []string{"misroute-vector"},
			topology: "kary-ntree:4,3", kind: verify.Links, most: 3, perGroup: true, long: true,
		},
		claim{about: "m-port n-tree", routing: allFunctions, topology: "mport-tree:4,3", kind: verify.Links, most: 1},
		claim{about: "m-port n-tree", routing: switchFunctions, topology: "mport-tree:4,3", kind: verify.Any, most: 1},
		claim{about: "m-port n-tree", routing: allFunctions, topology: "mport-tree:6,2", kind: verify.Links, most: 2},
		claim{
			about: "m-port n-tree", routing: allFunctions, topology: "mport-tree:8,2", kind: verify.Links, most: 3,
			long: true,
		},
		claim{
			about: "m-port n-tree", routing: allFunctions, topology: "mport-tree:6,3", kind: verify.Links, most: 2,
			long: true,
		},
		claim{
			about: "large k", routing: allFunctions, topology: "kary-ntree:8,2", kind: verify.Links, most: 7,
			samples: 20, long: true,
		},
		claim{
			about: "one fault: no extra layer, no vector", routing: oneFaultLink, topology: "kary-ntree:3,3",
			kind: verify.Links, most: 1,
		},
		claim{
			about: "one fault: no extra layer, no vector", routing: oneFaultLink, topology: "kary-ntree:4,3",
			kind: verify.Links, most: 1, long: true,
		},
		claim{
			about: "one fault: one header bit", routing: oneFaultSwitch, topology: "kary-ntree:3,3", kind: verify.Any,
			most: 1,
		},
		claim{
			about: "one fault: one header bit", routing: oneFaultSwitch, topology: "kary-ntree:2,4", kind: verify.Any,
			most: 1,
		},
		claim{
			about: "one fault: one header bit", routing: oneFaultSwitch, topology: "kary-ntree:4,3", kind: verify.Any,
			most: 1, long: true,
		},
		claim{
			about: "a dead switch in tiers 1..n-2 is too much for the link functions", routing: linkFunctions,
			topology: "kary-ntree:3,3", kind: verify.Switches, most: 1, fails: true,
		},
		claim{
			about:   "a switch whose ports come up one by one is too much for the switch functions",
			routing: switchFunctions, topology: "kary-ntree:2,3", kind: verify.Switches, most: 1, when: verify.Flapping,
			oneByOne: true, fails: true,
		},
		claim{
			about:   "a switch whose ports come up one by one is too much for the switch functions",
			routing: switchFunctions, topology: "kary-ntree:3,3", kind: verify.Switches, most: 1, when: verify.Flapping,
			oneByOne: true, fails: true,
		},
		claim{
			about: "four links that come and go are too many for vectors in switches, whatever k", routing: inSwitches,
			topology: "kary-ntree:5,2", kind: verify.Links, most: 4, when: verify.Flapping, fails: true, long: true,
		},
		claim{
			about:    "k-1 links and switches that come and go are too many for vectors in switches, from k and n of 4 on",
			routing:  inSwitches[2:],
			topology: "kary-ntree:4,4", kind: verify.Any, most: 3, when: verify.Flapping, fails: true, long: true,
		},
		claim{
			about: "k dead links are too many", routing: allFunctions, topology: "kary-ntree:2,3", kind: verify.Links,
			most: 2, fails: true,
		},
		claim{
			about:   "two faults are too many for the one-fault variants",
			routing: append(append([]string(nil), oneFaultLink...), oneFaultSwitch...), topology: "kary-ntree:3,3",
			kind: verify.Links, most: 2, fails: true,
		},
		claim{
			about: "without re-routing one dead link is too much", routing: []string{"updown"},
			topology: "kary-ntree:2,3", kind: verify.Links, most: 1, fails: true,
		},
	)
	for _, wide := range []struct {
		topology string
		most     int
		links    []string // functions
	}{
		{"kary-ntree:8,3", 7, deterministic[:3]},
		{"kary-ntree:32,2", 31, deterministic[:3]},
		{"mport-tree:36,2", 17, deterministic[:3]},
		{"mport-tree:36,3", 17, deterministic[:1]},
	} {
		c = append(
			c,
			claim{
				about: "wide trees, all sets at once", routing: wide.links, topology: wide.topology,
				kind: verify.Links, most: wide.most, long: true,
			},
			claim{
				about: "wide trees, all sets at once", topology: wide.topology,
				routing: []string{"adaptive-link", "adaptive-link-digit", "misroute-vector"},
				kind:    verify.Links, most: wide.most, long: true,
			},
			claim{
				about: "wide trees, all sets at once", topology: wide.topology,
				routing: []string{"adaptive-switch", "adaptive-switch-digit", "adaptive-switch-header"},
				kind:    verify.Any, most: wide.most, long: true,
			},
		)
		kind := verify.Any
		if wide.topology == "mport-tree:36,3" { // switches take minutes there
			kind = verify.Links
		}
		c = append(c, claim{
			about: "wide trees, all sets at once", routing: deterministic[3:],
			topology: wide.topology, kind: kind, most: wide.most, long: true,
		})
	}
	for _, d := range []struct {
		topology, routing string
		most              int
		fails             bool
	}{
		{"torus:5x5", "duato", 0, false},
		{"torus:5x5", "duato:ring=dateline", 0, false},
		{"torus:5x5", "duato:ring=free", 0, true},
		{"torus:5x5", "dimension-order:ring=bubble", 0, false},
		{"torus:5x5", "dimension-order:ring=free", 0, true},
		{"torus:5x5", "direction-order:ring=bubble", 0, false},
		{"torus:3x3x3", "duato:mechanisms=I", 1, false},
		{"torus:3x3x3", "duato:mechanisms=M", 1, false},
		{"torus:3x3x3", "duato:mechanisms=D", 1, true},
		{"torus:3x3x3", "duato:mechanisms=I+D", 1, false},
		{"torus:3x3", "duato:mechanisms=I+D", 2, false},
		{"torus:3x3", "duato:mechanisms=I+M", 2, false},
	} {
		about := "tori: no deadlock by Duato's theorem and bubble flow control, or dateline"
		if d.most > 0 {
			about = "tori: so many faults are tolerated"
		}
		c = append(c, claim{
			about: about, routing: []string{d.routing}, topology: d.topology, kind: verify.Links,
			most: d.most, fails: d.fails,
		})
	}
	return c
}

// without is a list without some.
func without(list, some []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(some, s) })
}

// command is the claim of a function as fabricd checks it.
func (c claim) command(routing string) string { return commandOf(c.topology, routing, c.dead()) }

func commandOf(topology, routing, dead string) string {
	return fmt.Sprintf("fabricd verify --topology %s --routing %s %s", topology, routing, dead)
}

// dead is which sets of faults a claim is about, as options of fabricd verify.
func (c claim) dead() string {
	options := fmt.Sprintf("--kind %s --faults %d", c.kind, c.most)
	if c.samples > 0 {
		options += fmt.Sprintf(" --samples %d", c.samples)
	}
	if c.perGroup {
		options += " --per-group"
	}
	options += [...]string{"", " --when arriving", " --when flapping"}[c.when]
	if c.oneByOne {
		options += " --one-by-one"
	}
	return options
}

// What the papers claim, and PAPERS lists, set by set. docs/results/proofs.md is the table this
// makes.
func TestClaims(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	list := claims()
	var table *proofTable
	if testenv.Update() {
		var err error
		table, err = readProofTable(proofsTable, time.Now().UTC().Format(time.DateOnly))
		require.NoError(t, err)
	}
	for _, c := range list {
		if !testenv.Soak() && (c.long || !slices.Contains(small, c.topology)) {
			continue
		}
		g := topologytest.Parse(t, c.topology)
		for _, name := range c.routing {
			t.Run(c.command(name), func(t *testing.T) {
				r := c.run(t, g, name)
				if table != nil {
					table.found(c.about, c.command(name), r)
					require.NoError(t, table.write(list))
				}
				if r.Interrupted {
					t.Skipf("stopped after %d fault sets", r.FaultSets)
				}
			})
		}
	}
}

// run checks the claim of a function, unless it is stopped before its end: then only that nothing
// was found against it.
func (c claim) run(t *testing.T, g *topology.Graph, name string) *verify.Result {
	t.Helper()
	routing, err := subnet.ByName(name)
	require.NoError(t, err)
	fw, _, err := routing.New(t.Context(), g)
	require.NoError(t, err)
	var around func(dead *subnet.Dead) (switching.Firmware, int, error)
	if routing.Around != nil {
		around = func(dead *subnet.Dead) (switching.Firmware, int, error) { return routing.Around(t.Context(), g, dead) }
	}
	sets := verify.Sets{Kind: c.kind, Max: c.most, Samples: c.samples, Seed: 1, PerGroup: c.perGroup}
	if c.samples > 0 {
		sets.Min = c.most
	}
	ctx := context.Background()
	if limit := testenv.For(t, 0, 0); limit > 0 { // where it is set, each claim is stopped after so long
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	r, err := verify.Run(ctx,
		verify.Config{Graph: g, Firmware: fw, Around: around, Name: name, Sets: sets, When: c.when, OneByOne: c.oneByOne})
	require.NoError(t, err)
	switch {
	case r.Interrupted && !c.fails:
		require.Zero(t, r.Unconnected, "%v", r.Counter)
		require.True(t, c.connects || r.Deadlocks == 0, "%v", r.Counter)
	case r.Interrupted:
	case c.connects:
		require.Positive(t, r.Walks)
		require.Zero(t, r.Unconnected, "%v", r.Counter)
	case c.fails:
		require.Positive(t, r.Walks)
		require.False(t, r.Pass)
		require.NotNil(t, r.Counter)
	default:
		require.Positive(t, r.Walks)
		require.True(t, r.Pass, "%v\n%v", r, r.Counter)
		require.Nil(t, r.Counter)
	}
	return r
}
