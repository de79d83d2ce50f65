package manage_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// methods are those that must never empty a fabric under LASH when one link dies, or comes back.
var methods = []string{"dqr", "dqr:entries=destination"}

// forLASH is a planner with as many virtual channels as the method says that it makes use of.
func forLASH(t *testing.T, g *topology.Graph, method string) *manage.Planner {
	t.Helper()
	p := planner(t, g, "lash", method, weft.MaxVCs)
	vcs := p.Now().Routing.Layers + p.Method().Spare()
	p = planner(t, g, "lash", method, vcs)
	p.Settled()
	return p
}

// Each link is cut alone and comes back before the next is cut. A flow whose path is cut may go on
// in another layer: then its source asks entries that nobody asked before, of its own switch too.
// With entries by destination most cuts would change entries that packets ask: flows go to a spare
// layer.
func TestNoCutOfOneLinkStopsTheTrafficUnderLASH(t *testing.T) {
	t.Parallel()
	topologies := []string{
		"irregular:20,40,1", "irregular:32,64,2", "irregular:32,64,1", "irregular:32,64,3", "irregular:64,128,3",
		"irregular:128,256,3",
	}
	for _, topology := range topologies[:testenv.Levels(6, 2, 1)] {
		for _, method := range methods {
			t.Run(topology+" "+method, func(t *testing.T) {
				t.Parallel()
				cutEach(t, forLASH(t, topologytest.Parse(t, topology), method))
			})
		}
	}
}

func cutEach(t *testing.T, p *manage.Planner) {
	began := p.Now()
	layers, cuts, twice, spare := began.Routing.Layers, 0, 0, 0
	brought := func(plan *manage.Plan, name string) {
		requireRunning(t, plan, name)
		if len(plan.Rounds) == 2 {
			twice++
		}
		p.Adopt(plan)
		p.Acknowledged()
		p.Settled()
	}
	for _, l := range p.Graph().Links {
		if !l.BetweenSwitches() {
			continue
		}
		cuts++
		var dead subnet.Dead
		dead.AddLink(l.ID)
		brought(plan(t, p, &dead), l.Name)
		if inLayers(p.Now(), layers) {
			spare++
		}
		dead = subnet.Dead{}
		for brought(plan(t, p, &dead), l.Name+" is back"); p.More(); {
			again := plan(t, p, &dead)
			if len(again.Patches()) == 0 {
				break
			}
			brought(again, l.Name+" is back")
		}
		require.False(t, inLayers(p.Now(), layers), "%s is back: all flows are home", l.Name)
	}
	t.Logf("%d layers, at most %d; %d cuts, for %d of them a spare layer, %d plans of two rounds", layers,
		p.Now().Routing.Layers, cuts, spare, twice)
}

// requireRunning fails for a plan that stops the traffic, or leaves pairs without a path that live
// links join.
func requireRunning(t *testing.T, plan *manage.Plan, name string) {
	t.Helper()
	require.True(t, plan.Acyclic, name)
	require.False(t, plan.Static, "%s: the fabric is emptied: %s", name, plan.NoSpare)
	require.LessOrEqual(t, len(plan.Rounds), 2, name)
	require.Equal(t, plan.Unconnected, plan.Unroutable, name)
	require.Equal(t, plan.Unroutable, follow(t, plan, &plan.Dead), name)
}

// inLayers reports whether some flow is in a layer from a number on.
func inLayers(plan *manage.Plan, from int) bool {
	r := plan.Routing
	for s := range weft.SwitchID(len(r.Graph.Switches)) {
		for d := range weft.NICID(len(r.Graph.NICs)) {
			for _, a := range r.Assignment.Addresses(s, d) {
				if int(a.VC) >= from {
					return true
				}
			}
		}
	}
	return false
}

// Tables with a row for each layer have none in a spare one before: the destination's own switch
// must deliver there too.
func TestNoCutOfOneLinkStopsTheTrafficOfAMeshWithTablesByDestination(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"mesh:4x4", "mesh:5x5"} {
		p := planner(t, topologytest.Parse(t, spec), "xy", "dqr:entries=destination", 3)
		p.Settled()
		cutEach(t, p)
	}
}

// Links die and come back one by one, three of them dead at most. A flow that comes home may leave
// a way that this very change has made: packets on their way must not go by the rest of it. With
// entries by destination two spare layers are enough, however long it lasts.
func TestNoChangeOfOneLinkStopsTheTrafficUnderLASH(t *testing.T) {
	t.Parallel()
	for _, method := range methods {
		for seed := range uint64(testenv.N(4, 1)) {
			p := forLASH(t, topologytest.Parse(t, "irregular:24,48,3"), method)
			layers := p.Now().Routing.Layers
			rng := rand.New(rand.NewPCG(seed, 1))
			links := between(p.Graph())
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
				bring(t, p, &dead, fmt.Sprint(method, " ", seed, ": ", p.Graph().Links[l].Name))
			}
			dead = subnet.Dead{}
			bring(t, p, &dead, method+": all are back")
			require.False(t, inLayers(p.Now(), layers), "all flows are home")
		}
	}
}

// bring brings into force what a planner plans, until nothing changes any more.
func bring(t *testing.T, p *manage.Planner, dead *subnet.Dead, name string) {
	t.Helper()
	for round := 0; ; round++ {
		require.Less(t, round, 10, "%s: it comes to an end", name)
		next := plan(t, p, dead)
		requireRunning(t, next, name)
		p.Adopt(next)
		p.Acknowledged()
		p.Settled()
		if len(next.Patches()) == 0 || !p.More() {
			return
		}
	}
}

// Without a virtual channel beyond those of the tables the fabric is emptied, and the plan says
// what it lacks.
func TestAPlanSaysThatNoVirtualChannelIsFree(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	g := topologytest.Parse(t, "irregular:32,64,1")
	few := planner(t, g, "lash", "dqr:entries=destination", 2)
	few.Settled()
	none := planner(t, g, "lash", "dqr:entries=destination,spare=leave", weft.MaxVCs)
	none.Settled()
	emptied := 0
	for _, l := range between(g) {
		var dead subnet.Dead
		dead.AddLink(l)
		a, b := plan(t, few, &dead), plan(t, none, &dead)
		require.Equal(t, b.Static, a.Static)
		require.Empty(t, b.NoSpare)
		if a.Static {
			emptied++
			require.Equal(t, "no virtual channel is free: lash uses 2 of 2, flows that have moved or are on their way the "+
				"others: 4 are enough when these have arrived", a.NoSpare)
		}
	}
	require.Equal(t, 62, emptied, "of 64")
}

func between(g *topology.Graph) (list []weft.LinkID) {
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			list = append(list, l.ID)
		}
	}
	return list
}
