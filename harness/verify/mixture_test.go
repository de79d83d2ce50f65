package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// verdicts are what is found in one set, over every subset of the switches.
type verdicts struct {
	bad                     map[[2]weft.NICID]bool // and whether it loops
	cyclic, extended, stuck bool                   // extended: some extended graph has a cycle
	hops                    int
}

// note adds what an explorer has found.
func (v *verdicts) note(x *explorer, t *tally) {
	if v.bad == nil {
		v.bad = map[[2]weft.NICID]bool{}
	}
	for _, b := range x.bad {
		fl := &x.m.flows[b.flow]
		pair := [2]weft.NICID{fl.srcs[b.source], fl.dst}
		v.bad[pair] = v.bad[pair] || b.loops
	}
	v.cyclic, v.stuck, v.hops = v.cyclic || t.cyclic, v.stuck || t.stuck > 0, max(v.hops, t.hops)
	v.extended = v.extended || t.cyclic && !t.extended
}

// mixtureOf is a checker of the mixture of two firmwares.
func mixtureOf(t *testing.T, c Config) *explorer {
	t.Helper()
	c.Sets.List = [][]Element{{}}
	require.NoError(t, c.check())
	m, err := newModel(&c)
	require.NoError(t, err)
	return newExplorer(m, nil)
}

// enumerate holds what is found of a mixture against what is found of every subset by itself.
func enumerate(t *testing.T, c Config, sets [][]Element) {
	t.Helper()
	x := mixtureOf(t, c)
	single := c
	single.Mixed, single.VCs = nil, x.m.vcs
	want := make([]verdicts, len(sets))
	for subset := range 1 << len(c.Graph.Switches) {
		at := map[weft.SwitchID]switching.Firmware{}
		for sw := range c.Graph.Switches {
			if subset>>sw&1 == 1 {
				at[weft.SwitchID(sw)] = c.Mixed.Firmware
			}
		}
		single.Firmware = firmware.Mixed(c.Firmware, at)
		each := mixtureOf(t, single)
		for i, set := range sets {
			found, err := each.run(set)
			require.NoError(t, err)
			want[i].note(each, found)
		}
	}
	for i, set := range sets {
		found, err := x.run(set)
		require.NoError(t, err)
		var got verdicts
		got.note(x, found)
		if len(want[i].bad) > 0 || x.crowded() {
			require.LessOrEqual(t, got.hops, 1<<14)
			got.hops = want[i].hops // of the pairs that every subset delivers
		}
		require.Equal(t, want[i], got, "%s and %s on %s, when %d, registers %d, %s dead",
			c.Firmware.Name, c.Mixed.Firmware.Name, c.Graph.Spec, c.When, c.Regs, x.names(set))
		shown(t, c, set)
		loops := 0
		for _, l := range got.bad {
			if l {
				loops++
			}
		}
		require.Equal(t, [2]int{len(got.bad), loops}, [2]int{found.unconnected, found.livelocks})
	}
}

// shown has the counterexample of a set be one of the subset that it names.
func shown(t *testing.T, c Config, set []Element) {
	t.Helper()
	c.Sets = Sets{List: [][]Element{set}}
	r, err := Run(t.Context(), c)
	require.NoError(t, err)
	if r.Pass {
		return
	}
	runs := map[string]string{}
	for _, s := range r.Counter.Path {
		if s.Routing != "" {
			require.Contains(t, []string{"", s.Routing}, runs[s.Switch], "%v", r.Counter)
			runs[s.Switch] = s.Routing
		}
	}
	at := map[weft.SwitchID]switching.Firmware{}
	for name := range r.Counter.Routings {
		sw, err := c.Graph.SwitchByName(name)
		require.NoError(t, err)
		at[sw] = c.Mixed.Firmware
	}
	c.Firmware, c.VCs, c.Mixed = firmware.Mixed(c.Firmware, at), r.VCs, nil
	one, err := Run(t.Context(), c)
	require.NoError(t, err)
	require.False(t, one.Pass, "%v", r.Counter)
	require.Equal(t, r.Counter.What, one.Counter.What, "%v\n%v", r.Counter, one.Counter)
	require.LessOrEqual(t, len(one.Counter.Path), len(r.Counter.Path))
}

// every is every n-th set of up to so many faults.
func every(t *testing.T, g *topology.Graph, n uint64, kind Kind, most int) (list [][]Element) {
	t.Helper()
	s := Sets{Kind: kind, Max: most}
	require.NoError(t, s.resolve(g))
	for i := uint64(0); i < s.total(); i += n {
		list = append(list, s.at(i))
	}
	return list
}

func mixedBy(t *testing.T, on, a, b string) Config {
	t.Helper()
	g := topologytest.Parse(t, on)
	one, _, err := subnet.Firmware(t.Context(), a, g)
	require.NoError(t, err)
	two, _, err := subnet.Firmware(t.Context(), b, g)
	require.NoError(t, err)
	return Config{Graph: g, Firmware: one, Name: a, Mixed: &Mixed{Firmware: two, Name: b}}
}

func TestAMixtureIsWhatEverySubsetIs(t *testing.T) {
	testenv.Unraced(t)
	t.Parallel()
	for _, of := range [][3]string{
		{"kary-ntree:2,2", "adaptive-link", "adaptive-link-digit"},
		{"kary-ntree:2,2", "adaptive-link", "deterministic-link"},
		{"kary-ntree:2,2", "deterministic-link", "deterministic-switch"},
		{"kary-ntree:2,2", "adaptive-switch", "misroute-vector"},
		{"kary-ntree:2,2", "source-routed", "updown"},
		{"kary-ntree:2,2", "deterministic-link", "source-routed"},
		{"ring:4", "dimension-order", "direction-order"},
		{"ring:4", "dimension-order", "duato"},
		{"mesh:2x2", "dimension-order", "direction-order"},
		{"mesh:2x2", "direction-order", "duato"},
		{"leaf-spine:2,2,2", "adaptive-link-one", "deterministic-link-one"},
	} {
		for when := Before; when <= Repaired; when++ {
			for _, regs := range []Registers{Shared, Alone} {
				t.Run(fmt.Sprint(of, when, regs), func(t *testing.T) {
					t.Parallel()
					c := mixedBy(t, of[0], of[1], of[2])
					c.When, c.Regs = when, regs
					enumerate(t, c, every(t, c.Graph, uint64(testenv.Levels(1, 4, 9)), Any, 2))
				})
			}
		}
	}
}

func TestAMixtureOfLargerTreesIsWhatEverySubsetIs(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, of := range [][3]string{
		{"kary-ntree:2,3", "adaptive-link", "misroute-vector"},
		{"kary-ntree:2,3", "deterministic-link", "adaptive-switch-one"},
		{"kary-ntree:3,2", "adaptive-link", "misroute-vector"},
	} {
		c := mixedBy(t, of[0], of[1], of[2])
		enumerate(t, c, every(t, c.Graph, uint64(testenv.Levels(7, 211, 211)), Links, 2))
	}
}

// A packet that comes to a switch again finds it run what it ran before.
func TestACounterexampleNamesASubset(t *testing.T) {
	t.Parallel()
	c := mixedBy(t, "kary-ntree:3,2", "adaptive-link", "misroute-vector")
	var set []Element
	for _, name := range []string{"s0.0-s1.0", "s0.1-s1.0"} {
		e, err := ElementByName(c.Graph, name)
		require.NoError(t, err)
		set = append(set, e)
	}
	shown(t, c, set)
}

// Each of two firmwares alone has no circle of channels on this ring, and no subset has one, though
// both together do: switch 0 would have to run both. What a switch 0 of the first sends stays in VC
// 0, and what comes by it goes on in VC 1; with the second it is the other way round.
func TestACircleForWhichASwitchWouldRunBothIsNone(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	towards := func(sw switching.View, to int) weft.PortID {
		for p := range sw.Place().Ports() {
			own := weft.End{Node: sw.Place().Switch.Node(), Port: weft.PortID(p)}
			if end, _, _ := g.Peer(own); end.Node == weft.SwitchID(to%4).Node() {
				return own.Port
			}
		}
		return weft.NoPort
	}
	of := func(name string, own, through weft.VC) switching.Firmware {
		route := func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
			leaf, port := g.SwitchOf(pkt.Dst)
			here := int(sw.Place().Switch)
			vc := at.VC
			switch {
			case int(leaf) == here:
				return switching.To(sw, port, 0, pkt.Fields, "deliver")
			case (int(leaf)+4-here)%4 == 3:
				return switching.To(sw, towards(sw, here+3), 0, pkt.Fields, "back")
			case here == 0 && at.From == weft.RoleNIC:
				vc = own
			case here == 0:
				vc = through
			}
			return switching.To(sw, towards(sw, here+1), vc, pkt.Fields, "on")
		}
		return switching.Firmware{Name: name, VCs: 2, Route: route}
	}
	c := Config{Graph: g, Firmware: of("a", 0, 1), Mixed: &Mixed{Firmware: of("b", 1, 0)}}
	x := mixtureOf(t, c)
	top, err := x.run(nil)
	require.NoError(t, err)
	require.False(t, top.cyclic)
	require.Greater(t, x.mixture.looks, 1, "there is a circle as long as no switch is settled")
	enumerate(t, c, [][]Element{{}})
}

// senselessMixture is one random small graph, two firmwares without sense, and some sets of faults.
func senselessMixture(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	specs := []string{"ring:3", "ring:4", "mesh:2x2", fmt.Sprintf("irregular:4,5,%d", seed%100)}
	g := topologytest.Parse(t, specs[rng.IntN(len(specs))])
	merged := rng.IntN(2) == 0
	draw := func() switching.Firmware {
		return table{
			g: g, seed: rng.Uint64(), vcs: 1 + rng.IntN(2), vector: rng.IntN(3) == 0, nonsense: rng.IntN(8) == 0,
			merged: merged,
		}.firmware()
	}
	c := Config{
		Graph: g, VCs: 2, When: When(rng.IntN(4)), Regs: Registers(rng.IntN(2)), Firmware: draw(), Name: "a",
		Mixed: &Mixed{Firmware: draw(), Name: "b"},
	}
	enumerate(t, c, every(t, g, 7, Kind(Kinds()[rng.IntN(3)]), 2))
}

func TestAMixtureOfSenselessFirmwaresIsWhatEverySubsetIs(t *testing.T) {
	testenv.Unraced(t)
	t.Parallel()
	for seed := range uint64(testenv.Levels(300, 40, 20)) {
		senselessMixture(t, seed)
	}
}

func FuzzAMixtureIsWhatEverySubsetIs(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { senselessMixture(t, seed) })
}
