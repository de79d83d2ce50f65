package verify_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// Firmwares as users write them, in a few lines, on any topology.

// shortest sends a packet to any neighbour that is nearer to its destination, as the graph without
// faults has it.
type shortest struct {
	g    *topology.Graph
	pick func(n int, sw switching.View) []int // which of n candidates; nil: all
}

func (f shortest) firmware() switching.Firmware { return routeFunc(f.route) }

func (f shortest) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	here := sw.Place().Switch
	leaf, port := f.g.SwitchOf(pkt.Dst)
	if leaf == here {
		return switching.To(sw, port, 0, pkt.Fields, "deliver")
	}
	d := switching.Decision{Candidates: sw.Scratch(), Rule: "nearer"}
	for p := range sw.Place().Ports() {
		end, _, ok := f.g.Peer(weft.End{Node: here.Node(), Port: weft.PortID(p)})
		if !ok || !end.Node.IsSwitch() || !sw.PortUp(weft.PortID(p)) {
			continue
		}
		if f.g.SwitchDistance(weft.SwitchID(end.Node.Index), leaf) < f.g.SwitchDistance(here, leaf) {
			d.Candidates = append(d.Candidates, switching.Candidate{Port: weft.PortID(p), Fields: pkt.Fields})
		}
	}
	if len(d.Candidates) == 0 {
		return switching.Discard("no neighbour is nearer")
	}
	if f.pick != nil {
		var chosen []switching.Candidate
		for _, i := range f.pick(len(d.Candidates), sw) {
			chosen = append(chosen, d.Candidates[i])
		}
		d.Candidates = chosen
	}
	return d
}

func first(int, switching.View) []int { return []int{0} }

// roundabout goes round a ring in one direction.
func roundabout(g *topology.Graph) switching.Firmware {
	return routeFunc(func(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
		leaf, port := g.SwitchOf(pkt.Dst)
		here := sw.Place().Switch
		if leaf == here {
			return switching.To(sw, port, 0, pkt.Fields, "deliver")
		}
		next := weft.SwitchID((int(here) + 1) % len(g.Switches))
		for p := range sw.Place().Ports() {
			if end, _, ok := g.Peer(weft.End{Node: here.Node(), Port: weft.PortID(p)}); ok && end.Node == next.Node() {
				return switching.To(sw, weft.PortID(p), 0, pkt.Fields, "roundabout")
			}
		}
		return switching.Discard("no ring")
	})
}

// routeFunc is a firmware that is a routing function alone.
func routeFunc(r route) switching.Firmware { return switching.Firmware{Name: "user", Route: r} }

func TestARingRoutedOneWayDeadlocks(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:6")
	r := run(t, verify.Config{Graph: g, Firmware: roundabout(g)})
	assert.False(t, r.Pass)
	assert.False(t, r.CDGAcyclic)
	assert.Zero(t, r.Unconnected)
	assert.Equal(t, uint64(1), r.Deadlocks)
	require.NotNil(t, r.Counter)
	assert.Equal(t, verify.Deadlock, r.Counter.What)
	assert.Len(t, r.Counter.Channels, 6, r.Counter)
	assert.Empty(t, r.Counter.Faults)
	assert.Equal(t, 6, r.MaxHops, "switches crossed, both ends' included")

	r = run(t, verify.Config{Graph: g, Firmware: roundabout(g), Sets: verify.Sets{Max: 1}})
	assert.Equal(t, verify.Deadlock, r.Counter.What, "with no fault; a dead link discards only with one")
	assert.Equal(t, uint64(6), r.BadSets)
	assert.Equal(t, uint64(1), r.Deadlocks, "a cut ring has no circle")
}

// The same ring by the shortest way deadlocks too; a mesh by dimension order does not, a torus
// does.
func TestDimensionOrderIsFreeOfDeadlockOnAMeshAndNotOnATorus(t *testing.T) {
	t.Parallel()
	for on, acyclic := range map[string]bool{"mesh:3x3": true, "torus:4x4": false, "ring:5": false, "mesh:2x2x2": true} {
		g := topologytest.Parse(t, on)
		r := run(t, verify.Config{Graph: g, Firmware: shortest{g, first}.firmware()})
		assert.Zero(t, r.Unconnected, on)
		assert.Equal(t, acyclic, r.CDGAcyclic, on)
		assert.Equal(t, acyclic, r.Pass, on)
		assert.Equal(t, acyclic, r.Deadlocks == 0, on)
	}
}

func TestFullyAdaptiveMinimalRoutingOnAMeshCanDeadlock(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:3x3")
	r := run(t, verify.Config{Graph: g, Firmware: shortest{g: g}.firmware()})
	assert.Zero(t, r.Unconnected)
	assert.False(t, r.CDGAcyclic)
	assert.Equal(t, uint64(1), r.Deadlocks)
	assert.Equal(t, 5, r.MaxHops)
}

func TestIrregularNetworksAndDeadLinksAreExploredToo(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:8,16,3")
	r := run(t, verify.Config{
		Graph: g, Firmware: shortest{g: g}.firmware(), Sets: verify.Sets{Kind: verify.Any, Min: 1, Max: 1},
	})
	assert.Equal(t, uint64(16+8), r.FaultSets)
	assert.Positive(t, r.Unconnected, "minimal routing cannot go around")
	require.NotNil(t, r.Counter)
	assert.Equal(t, verify.Unconnected, r.Counter.What)
	assert.Equal(t, "no neighbour is nearer", r.Counter.Ends)
	assert.Equal(t, uint64(24*8*7-8*2*7), r.Walks, "a dead switch takes the pairs of its NIC away")
	assert.Empty(t, r.Symmetry)
}

// A firmware that draws is asked with every draw that can matter: one unlucky draw is enough for a
// finding, and the result says so.
func TestAFirmwareThatDrawsIsExploredForEveryDraw(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	g := topologytest.Parse(t, "mesh:3x3")
	all := run(t, verify.Config{Graph: g, Firmware: shortest{g: g}.firmware()})
	for name, pick := range map[string]func(n int, sw switching.View) []int{
		"modulo": func(n int, sw switching.View) []int { return []int{int(sw.Draw() % uint64(n))} },
		"high part": func(n int, sw switching.View) []int {
			return []int{int((sw.Draw() >> 32) * uint64(n) >> 32)}
		},
	} {
		drawn := run(t, verify.Config{Graph: g, Firmware: shortest{g, pick}.firmware()})
		assert.Equal(t, all.States, drawn.States, name)
		assert.Equal(t, all.CDGAcyclic, drawn.CDGAcyclic, name)
		assert.Len(t, drawn.Notes, 1, name)
		assert.Contains(t, drawn.Notes[0], "draws random numbers", name)
	}
	assert.Empty(t, all.Notes)

	unlucky := routeFunc(func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if sw.Draw()%3 == 2 {
			return switching.Discard("bad luck")
		}
		return shortest{g: g}.route(pkt, at, sw)
	})
	r := run(t, verify.Config{Graph: g, Firmware: unlucky})
	assert.Equal(t, uint64(9*8), r.Unconnected)
	assert.Equal(t, "bad luck", r.Counter.Ends)
}

// So is one that looks at queues: each output full or empty.
func TestAFirmwareThatLooksAtQueuesIsExploredForFullAndEmptyOnes(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:3x3")
	impatient := routeFunc(func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := shortest{g, first}.route(pkt, at, sw)
		for _, c := range d.Candidates {
			if sw.Room(c.Port, c.VC) == 0 {
				return switching.Discard("no room")
			}
		}
		return d
	})
	r := run(t, verify.Config{Graph: g, Firmware: impatient})
	assert.Equal(t, uint64(9*8), r.Unconnected)
	assert.Equal(t, "no room", r.Counter.Ends)
	require.Len(t, r.Notes, 1)
	assert.Contains(t, r.Notes[0], "looks at queues")

	emptier := routeFunc(func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := shortest{g: g}.route(pkt, at, sw)
		if len(d.Candidates) > 1 {
			i := 0
			if sw.Occupancy(d.Candidates[1].Port, 0) < sw.Occupancy(d.Candidates[0].Port, 0) {
				i = 1
			}
			d.Candidates = d.Candidates[i : i+1]
		}
		return d
	})
	all := run(t, verify.Config{Graph: g, Firmware: shortest{g: g}.firmware()})
	assert.Equal(t, all.States, run(t, verify.Config{Graph: g, Firmware: emptier}).States,
		"either output is taken at some load")
}

func TestAFirmwareThatLooksAtTheTimeIsNoted(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:2x2")
	r := run(t, verify.Config{Graph: g, Firmware: routeFunc(func(pkt *weft.Header, at switching.Arrival,
		sw switching.View,
	) switching.Decision {
		sw.Now()
		return shortest{g, first}.route(pkt, at, sw)
	})})
	assert.True(t, r.Pass)
	require.Len(t, r.Notes, 1)
	assert.Contains(t, r.Notes[0], "looks at the time")
}

// Nothing that a firmware answers may bring the checker down.
func TestNonsenseIsAFindingAndNoPanic(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:2x2")
	to := func(p weft.PortID, vc weft.VC) switching.Firmware {
		return routeFunc(func(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
			return switching.Decision{Candidates: []switching.Candidate{{Port: p, VC: vc, Fields: pkt.Fields}}, Rule: "there"}
		})
	}
	writes := func(index int) switching.Firmware {
		return nonsenseRegisters(func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
			d := shortest{g, first}.route(pkt, at, sw)
			d.Write = switching.RegisterWrite{Do: true, Index: index, Value: 1}
			return d
		})
	}
	for name, c := range map[string]struct {
		fw   switching.Firmware
		ends string
	}{
		"no port":          {to(weft.NoPort, 0), "names a port or VC that is not there"},
		"one port too far": {to(100, 0), "names a port or VC that is not there"},
		"no layer":         {to(0, 7), "names a port or VC that is not there"},
		"nothing": {routeFunc(func(*weft.Header, switching.Arrival,
			switching.View,
		) switching.Decision {
			return switching.Decision{}
		}), ""},
		"a register far away":     {writes(1000), "writes a register that is not there"},
		"a register before all":   {writes(-1), "writes a register that is not there"},
		"a register not declared": {writes(1), "writes a register that is not there"},
	} {
		r := run(t, verify.Config{Graph: g, Firmware: c.fw})
		require.NotNil(t, r.Counter, name)
		assert.Equal(t, verify.Unconnected, r.Counter.What, name)
		assert.Contains(t, r.Counter.Ends, c.ends, name)
		assert.NotEmpty(t, r.Counter.String(), name)
	}
}

func nonsenseRegisters(r route) switching.Firmware {
	fw := routeFunc(r)
	fw.Registers = func(*weft.Place) []switching.Register { return []switching.Register{{Name: "one", Width: 1}} }
	return fw
}

func TestSetsThatNameWhatIsNotThereAreRefused(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:2x2")
	for _, set := range [][]verify.Element{{{ID: 999}}, {{Switch: true, ID: 4}}} {
		_, err := verify.Run(context.Background(), verify.Config{
			Graph: g, Firmware: shortest{g, first}.firmware(), Sets: verify.Sets{List: [][]verify.Element{set}},
		})
		require.ErrorIs(t, err, verify.ErrConfig)
	}
}

func TestAFirmwareThatLooksAtMoreOfAPacketThanItsFieldsIsNoted(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:2x2")
	for name, odd := range map[string]func(*weft.Header) bool{
		"hops": func(h *weft.Header) bool { return h.Hops > 2 },
		"size": func(h *weft.Header) bool { return h.Size < 64 },
		"flow": func(h *weft.Header) bool { return h.Seq > 0 },
	} {
		r := run(t, verify.Config{Graph: g, Firmware: routeFunc(func(pkt *weft.Header, at switching.Arrival,
			sw switching.View,
		) switching.Decision {
			if odd(pkt) {
				return switching.Discard(name)
			}
			return shortest{g, first}.route(pkt, at, sw)
		})})
		assert.EqualValues(t, 4*3, r.Unconnected, name)
		require.Len(t, r.Notes, 1, name)
		assert.Contains(t, r.Notes[0], "size, age, hops", name)
	}
}
