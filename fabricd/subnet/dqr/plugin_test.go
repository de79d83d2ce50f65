package dqr_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// asked is a channel list that takes any turns, and notes them by names: what is come from, the
// switch, and where it goes.
type asked struct {
	g     *topology.Graph
	dead  cuts
	turns []string
}

func (a *asked) Graph() *topology.Graph      { return a.g }
func (a *asked) Alive(link weft.LinkID) bool { return !a.dead[link] }

func (a *asked) Together(turns []dqr.Turn) bool {
	for _, t := range turns {
		in, _, _ := a.g.Peer(weft.End{Node: t.At.Node(), Port: t.In})
		out, _, _ := a.g.Peer(weft.End{Node: t.At.Node(), Port: t.Out})
		a.turns = append(a.turns, a.g.Name(in.Node)+" "+a.g.Name(t.At.Node())+" "+a.g.Name(out.Node))
	}
	return true
}

func TestThePluginTurnsBothDirectionsRoundTheSideOfTheCentreAndInAndOutAtBothEnds(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:4x4")
	for _, c := range []struct {
		dead []string
		want []string
	}{
		{[]string{"s1.0-s2.0"}, []string{ // in a row: out of the way round and on
			"s1.0 s1.1 s2.1", "s1.1 s2.1 s2.0", "s2.0 s2.1 s1.1", "s2.1 s1.1 s1.0", "s1.1 s1.0 s0.0", "s2.1 s2.0 s3.0",
		}},
		{[]string{"s2.1-s2.2"}, []string{ // in a column: out of it and onto the way round
			"s2.1 s1.1 s1.2", "s1.1 s1.2 s2.2", "s2.2 s1.2 s1.1", "s1.2 s1.1 s2.1", "s2.0 s2.1 s1.1", "s2.3 s2.2 s1.2",
		}},
		{[]string{"s2.1-s2.2", "s1.1-s1.2"}, []string{ // the other side, as the first is dead
			"s2.1 s3.1 s3.2", "s3.1 s3.2 s2.2", "s2.2 s3.2 s3.1", "s3.2 s3.1 s2.1", "s2.0 s2.1 s3.1", "s2.3 s2.2 s3.2",
		}},
		{[]string{"s0.0-s1.0", "s0.1-s1.1"}, nil}, // no side is left
	} {
		a := &asked{g: g, dead: cuts{}}
		for _, name := range c.dead {
			a.dead[link(t, g, name)] = true
		}
		assert.Equal(t, c.want != nil, dqr.Mesh{}.Enable(&g.Links[link(t, g, c.dead[0])], a))
		assert.Equal(t, c.want, a.turns, "%v", c.dead)
	}
	other := topologytest.Parse(t, "ring:4")
	assert.False(t, dqr.Mesh{}.Enable(&other.Links[0], &asked{g: other}), "one dimension has no side")
	listed := topologytest.Parse(t, "irregular:6,9,1")
	assert.False(t, dqr.Mesh{}.Enable(&listed.Links[0], &asked{g: listed}), "no grid")
	_, err := dqr.New(t.Context(), &layered.Routing{Engine: "by hand", Graph: listed, Kind: layered.Deterministic},
		dqr.Options{Plugin: dqr.Mesh{}})
	require.ErrorContains(t, err, "plug-in mesh is for meshes, tori and rings, and irregular:6,9,1 is none",
		"rather than do nothing")
}

// nonsense asks for turns that there are not.
type nonsense struct{ t *testing.T }

func (nonsense) Fits(*topology.Graph) error { return nil }

func (n nonsense) Enable(_ *topology.Link, e dqr.Enabler) bool {
	assert.False(n.t, e.Together([]dqr.Turn{{At: 99}}))
	assert.False(n.t, e.Together([]dqr.Turn{{At: 0, In: 200, Out: 1}}))
	assert.False(n.t, e.Alive(weft.LinkID(1<<20)))
	return false
}

func TestAPluginThatAsksForNonsenseIsRefusedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:4x4")
	r := begin(t, xy(t, g), dqr.Options{Plugin: nonsense{t}})
	assert.True(t, fail(t, r, link(t, g, "s1.1-s2.1")).Tolerated())
	assert.Zero(t, r.Miscounted())
}

func TestACycleIsFoundWithoutTheChannelListAndEndsWithADeadLink(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:3x3")
	r := begin(t, xy(t, g), dqr.Options{})
	assert.True(t, r.Acyclic())
	ring := []layered.Channel{
		hop(t, g, "s0.0", "s0.1"), hop(t, g, "s0.1", "s1.1"), hop(t, g, "s1.1", "s1.0"),
		hop(t, g, "s1.0", "s0.0"),
	}
	for i := range ring {
		r.Depend(ring[i], ring[(i+1)%4])
	}
	assert.False(t, r.Acyclic())
	assert.True(t, fail(t, r, link(t, g, "s0.0-s0.1")).Acyclic, "nothing waits for a dead link")
}

func TestAReconfigurationAllocatesLittle(t *testing.T) {
	g := topologytest.Parse(t, "mesh:10x10")
	r := begin(t, xy(t, g), dqr.Options{})
	dead, dies := cuts{}, between(g)
	i := 0
	n := testing.AllocsPerRun(20, func() {
		dead[dies[i*7]] = true
		i++
		fail(t, r, dies[i*7])
		r.Settle()
	})
	assert.Less(t, n, 600.0, "there are about 3000 flows in each")
}
