package verify

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// lazyRun is a run that can be explored both ways.
func lazyRun(t testing.TB, on string, fw switching.Firmware, most int) *run {
	t.Helper()
	return lazyRunOf(t, Config{Graph: topologytest.Parse(t, on), Firmware: fw, Sets: Sets{Max: most}})
}

func lazyRunOf(t testing.TB, c Config) *run {
	t.Helper()
	c.Workers = 1
	require.NoError(t, c.Sets.resolve(c.Graph))
	require.NoError(t, c.check())
	m, err := newModel(&c)
	require.NoError(t, err)
	r := &run{Config: c, model: m, eachPair: true, folded: c.Firmware.Vectors, total: c.Sets.total()}
	require.Empty(t, r.canBeLazy())
	return r
}

// manySets are sets of faults that a test explores, and where.
type manySets struct {
	on     string
	kind   Kind
	when   When
	most   int
	atOnce int
	single bool // ports come up one by one
	long   bool
	hours  bool // with the other tests that go on for hours
}

// skip skips what takes too long for this run.
func (c manySets) skip(t *testing.T) {
	t.Helper()
	testenv.Unraced(t)
	if c.long {
		testenv.Long(t)
		testenv.OneIn(t, 12)
	}
	if c.hours {
		testenv.Nightly(t)
	}
}

func (c manySets) String() string {
	moment := [...]string{"before", "arriving", "flapping", "repaired"}[c.when]
	return fmt.Sprintf("%s/%s/%s/%d/%d/%t", c.on, c.kind, moment, c.most, c.atOnce, c.single)
}

// each tests every firmware with the sets.
func (c manySets) each(t *testing.T, firmwares []switching.Firmware, test func(t *testing.T, r *run)) {
	for _, fw := range firmwares {
		t.Run(c.String()+"/"+fw.Name, func(t *testing.T) {
			t.Parallel()
			c.skip(t)
			test(t, lazyRunOf(t, Config{
				Graph: topologytest.Parse(t, c.on), Firmware: fw, When: c.when, AtOnce: c.atOnce, OneByOne: c.single,
				Sets: Sets{Kind: c.kind, Max: c.most},
			}))
		})
	}
}

// enumerated is what exploring every set by itself says of each pair, and whether channel numbers
// fall.
func (r *run) enumerated(t *testing.T) (pairs [][]lazyPair, falls bool) {
	t.Helper()
	x := newExplorer(r.model, nil)
	for f := range r.model.flows {
		pairs = append(pairs, slices.Repeat([]lazyPair{{fails: never, loops: never}}, len(r.model.flows[f].srcs)))
	}
	for i := range r.total {
		set := r.Sets.at(i)
		found, err := x.run(set)
		require.NoError(t, err)
		require.NoError(t, x.wrong)
		falls = falls || found.falling
		for _, b := range x.bad {
			p := &pairs[b.flow][b.source]
			p.fails = min(p.fails, int32(len(set)))
			if b.loops {
				p.loops = min(p.loops, int32(len(set)))
			}
		}
		for f := range r.model.flows { // anew, for the hops of each pair
			fs := x.prepare(f)
			x.nodes.clear()
			for source := range r.model.flows[f].srcs {
				for _, moment := range x.scene.starts(r.When) {
					for _, s := range fs.starts[source] {
						n := x.nodes.id(nodeKey{state: s.state, moment: moment})
						require.NoError(t, x.walk(f, fs, n))
						if at := &x.nodes.all[n]; !at.bad {
							pairs[f][source].hops = max(pairs[f][source].hops, at.hops)
						}
					}
				}
			}
		}
	}
	return pairs, falls
}

// covered are the firmwares whose sets can be explored all at once.
func covered() (list []switching.Firmware) {
	for _, fw := range firmware.All() {
		if fw.On == switching.Trees && fw.Registers == nil && fw.DestinationBased {
			list = append(list, fw)
		}
	}
	return append(list, mutants()...)
}

// mutants are covered firmwares with one rule or answer changed.
func mutants() (list []switching.Firmware) {
	mutate := func(of switching.Firmware, name string, change func(
		real func(*weft.Header, switching.Arrival, switching.View) switching.Decision,
		pkt *weft.Header, at switching.Arrival, sw switching.View,
	) switching.Decision,
	) {
		route := of.Route
		of.Name += ", " + name
		of.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
			return change(route, pkt, at, sw)
		}
		list = append(list, of)
	}
	type decide = func(*weft.Header, switching.Arrival, switching.View) switching.Decision
	byVC := func(vc weft.VC) func(decide, *weft.Header, switching.Arrival, switching.View) switching.Decision {
		return func(real decide, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
			at.VC = vc
			return real(pkt, at, sw)
		}
	}
	from := func(role, as weft.Role) func(decide, *weft.Header, switching.Arrival, switching.View) switching.Decision {
		return func(real decide, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
			if at.From == role {
				at.From = as
			}
			return real(pkt, at, sw)
		}
	}
	unchecked := func(_ decide, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		t := sw.Place().Tree
		d := switching.Decision{Rule: "unchecked"}
		switch {
		case t.HasDown(pkt.Dst):
			return switching.To(sw, t.DownPort(pkt.Dst), at.VC, pkt.Fields, "down")
		case at.From == weft.RoleUp:
			return switching.Discard("lost")
		}
		d.Candidates = sw.Scratch()
		for j := range t.Ups() {
			d.Candidates = append(d.Candidates, switching.Candidate{Port: t.Up(j), VC: at.VC, Fields: pkt.Fields})
		}
		return d
	}
	link, vector := firmware.DeterministicLink(), firmware.MisrouteVector{}.Firmware()
	for _, of := range []switching.Firmware{
		link, firmware.DeterministicLinkFlat(), firmware.SourceRouted(), firmware.DeterministicSwitch{}.Firmware(),
	} {
		mutate(of, "in the normal layer", byVC(0))
		mutate(of, "in the second layer", byVC(1))
		mutate(of, "always from below", from(weft.RoleUp, weft.RoleDown))
		mutate(of, "always from above", from(weft.RoleDown, weft.RoleUp))
	}
	mutate(vector, "always from below", from(weft.RoleUp, weft.RoleDown))
	mutate(vector, "always from above", from(weft.RoleDown, weft.RoleUp))
	mutate(vector, "vector forgotten", func(
		real decide, pkt *weft.Header, at switching.Arrival, sw switching.View,
	) switching.Decision {
		h := *pkt
		h.Misroute = 0
		return real(&h, at, sw)
	})
	mutate(vector, "first of what it offers", func(
		real decide, pkt *weft.Header, at switching.Arrival, sw switching.View,
	) switching.Decision {
		d := real(pkt, at, sw)
		d.Candidates = d.Candidates[:min(1, len(d.Candidates))]
		return d
	})
	mutate(vector, "offers unchecked", unchecked)
	mutate(link, "back whatever is dead", func(
		real decide, pkt *weft.Header, at switching.Arrival, sw switching.View,
	) switching.Decision {
		if t := sw.Place().Tree; t.HasDown(pkt.Dst) && !sw.PortUp(t.DownPort(pkt.Dst)) && at.From == weft.RoleDown {
			return switching.To(sw, at.Port, at.VC, pkt.Fields, "back")
		}
		return real(pkt, at, sw)
	})
	mutate(link, "otherwise at one switch that looks like others", func(
		real decide, pkt *weft.Header, at switching.Arrival, sw switching.View,
	) switching.Decision {
		t := sw.Place().Tree
		here := t.Leaf() && t.W[0] == 1 && at.From != weft.RoleUp && !t.HasDown(pkt.Dst)
		if here && !sw.PortUp(t.DefaultUp(pkt.Dst)) {
			return switching.Discard("not here")
		}
		return real(pkt, at, sw)
	})
	mutate(link, "loses what finds its first link dead", func(
		real decide, pkt *weft.Header, at switching.Arrival, sw switching.View,
	) switching.Decision { // which cannot be
		d, t := real(pkt, at, sw), sw.Place().Tree
		switch up := t.DefaultUp(pkt.Dst); {
		case !t.Leaf() || t.HasDown(pkt.Dst) || len(d.Candidates) == 0:
		case at.From != weft.RoleUp && d.Candidates[0].Port == up:
			d.Candidates[0].Fields.Misroute = 1
		case pkt.Misroute == 1 && !sw.PortUp(up):
			return switching.Discard("never")
		}
		return d
	})
	return list
}

func TestAllSetsAtOnceAreAsOneByOne(t *testing.T) {
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", most: 4},
		{on: "kary-ntree:3,2", most: 3},
		{on: "kary-ntree:2,3", most: 3},
		{on: "mport-tree:4,2", most: 3, long: true},
		{on: "mport-tree:4,3", most: 2, long: true},
		{on: "kary-ntree:2,4", most: 2, long: true},
		{on: "kary-ntree:3,3", most: 2, long: true},
	} {
		c.each(t, covered(), func(t *testing.T, r *run) { r.sameBothWays(t) })
	}
}

func TestResultsSayHowSetsWereExplored(t *testing.T) {
	link, vector := firmware.DeterministicLink(), firmware.MisrouteVector{}.Firmware()
	node := firmware.DeterministicSwitch{}.Firmware()
	for _, c := range []struct {
		name   string
		config Config
		method string
		pass   bool
	}{
		{"all at once", Config{Firmware: link, Sets: Sets{Max: 1}}, Lazy, true},
		{"one by one when asked", Config{Firmware: link, Sets: Sets{Max: 1}, Exhaustive: true}, Enumeration, true},
		{"counted one by one when something is wrong", Config{Firmware: link, Sets: Sets{Max: 2}}, Enumeration, false},
		{"with switches, of which none fails", Config{Firmware: node, Sets: Sets{Kind: Any, Max: 1}}, Lazy, true},
		{"with switches", Config{Firmware: link, Sets: Sets{Kind: Any, Max: 1}}, Enumeration, false},
		{"while packets travel", Config{Firmware: link, Sets: Sets{Max: 1}, When: Arriving}, Lazy, true},
		{"with registers", Config{Firmware: firmware.AdaptiveLink{}.Firmware(), Sets: Sets{Max: 1}}, Enumeration, true},
		{"where together they have a cycle", Config{Firmware: vector, Sets: Sets{Max: 1}}, Enumeration, true},
		{"of a size", Config{Firmware: link, Sets: Sets{Min: 1, Max: 1}}, Enumeration, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Graph = topologytest.Parse(t, "kary-ntree:2,3")
			r, err := Run(t.Context(), c.config)
			require.NoError(t, err)
			assert.Equal(t, c.method, r.Method)
			assert.Equal(t, c.pass, r.Pass, r)
		})
	}
}

func TestMoreSetsThanCanBeCountedHoldOrFailOrAreUndecided(t *testing.T) {
	testenv.Unraced(t)
	run := func(on string, fw switching.Firmware, most int) *Result {
		r, err := Run(t.Context(), Config{Graph: topologytest.Parse(t, on), Firmware: fw, Sets: Sets{Max: most}})
		require.NoError(t, err)
		assert.Equal(t, Lazy, r.Method)
		return r
	}
	holds := run("kary-ntree:8,2", firmware.DeterministicLink(), 7)
	assert.True(t, holds.Pass, holds)
	assert.True(t, holds.CDGAcyclic)
	assert.Nil(t, holds.Counter)

	fails := run("kary-ntree:4,3", firmware.DeterministicLink(), 6)
	assert.False(t, fails.Pass)
	assert.Empty(t, fails.Undecided)
	assert.Len(t, fails.Counter.Faults, 4, fails.Counter)
	assert.Equal(t, fails.ByFaults[3].Sets, fails.ByFaults[3].Connected)
	assert.False(t, fails.ByFaults[4].Uncounted)
	assert.Less(t, fails.ByFaults[4].Connected, fails.ByFaults[4].Sets)
	assert.NotZero(t, fails.BadSets)

	undecided := run("kary-ntree:3,3", firmware.MisrouteVector{}.Firmware(), 8)
	assert.False(t, undecided.Pass)
	assert.Len(t, undecided.Counter.Faults, 3)
	assert.Equal(t, "deadlock", undecided.Undecided)
}
