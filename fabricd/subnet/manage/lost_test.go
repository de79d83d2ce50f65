package manage

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/tables"
)

// worse is a method whose tables have no layer for the packets from a switch to a NIC, or no entry
// at a switch on their way.
type worse struct {
	r       *layered.Routing
	from, s weft.SwitchID
	dst     weft.NICID
}

func (worse) adopt(*result) {}
func (worse) settled()      {}

func (c worse) compute(_ context.Context, dead *subnet.Dead) (*result, error) {
	out := *c.r
	if dead.Len() == 0 {
		return &result{routing: &out, rerouted: -1}, nil
	}
	out.Tables = out.Tables.Edited([]weft.SwitchID{c.s})
	n, err := out.Tables.Row(c.s, []tables.Hop{{Port: weft.NoPort}})
	if err == nil && c.s != c.from {
		err = out.Tables.SetAddress(c.s, 0, c.dst, 0, n)
	}
	if err != nil {
		return nil, err
	}
	if c.s == c.from {
		out.Assignment, err = out.Assignment.Edited([]weft.SwitchID{c.from}, 1, 1,
			func(s weft.SwitchID, d weft.NICID) []weft.Address {
				if d == c.dst {
					return nil
				}
				return c.r.Assignment.Addresses(s, d)
			})
	}
	return &result{routing: &out, rerouted: -1}, err
}

// A plan is never worse than what is in force: pairs that it would lose are named, and it is not
// made. What is cut already counts for nothing.
func TestAPlanThatLosesPairsIsRefused(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:3")
	full, err := layered.XY(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	cut := func(name string) *subnet.Dead {
		l, err := g.LinkByName(name)
		require.NoError(t, err)
		dead := new(subnet.Dead)
		dead.AddLink(l.ID)
		return dead
	}
	for _, x := range []struct {
		at   weft.SwitchID
		want string
	}{
		{0, "1 pairs that the tables in force carry would be without a path by the new ones, as s0 to n2:"},
		{1, "2 pairs that the tables in force carry would be without a path by the new ones, as s0 to n2, s1 to n2:"},
	} {
		p := newPlans(g)
		p.compute = worse{full, 0, x.at, 2}
		home, err := p.compute.compute(t.Context(), new(subnet.Dead))
		require.NoError(t, err)
		p.home, p.inForce, p.transition = home, []*layered.Routing{full}, layered.NewTransition(full)
		now := &Plan{Graph: g, Routing: full, Program: home.forwards()}
		_, err = p.plan(t.Context(), now, cut("n0-s0"), nil)
		require.ErrorContains(t, err, x.want)
		plan, err := p.plan(t.Context(), now, cut("s1-s2"), nil)
		require.NoError(t, err, "they had no path")
		require.NotEmpty(t, plan.Patches())
	}
}

// Of tables that leave a choice one way is enough, in whichever layer.
func TestWhatAdaptiveTablesCarryIsFound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a-lash", "escape", "mp-lash", "lash"} {
		g := topologytest.Parse(t, "irregular:10,20,3")
		r, err := subnet.Routes(t.Context(), name, g)
		require.NoError(t, err)
		var dead subnet.Dead
		c := newCarrier(r, &dead)
		for _, cut := range []bool{false, true} {
			for d := range weft.NICID(len(g.NICs)) {
				c.begin(d)
				for s := range weft.SwitchID(len(g.Switches)) {
					if home, _ := g.SwitchOf(d); home != s {
						require.Equal(t, !cut, c.carries(s), name)
					}
				}
			}
			for _, l := range g.Links {
				dead.AddLink(l.ID)
			}
		}
	}
}
