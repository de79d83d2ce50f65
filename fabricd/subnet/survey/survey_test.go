package survey_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func TestARingOneWayRound(t *testing.T) {
	t.Parallel()
	s := surveyOf(t, byHand{next: clockwise(4)}.make(t, topologytest.Parse(t, "ring:4")))
	assert.Len(t, s.Cycle, 4)
	assert.Equal(t, 12, s.Pairs)
	assert.Zero(t, s.Unroutable)
	assert.Equal(t, 2.0, s.MeanHops, "1, 2 or 3 links")
	assert.Equal(t, 3, s.MaxHops)
	assert.InDelta(t, 4.0/3, s.MeanDistance, 1e-12, "1, 2 or 1")
	assert.Equal(t, []int{12}, s.PerLayer)
	assert.Equal(t, 1.0, s.Addresses)
	assert.Equal(t, 6, s.MaxLoad(), "1+2+3 ways over each channel")
	assert.Equal(t, 3.0, s.MeanLoad(), "and none against it")
	assert.Len(t, s.Loads, 8, "channels to NICs are not counted")
	assert.Equal(t, 6.0, s.MaxFlow())
	assert.Equal(t, 3.0, s.MeanFlow())
	assert.Equal(t, 0.5, s.UniformLimit(), "3 destinations, of 6 pairs over a link")
}

func TestWhereThereIsAChoiceHalfGoesEitherWay(t *testing.T) {
	t.Parallel()
	s := surveyOf(t, byHand{next: minimal(4), kind: layered.Adaptive}.make(t, topologytest.Parse(t, "ring:4")))
	assert.InDelta(t, 4.0/3, s.MeanHops, 1e-12)
	assert.Equal(t, s.MeanDistance, s.MeanHops)
	assert.Equal(t, 2, s.MaxHops)
	assert.Equal(t, 3, s.MaxLoad(), "two neighbours and two opposite pairs may use a channel, of which one begins there")
	for _, f := range s.Flows {
		assert.InDelta(t, 2, f, 1e-12, "a neighbour, and halves of two opposite pairs")
	}
	assert.Equal(t, 1.0, s.UniformLimit())
}

func TestEveryNICOfASwitchSends(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:3,nics=2")
	s := surveyOf(t, byHand{next: clockwise(3)}.make(t, g))
	assert.Equal(t, 30, s.Pairs, "those of one switch too")
	assert.Zero(t, s.Unroutable)
	assert.InDelta(t, 6*(2*1+2*2)/30.0, s.MeanHops, 1e-12, "each NIC: none to its neighbour, 1 and 2 links to two each")
	assert.Equal(t, 2*2*(1+2), int(s.MaxFlow()), "2 by 2 NICs, for 3 pairs of switches")
	assert.Equal(t, 6, s.MaxLoad(), "source switches, and both NICs")
	assert.Equal(t, []int{12}, s.PerLayer)
}

func TestAllAddressesAndLayersAreUsedInTurn(t *testing.T) {
	t.Parallel()
	two := func(s, dst int) []weft.Address {
		return []weft.Address{{Layers: 0b11}, {Path: 1, VC: 1}}
	}
	s := surveyOf(t, byHand{layers: 2, next: clockwise(4), addresses: two}.make(t, topologytest.Parse(t, "ring:4")))
	assert.Equal(t, []int{12, 24}, s.PerLayer, "the first address counts in both")
	assert.Equal(t, 2.0, s.Addresses)
	assert.Equal(t, 6.0, s.MaxFlow(), "as with one address and layer")
	assert.Equal(t, 12, s.MaxLoad(), "in layer 1 both addresses")
	assert.Equal(t, 2.0, s.MeanHops)
}

// As A-LASH has it: one address, which packets may enter in either layer and then move.
func TestAnAddressThatIsEnteredInSeveralLayersIsOneAddress(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	moving := func(s, dst int) []weft.Address {
		return []weft.Address{{Layers: 0b11}, {Layers: 0b11, VC: 1}, {Layers: 0b11, VC: 1}, {Path: 1}}
	}
	r := byHand{layers: 2, kind: layered.Adaptive, next: clockwise(4), addresses: moving}.make(t, g)
	s := surveyOf(t, r)
	assert.Equal(t, []int{24, 12}, s.PerLayer)
	assert.Equal(t, 2.0, s.Addresses)
	assert.Equal(t, 12, s.MaxLoad(), "in layer 0 both")
	assert.Equal(t, 6.0, s.MaxFlow())
	assert.Equal(t, 2.0, s.MeanHops)
	ways := survey.Ways(r, 0, 1)
	require.Len(t, ways, 2)
	assert.Equal(t, []int{0, 1}, ways[0].Layers)
	assert.Equal(t, []int{0, 1}, ways[0].Enters)
	assert.Equal(t, []int{0}, ways[1].Layers)
	assert.Len(t, ways[0].Stops, 4, "two switches, by two layers")
	users, err := survey.Users(t.Context(), r, s.Cycle)
	require.NoError(t, err)
	assert.Len(t, users[0], 6, "three pairs go on, by two addresses")
}

func TestPairsWhosePacketsMayNotArriveAreCounted(t *testing.T) {
	t.Parallel()
	ring := clockwise(4)
	for name, c := range map[string]struct {
		next func(at, dst int, layer weft.VC) []int
		want int
	}{
		"no entry at switch 2 for 0": {func(at, dst int, _ weft.VC) []int {
			if at == 2 && dst == 0 {
				return nil
			}
			return ring(at, dst, 0)
		}, 2}, // from 1 and 2
		"packets for 3 go to and fro between 1 and 2": {func(at, dst int, _ weft.VC) []int {
			if at == 2 && dst == 3 {
				return []int{1}
			}
			return ring(at, dst, 0)
		}, 3},
		"one of two ways ends": {func(at, dst int, _ weft.VC) []int {
			if at == 0 && dst == 2 {
				return []int{1, 3}
			}
			if at == 3 && dst == 2 {
				return nil
			}
			return ring(at, dst, 0)
		}, 2}, // from 0 and 3
		"a port that leads nowhere": {func(at, dst int, _ weft.VC) []int {
			if at == 1 && dst == 2 {
				return []int{99, 2}
			}
			return ring(at, dst, 0)
		}, 3},
	} {
		s := surveyOf(t, byHand{next: c.next}.make(t, topologytest.Parse(t, "ring:4")))
		assert.Equal(t, c.want, s.Unroutable, name)
		assert.Equal(t, 12, s.Pairs)
	}
	none := func(s, dst int) []weft.Address {
		if s == 1 && dst != 1 {
			return nil
		}
		return []weft.Address{{}}
	}
	s := surveyOf(t, byHand{next: ring, addresses: none}.make(t, topologytest.Parse(t, "ring:4")))
	assert.Equal(t, 3, s.Unroutable, "switch 1 has no address of others")
	assert.Equal(t, 0.75, s.Addresses)
}

func TestNothingFlowsIntoTheEscapeLayerWhereThereIsAnotherWay(t *testing.T) {
	t.Parallel()
	s := surveyOf(t, escape(6).make(t, topologytest.Parse(t, "ring:6")))
	assert.Nil(t, s.Cycle)
	assert.Zero(t, s.Unroutable)
	assert.Equal(t, s.MeanDistance, s.MeanHops)
	assert.Equal(t, 7, s.MaxHops, "from 2 by 1 to 0, and there along the whole line to 5")
	assert.Equal(t, []int{0, 30}, s.PerLayer)
	h := escape(6)
	all := h.next
	h.next = func(at, dst int, layer weft.VC) []int {
		if layer == 1 && at == 0 {
			return nil
		}
		return all(at, dst, layer)
	}
	s = surveyOf(t, h.make(t, topologytest.Parse(t, "ring:6")))
	assert.Zero(t, s.Unroutable, "from switch 0 there is the escape layer only")
	assert.Greater(t, s.MeanHops, s.MeanDistance)
}

// What Dependencies counts and what flows are two walks that know nothing of each other.
func TestLoadsAndFlowsOfAnEngineAgree(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"irregular:16,32,1", "irregular:20,30,2", "torus:4x4", "mesh:3x3"} {
		g := topologytest.Parse(t, spec)
		r, err := layered.LASH(t.Context(), g, layered.Options{})
		require.NoError(t, err)
		s := surveyOf(t, r)
		require.Nil(t, s.Cycle)
		require.Zero(t, s.Unroutable)
		require.InDelta(t, s.MeanDistance, s.MeanHops, 1e-9, "shortest paths")
		pairs := 0
		for _, n := range s.PerLayer {
			pairs += n
		}
		require.Equal(t, s.Pairs, pairs, "each in one layer")
		require.InDelta(t, s.MeanLoad()*float64(len(s.Loads)), s.MeanFlow()*float64(len(s.Flows)), 1e-6)
		require.InDelta(t, s.MeanHops*float64(s.Pairs), s.MeanFlow()*float64(len(s.Flows)), 1e-6)
		for i, f := range s.Flows {
			all := 0
			for layer := range r.Layers {
				all += s.Loads[layer*len(s.Flows)+i]
			}
			require.InDelta(t, f, float64(all), 1e-9)
		}
	}
}
