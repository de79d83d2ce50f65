package manage_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

var large = flag.Bool("large", false, "cut each link of 64 and 128 switches too, under LASH")

// Each link is cut alone and comes back before the next is cut. A flow whose path is cut may go on in
// another layer: then its source asks entries that nobody asked before, of its own switch too.
func TestNoCutOfOneLinkStopsTheTrafficUnderLASH(t *testing.T) {
	t.Parallel()
	topologies := []string{"irregular:32,64,1", "irregular:32,64,2", "irregular:32,64,3"}
	if *large {
		topologies = append(topologies, "irregular:64,128,3", "irregular:128,256,3")
	}
	for _, topology := range topologies {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			g := graph(t, topology)
			p := planner(t, g, "lash", "dqr", weft.MaxVCs)
			p.Settled()
			cuts, twice := 0, 0
			brought := func(plan *manage.Plan, name string) {
				require.True(t, plan.Acyclic, name)
				require.False(t, plan.Static, "%s: the fabric is emptied", name)
				require.LessOrEqual(t, len(plan.Rounds), 2, name)
				if len(plan.Rounds) == 2 {
					twice++
				}
				p.Adopt(plan)
				p.Told()
				p.Settled()
			}
			for _, l := range g.Links {
				if !l.BetweenSwitches() {
					continue
				}
				cuts++
				var dead subnet.Dead
				dead.AddLink(l.ID)
				brought(plan(t, p, &dead), l.Name)
				dead.Reset()
				for brought(plan(t, p, &dead), l.Name+" is back"); p.More(); {
					again := plan(t, p, &dead)
					if len(again.Patches()) == 0 {
						break
					}
					brought(again, l.Name+" is back")
				}
			}
			t.Logf("%d cuts, %d plans of two rounds", cuts, twice)
		})
	}
}

// Links die and come back one by one, three of them dead at most. A flow that comes home may leave a
// way that this very change has made: packets on their way must not go by the rest of it.
func TestNoChangeOfOneLinkStopsTheTrafficUnderLASH(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		g := graph(t, "irregular:24,48,3")
		p := planner(t, g, "lash", "dqr", weft.MaxVCs)
		p.Settled()
		rng := rand.New(rand.NewPCG(seed, 1))
		links := between(g)
		var dead subnet.Dead
		for range 60 {
			l := links[rng.IntN(len(links))]
			switch {
			case dead.HasLink(l):
				dead.RemoveLink(l)
			case dead.Len() < 3:
				dead.AddLink(l)
			default:
				continue
			}
			next := plan(t, p, &dead)
			require.False(t, next.Static, "%d: %s", seed, g.Links[l].Name)
			p.Adopt(next)
			p.Told()
			p.Settled()
		}
	}
}

func between(g *topology.Graph) (list []weft.LinkID) {
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			list = append(list, l.ID)
		}
	}
	return list
}
