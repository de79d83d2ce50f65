package survey_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// steps are the stops of a way in words: the switch and the channels on from it.
func steps(g *topology.Graph, w survey.Way) (list []string) {
	for _, s := range w.Stops {
		text := g.Switches[s.Switch].Name + ":"
		for _, c := range survey.NamesOf(g, s.Hops) {
			text += " " + c.Name
		}
		if s.Escape {
			text += " or escape"
		}
		list = append(list, text)
	}
	return list
}

func TestADeterministicWayIsOneStopAfterTheOther(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:5,nics=2")
	r := byHand{next: clockwise(5)}.make(t, g)
	ways := survey.Ways(r, 7, 1) // the second NIC of s3
	require.Len(t, ways, 1)
	w := ways[0]
	assert.Equal(t, []string{"s3: s3->s4 vc0", "s4: s4->s0 vc0", "s0: s0->" + g.NICs[1].Name + " vc0"}, steps(g, w))
	assert.True(t, w.Sure)
	assert.Equal(t, 2, w.MaxHops)
	assert.Equal(t, 2.0, w.MeanHops)
	assert.Equal(t, []int{0}, w.Layers)
	assert.Equal(t, portTo(g, 3, weft.NICID(7).Node()), w.Stops[0].In, "the port of the very NIC")
	assert.Equal(t, portTo(g, 4, weft.SwitchID(3).Node()), w.Stops[1].In)
}

func TestAllWaysOfAChoiceAreShownOnceEach(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	ways := survey.Ways(byHand{next: minimal(4), kind: layered.Adaptive}.make(t, g), 0, 2)
	assert.Equal(t, []string{
		"s0: s0->s1 vc0 s0->s3 vc0", "s1: s1->s2 vc0", "s3: s3->s2 vc0", "s2: s2->n2 vc0", "s2: s2->n2 vc0",
	}, steps(g, ways[0]), "the last by either port")
}

func TestEscapesAreShown(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:6")
	w := survey.Ways(escape(6).make(t, g), 0, 5)[0]
	assert.Equal(t, []string{
		"s0: s0->s5 vc1 or escape", "s5: s5->n5 vc1 or escape", "s0: s0->s1 vc0", "s5: s5->n5 vc0",
		"s1: s1->s2 vc0", "s2: s2->s3 vc0", "s3: s3->s4 vc0", "s4: s4->s5 vc0", "s5: s5->n5 vc0",
	}, steps(g, w))
	assert.Equal(t, weft.NoPort, w.Stops[2].In)
	assert.Equal(t, []int{1}, w.Layers)
	assert.True(t, w.Sure)
	assert.Equal(t, 5, w.MaxHops)
	assert.Equal(t, 1.0, w.MeanHops)
}

func TestWaysInCirclesAreShownToo(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	w := survey.Ways(byHand{next: func(at, _ int, _ weft.VC) []int { return []int{[]int{1, 2, 1, 0}[at]} }}.make(t, g), 0,
		3)[0]
	assert.True(t, w.Circles)
	assert.False(t, w.Sure)
	assert.Equal(t, []string{"s0: s0->s1 vc0", "s1: s1->s2 vc0", "s2: s2->s1 vc0", "s1: s1->s2 vc0"}, steps(g, w),
		"s1 from s0, and from s2")
	none := byHand{next: clockwise(4), addresses: func(int, int) []weft.Address { return nil }}.make(t, g)
	assert.Empty(t, survey.Ways(none, 0, 3))
}

func TestUsersOfACycleAreThoseWhoWaitInIt(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	r := byHand{next: clockwise(4)}.make(t, g)
	cycle := surveyOf(t, r).Cycle
	users, err := survey.Users(t.Context(), r, cycle)
	require.NoError(t, err)
	require.Len(t, users, 4)
	assert.Equal(t, "s0->s1 vc0", survey.NameOf(g, cycle[0]).Name)
	assert.ElementsMatch(t, []survey.User{{Src: 0, Dst: 2}, {Src: 0, Dst: 3}, {Src: 3, Dst: 2}}, users[0],
		"who goes on from s1 to s2 after s0 to s1")
}

func TestChannelsOfParallelLinksHavePortsInTheirNames(t *testing.T) {
	t.Parallel()
	g, err := topology.Load("t.yaml", []byte("switches: [{id: a}, {id: b}, {id: c}]\nnics: [{id: n0, switch: "+
		"a}]\nlinks: [{a: a, b: b}, {a: a, b: b}, {a: b, b: c}]\n"))
	require.NoError(t, err)
	to := func(at, name string) (list []survey.Channel) {
		s, err := g.SwitchByName(at)
		require.NoError(t, err)
		for p := range weft.PortID(g.Switches[s].Ports) {
			if c := survey.NameOf(g, layered.Channel{From: weft.End{Node: s.Node(), Port: p}, Layer: 2}); c.To == name {
				list = append(list, c)
			}
		}
		return list
	}
	ab, bc := to("a", "b"), to("b", "c")
	require.Len(t, ab, 2)
	require.Len(t, bc, 1)
	assert.Regexp(t, `^a:\d->b:\d vc2$`, ab[0].Name)
	assert.NotEqual(t, ab[0].Name, ab[1].Name)
	assert.Equal(t, "b->c vc2", bc[0].Name)
	assert.Equal(t, "a:99->? vc0",
		survey.NameOf(g, layered.Channel{From: weft.End{Node: weft.SwitchID(0).Node(), Port: 99}}).Name)
}
