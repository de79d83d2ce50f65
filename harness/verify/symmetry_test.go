package verify

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// portThreeIsZero is adaptive-link with a mistake: in the re-route vector it takes up port 3 for up
// port 0.
func portThreeIsZero(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	real := firmware.AdaptiveLink{}.Firmware()
	d := real.Route(pkt, at, sw)
	t := sw.Place().Tree
	if !d.Write.Do || t.UpIndex(at.Port) != 3 {
		return d
	}
	tried := sw.Register(d.Write.Index) | 1
	d.Write.Value, d.Candidates = tried, sw.Scratch()
	for j := range t.Ups() {
		if p := t.Up(j); tried>>j&1 == 0 && sw.PortUp(p) {
			d.Candidates = append(d.Candidates, switching.Candidate{Port: p, VC: at.VC, Fields: pkt.Fields})
		}
	}
	return d
}

// routed is a firmware with another routing function.
func routed(
	fw switching.Firmware, route func(*weft.Header, switching.Arrival, switching.View) switching.Decision,
) switching.Firmware {
	fw.Route = route
	return fw
}

// The sets that the reduction explores have the firmware right.
func TestAFirmwareThatSaysItIsSymmetricAndIsNotIsFoundOut(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	c := Config{
		Graph:    topologytest.Parse(t, "kary-ntree:4,2"),
		Firmware: routed(firmware.AdaptiveLink{}.Firmware(), portThreeIsZero), Name: "port-three-is-zero",
		Sets: Sets{Max: 3},
	}
	r := ran(t, c)
	assert.False(t, r.Pass)
	require.NotNil(t, r.Counter)
	assert.Equal(t, Livelock, r.Counter.What)
	assert.Len(t, r.Counter.Faults, 1)
	assert.Empty(t, r.Symmetry)
	assert.Regexp(t, `^port-three-is-zero says that it is symmetric, and is not, so every set is explored: at `+
		`s1\.\d, a packet for n\d\d that comes in by p\d vc0.*`+
		`: rule "4: U-turn, .*, writes .*; with digit 0, as copy, renumbered \[.*\], at s1\.\d, a packet for`, r.Asymmetry)
	assert.Equal(t, r.FaultSets, r.Explored)

	c.NoSymmetry = true
	all := ran(t, c)
	assert.Empty(t, all.Asymmetry)
	assert.Equal(t, counts(all), counts(r))

	c.NoSymmetry, c.Sets = false, Sets{} // nothing of this is asked without a fault
	r = ran(t, c)
	assert.True(t, r.Pass)
	assert.Empty(t, r.Asymmetry)
}

// oneUp is a firmware for trees without its own way around a fault: it takes the up port that pick
// names, of so many live ones.
type oneUp struct {
	pick func(live []weft.PortID, pkt *weft.Header, sw switching.View) int
}

func (f oneUp) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	t := sw.Place().Tree
	switch {
	case t.HasDown(pkt.Dst):
		return switching.To(sw, t.DownPort(pkt.Dst), 0, pkt.Fields, "down")
	case at.From == weft.RoleUp:
		return switching.Discard("came down")
	}
	var live []weft.PortID
	for j := range t.Ups() {
		if sw.PortUp(t.Up(j)) {
			live = append(live, t.Up(j))
		}
	}
	if len(live) == 0 {
		return switching.Discard("no way up")
	}
	return switching.To(sw, live[f.pick(live, pkt, sw)], 0, pkt.Fields, "up")
}

// A draw is a way to be alike to all ports: what any draw makes counts. To take the first, or the
// last while it has room, is not.
func TestSymmetryIsJudgedByAllThatAFirmwareLooksAt(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, c := range []struct {
		name      string
		symmetric bool
		pick      func(live []weft.PortID, pkt *weft.Header, sw switching.View) int
	}{
		{"drawn", true, func(live []weft.PortID, _ *weft.Header, sw switching.View) int {
			return int(sw.Draw() % uint64(len(live)))
		}},
		{"drawn, the first never", false, func(live []weft.PortID, _ *weft.Header, sw switching.View) int {
			return max(int(sw.Draw()%uint64(len(live))), min(1, len(live)-1))
		}},
		{"the first", false, func([]weft.PortID, *weft.Header, switching.View) int { return 0 }},
		{
			"drawn, for small packets the last, which may be drawn too", true,
			func(live []weft.PortID, pkt *weft.Header, sw switching.View) int {
				if pkt.Size < 64 {
					return len(live) - 1
				}
				return int(sw.Draw() % uint64(len(live)))
			},
		},
		{"the last while its queue is empty", false, func(live []weft.PortID, _ *weft.Header, sw switching.View) int {
			if sw.Occupancy(live[len(live)-1], 0) == 0 {
				return len(live) - 1
			}
			return int(sw.Draw() % uint64(len(live)))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := Config{
				Graph:    topologytest.Parse(t, "kary-ntree:3,2"),
				Firmware: switching.Firmware{Route: oneUp{c.pick}.route, Symmetric: true}, Name: "one-up",
				Sets: Sets{Max: 2},
			}
			r := ran(t, config)
			assert.Equal(t, c.symmetric, r.Symmetry != "", r.Asymmetry)
			assert.Equal(t, c.symmetric, r.Asymmetry == "", r.Asymmetry)
			config.NoSymmetry = true
			want, got := counts(ran(t, config)), counts(r)
			assert.Equal(t, want, got)
		})
	}
}

// Sources that write fields of their own are looked at too.
func TestSymmetryIsJudgedByWhatSourcesWrite(t *testing.T) {
	t.Parallel()
	fw := firmware.AdaptiveLink{}.Firmware()
	fw.Source = marked
	r := ran(t, Config{
		Graph: topologytest.Parse(t, "kary-ntree:3,2"), Firmware: fw, Name: "marked",
		Sets: Sets{Max: 1},
	})
	assert.Contains(t, r.Asymmetry, "marked says that it is symmetric, and is not")
	assert.Empty(t, r.Symmetry)
}

// marked has the first leaf switch's NICs send to address 1, which adaptive-link takes no notice of
// but in what it sends on.
func marked(leaf *weft.Place, _ weft.PortID, h *weft.Header) {
	if h.Dst == 0 && leaf.Tree.W[0] == 1 {
		h.VC = 1
	}
}

func TestAClaimThatTakesTooMuchToCheckIsNotBelieved(t *testing.T) {
	t.Parallel()
	c := Config{
		Graph: topologytest.Parse(t, "kary-ntree:3,2"), Firmware: firmware.AdaptiveLink{}.Firmware(),
		Name: "adaptive-link",
		Sets: Sets{Max: 2}, questions: 100,
	}
	r := ran(t, c)
	assert.True(t, r.Pass)
	assert.Empty(t, r.Symmetry)
	assert.Equal(t, "adaptive-link says that it is symmetric; to check that takes more than 100 decisions, so every "+
		"set is explored", r.Asymmetry)
	assert.Equal(t, r.FaultSets, r.Explored)
}

// What was counted by the claim is worth nothing once it is found wrong, whether in this run or in
// an earlier one.
func TestAnInterruptedRunThatFoundAClaimWrongGoesOnWithoutIt(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	c := Config{
		Graph:    topologytest.Parse(t, "kary-ntree:4,2"),
		Firmware: routed(firmware.AdaptiveLink{}.Firmware(), portThreeIsZero), Name: "mutant", Sets: Sets{Max: 2},
		Workers: 1,
	}
	whole := ran(t, c)
	c.Checkpoint = filepath.Join(t.TempDir(), "run.json")
	for _, stop := range []uint64{leastChunk, 3 * leastChunk} {
		ctx, cancel := context.WithCancel(t.Context())
		c.Progress = func(done, _ uint64) {
			if done >= stop {
				cancel()
			}
		}
		r, err := Run(ctx, c)
		cancel()
		require.NoError(t, err)
		require.True(t, r.Interrupted)
		assert.Equal(t, whole.Asymmetry, r.Asymmetry, fmt.Sprint(stop))
	}
	c.Progress = nil
	r := ran(t, c)
	assert.Equal(t, counts(whole), counts(r))
	assert.Equal(t, whole.Explored, r.Explored)
	assert.Equal(t, whole.Asymmetry, r.Asymmetry)
}

// nosy is a firmware that discards what some NIC sends, or what is far from home.
func nosy(fw switching.Firmware, minds func(pkt *weft.Header) bool) switching.Firmware {
	return routed(fw, func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if minds(pkt) {
			return switching.Discard("not from there")
		}
		return fw.Route(pkt, at, sw)
	})
}

func TestAFirmwareThatSaysOnlyTheDestinationMattersAndIsNotSoIsFoundOut(t *testing.T) {
	t.Parallel()
	// One that has registers, and one of which all sets would be explored at once.
	for _, base := range []switching.Firmware{firmware.AdaptiveLink{}.Firmware(), firmware.DeterministicLink()} {
		t.Run(base.Name, func(t *testing.T) { foundOut(t, base) })
	}
}

func foundOut(t *testing.T, base switching.Firmware) {
	for what, minds := range map[string]func(pkt *weft.Header) bool{
		"source": func(pkt *weft.Header) bool { return pkt.Src == 5 && pkt.Dst == 1 },
		"hops":   func(pkt *weft.Header) bool { return pkt.Hops > 4 },
		"size":   func(pkt *weft.Header) bool { return pkt.Size < 64 },
	} {
		c := Config{
			Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: nosy(base, minds), Name: "nosy",
			Sets: Sets{Max: 1},
		}
		r := ran(t, c)
		assert.Equal(t, Enumeration, r.Method)
		assert.False(t, r.Pass, what)
		assert.Regexp(t, `^nosy says that only the destination matters, which is not so, so every pair is explored by `+
			`itself: at s\d\.\d\d, for a packet to n\d\d\d .* `+
			`by rule "not from there" if`, r.SourceBased, what)
		if what == "source" {
			assert.Equal(t, r.FaultSets, r.Unconnected, "of one pair")
			assert.Equal(t, base.Symmetric, r.Asymmetry != "", "it is not alike to all NICs either")
		} else {
			assert.Empty(t, r.Asymmetry, what)
		}
	}
}

func TestBuiltInFirmwaresKeepWhatTheyClaim(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	trees, grids := []string{"mport-tree:4,3", "leaf-spine:2,5,3", "kary-ntree:3,3"}, []string{"mesh:3x3", "torus:4x4"}
	for shape, specs := range map[firmware.Shape][]string{
		firmware.Trees: trees[:testenv.Levels(3, 2, 1)],
		firmware.Grids: grids[:testenv.N(2, 1)],
	} {
		for _, e := range firmware.For(shape) {
			for _, spec := range specs {
				t.Run(e.Name+" "+spec, func(t *testing.T) {
					t.Parallel()
					c := Config{Graph: topologytest.Parse(t, spec), Firmware: e, Sets: Sets{Kind: Any, Max: 1}}
					if c.check() != nil {
						return // it runs on another of the shape
					}
					r := ran(t, c)
					assert.Empty(t, r.Asymmetry)
					assert.Empty(t, r.SourceBased)
					assert.True(t, r.Method == Lazy || c.Firmware.Symmetric == (r.Symmetry != ""))
				})
			}
		}
	}
}
