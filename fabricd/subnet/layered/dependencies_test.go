package layered_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// clockwise sends everything round a ring of n switches one way; past switch 0 in VC over.
func clockwise(n int, over weft.VC) func(at, dst int, layer weft.VC) []step {
	return func(at, _ int, layer weft.VC) []step {
		to := (at + 1) % n
		if to == 0 {
			layer = over
		}
		return []step{{to, layer}}
	}
}

func TestARingRoundWhichPacketsGoInOneLayerHasACycle(t *testing.T) {
	t.Parallel()
	r := byHand{spec: "ring:5", layers: 1, next: clockwise(5, 0)}.make(t)
	var want []layered.Channel
	for at := range 5 {
		want = append(want, channel(r.Graph, at, (at+1)%5, 0))
	}
	assert.Equal(t, want, r.Dependencies(t.Context()).Cycle())
}

func TestADatelineLeavesNoCycle(t *testing.T) {
	t.Parallel()
	r := byHand{spec: "ring:5", layers: 2, next: clockwise(5, 1)}.make(t)
	assert.Nil(t, r.Dependencies(t.Context()).Cycle())
}

// A cycle of layers that T does not use is none: definition 12 asks for a source that sends in
// them.
func TestOnlyWhatTUsesCounts(t *testing.T) {
	t.Parallel()
	neighbours := func(s, dst int) []weft.Address {
		if dst == (s+1)%5 {
			return []weft.Address{{}}
		}
		return nil
	}
	r := byHand{spec: "ring:5", layers: 1, next: clockwise(5, 0), addresses: neighbours}.make(t)
	d := r.Dependencies(t.Context())
	assert.Nil(t, d.Cycle())
	assert.Equal(t, 1, slices.Max(d.Loads))
	two := func(s, dst int) []weft.Address { return []weft.Address{{VC: weft.VC(s % 2)}} }
	r = byHand{spec: "ring:4", layers: 2, next: clockwise(4, 0), addresses: two}.make(t)
	assert.Len(t, r.Dependencies(t.Context()).Cycle(), 4, "past the end of layer 1 all are in layer 0")
}

func TestLoadsCountTheWaysOverAChannel(t *testing.T) {
	t.Parallel()
	r := byHand{spec: "ring:4", layers: 1, next: clockwise(4, 0)}.make(t)
	d := r.Dependencies(t.Context())
	for at := range 4 {
		c := channel(r.Graph, at, (at+1)%4, 0)
		assert.Equal(t, 6, d.Loads[d.Channels.Number(weft.SwitchID(at), c.From.Port, 0)],
			"1+2+3 of the 12 ways of 1, 2 and 3 hops")
		back := channel(r.Graph, at, (at+3)%4, 0)
		assert.Zero(t, d.Loads[d.Channels.Number(weft.SwitchID(at), back.From.Port, 0)])
	}
}

func TestAddressesThatDifferInWherePacketsEnterAreOne(t *testing.T) {
	t.Parallel()
	list := []weft.Address{
		{Path: 3, VC: 2},
		{Path: 1, Layers: 0b11},
		{Path: 3, Layers: 0b1001},
		{Path: 1, Layers: 0b11, VC: 1},
	}
	kept := []layered.Traffic{{Path: 1, Layers: 0b1000}}
	assert.Equal(t, []layered.Traffic{
		{Path: 1, Layers: 0b1000},
		{Path: 3, Layers: 0b1101, Moves: 0b1001},
		{Path: 1, Layers: 0b11, Moves: 0b11},
	}, layered.TrafficTo(kept, list))

	twice := func(int, int) []weft.Address { return []weft.Address{{Layers: 0b11}, {Layers: 0b11, VC: 1}} }
	r := byHand{spec: "ring:4", layers: 2, next: clockwise(4, 0), addresses: twice}.make(t)
	assert.Equal(t, 6, slices.Max(r.Dependencies(t.Context()).Loads), "as with one")
}

// both goes either way round where both are as short.
func both(n int) func(at, dst int, layer weft.VC) []step {
	return func(at, dst int, layer weft.VC) (list []step) {
		ahead := (dst - at + n) % n
		if 2*ahead <= n {
			list = append(list, step{(at + 1) % n, layer})
		}
		if 2*ahead >= n {
			list = append(list, step{(at + n - 1) % n, layer})
		}
		return list
	}
}

func TestOfAdaptiveRoutingsEveryWayIsFollowed(t *testing.T) {
	t.Parallel()
	r := byHand{spec: "ring:4", layers: 1, kind: layered.Adaptive, next: both(4)}.make(t)
	d := r.Dependencies(t.Context())
	assert.Len(t, d.Cycle(), 4)
	c := channel(r.Graph, 1, 2, 0)
	assert.Equal(t, 3, d.Loads[d.Channels.Number(1, c.From.Port, 0)], "from 1 to 2, and the halves of 1 to 3 and 0 to 2")
}

// In the adaptive layer packets wait in circles, but each of them may enter the escape layer.
func TestAnEscapeLayerWithoutACycleIsEnough(t *testing.T) {
	t.Parallel()
	const n = 6
	minimal := both(n)
	line := func(at, dst int, layer weft.VC) []step { // never between n-1 and 0
		if layer == 1 {
			return minimal(at, dst, layer)
		}
		if dst > at {
			return []step{{at + 1, 0}}
		}
		return []step{{at - 1, 0}}
	}
	adaptive := func(int, int) []weft.Address { return []weft.Address{{VC: 1}} }
	h := byHand{spec: "ring:6", layers: 2, kind: layered.Escape, next: line, addresses: adaptive}
	r := h.make(t)
	d := r.Dependencies(t.Context())
	assert.Nil(t, d.Cycle())
	c := channel(r.Graph, 4, 3, 0)
	assert.Positive(t, d.Loads[d.Channels.Number(4, c.From.Port, 0)], "the escape layer is entered")

	h.kind = layered.Adaptive
	cycle := h.make(t).Dependencies(t.Context()).Cycle()
	require.Len(t, cycle, n, "without escape the same tables have one")
	assert.Equal(t, weft.VC(1), cycle[0].Layer)

	h.kind, h.next = layered.Escape, minimal
	cycle = h.make(t).Dependencies(t.Context()).Cycle()
	require.Len(t, cycle, n, "and an escape layer may have one of its own")
	assert.Equal(t, weft.VC(0), cycle[0].Layer)
}

// Each switch sends to the next one on the ring: in layer 1 clockwise, in layer 0 back first, from
// where only layer 1 leads on.
func TestWhereAPacketComesIntoALayerItGoesOnByTheTablesOfThatOne(t *testing.T) {
	t.Parallel()
	const n = 6
	back := func(at, dst int, layer weft.VC) []step {
		switch {
		case layer == 1:
			return []step{{(at + 1) % n, 1}}
		case dst == (at+1)%n:
			return []step{{(at + n - 1) % n, 0}}
		}
		return nil
	}
	layers := uint16(0)
	next := func(s, dst int) []weft.Address {
		if dst != (s+1)%n {
			return nil
		}
		return []weft.Address{{VC: 0, Layers: layers}, {VC: 1}}
	}
	h := byHand{spec: "ring:6", layers: 2, kind: layered.Adaptive, next: back, addresses: next}
	assert.Nil(t, h.make(t).Dependencies(t.Context()).Cycle())
	layers = 0b11
	cycle := h.make(t).Dependencies(t.Context()).Cycle()
	require.Len(t, cycle, n)
	assert.Equal(t, weft.VC(1), cycle[0].Layer)
}

// Random tables have many cycles. The one that is named is checked against a search by the
// definition.
func TestTheCycleThatIsNamedIsAShortestOne(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	cyclic := 0
	for range 300 {
		h := byHand{spec: "irregular:9,24,1", layers: 1}
		g := topologytest.Parse(t, h.spec)
		var way [9][9]int
		for at := range way {
			for dst := range way {
				way[at][dst] = -1
				if to := draw.IntN(9); portTo(g, at, to) != weft.NoPort {
					way[at][dst] = to
				}
			}
		}
		h.next = func(at, dst int, _ weft.VC) []step {
			if way[at][dst] < 0 {
				return nil
			}
			return []step{{way[at][dst], 0}}
		}
		h.addresses = func(s, _ int) []weft.Address {
			if s > 2 {
				return nil
			}
			return []weft.Address{{}}
		}
		want := shortestByHand(way)
		got := h.make(t).Dependencies(t.Context()).Cycle()
		require.Len(t, got, want)
		if want > 0 {
			cyclic++
		}
	}
	require.Greater(t, cyclic, 50)
	require.Less(t, cyclic, 300)
}

// shortestByHand is the length of the shortest cycle of the dependencies that packets from switches
// 0 to 2 make; 0 for none.
func shortestByHand(way [9][9]int) int {
	type channel [2]int
	var follows [81][81]bool
	for s := range 3 {
		for dst := range 9 {
			was, seen := channel{-1, -1}, map[channel]bool{}
			for at := s; at != dst && way[at][dst] >= 0; at = way[at][dst] {
				c := channel{at, way[at][dst]}
				if was[0] >= 0 {
					follows[was[0]*9+was[1]][c[0]*9+c[1]] = true
				}
				if seen[c] {
					break
				}
				was, seen[c] = c, true
			}
		}
	}
	reach := follows // by ways of n dependencies
	for n := 1; n <= 81; n++ {
		for c := range 81 {
			if reach[c][c] {
				return n
			}
		}
		var further [81][81]bool
		for a := range 81 {
			for b := range 81 {
				if !reach[a][b] {
					continue
				}
				for c := range 81 {
					further[a][c] = further[a][c] || follows[b][c]
				}
			}
		}
		reach = further
	}
	return 0
}

func TestChannelsAreNumberedAndFoundAgain(t *testing.T) {
	t.Parallel()
	g := &topology.Graph{Switches: []topology.Switch{{Ports: 3}, {ID: 1}, {ID: 2}, {ID: 3, Ports: 2}, {ID: 4, Ports: 1}}}
	c := layered.NewChannels(g)
	seen := map[int]bool{}
	for _, s := range g.Switches {
		for p := range weft.PortID(s.Ports) {
			for layer := range weft.VC(3) {
				n := c.Number(s.ID, p, layer)
				require.False(t, seen[n])
				require.Less(t, n, 3*c.Len())
				seen[n] = true
				require.Equal(t, layered.Channel{From: weft.End{Node: s.ID.Node(), Port: p}, Layer: layer}, c.Channel(n))
			}
		}
	}
	require.Len(t, seen, 3*c.Len())
}
