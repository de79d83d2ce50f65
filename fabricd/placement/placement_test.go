package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func agents(n, ports int) []placement.Agent {
	var out []placement.Agent
	for i := range n {
		out = append(out, placement.Agent{Name: fmt.Sprintf("h%d", i), Ports: ports})
	}
	return out
}

// sound checks what holds for every placement: each node once, NICs beside their switches, nobody
// above its room, and the cost as counted anew.
func sound(t *testing.T, g *topology.Graph, as []placement.Agent, p *placement.Placement) {
	t.Helper()
	switches, nics, ports := map[weft.SwitchID]int{}, map[weft.NICID]int{}, 0
	for i, part := range p.Hosts {
		require.NotEmpty(t, part.Switches)
		require.True(t, slices.IsSorted(part.Switches) && slices.IsSorted(part.NICs))
		for _, s := range part.Switches {
			switches[s]++
			require.Equal(t, i, p.HostOf(s))
		}
		for _, n := range part.NICs {
			nics[n]++
			s, _ := g.SwitchOf(n)
			require.Equal(t, i, p.HostOf(s))
		}
		ports += part.Ports
		a := as[slices.IndexFunc(as, func(a placement.Agent) bool { return a.Name == part.Agent })]
		require.LessOrEqual(t, part.Ports, a.Ports)
		require.True(t, a.Switches == 0 || len(part.Switches) <= a.Switches)
	}
	require.Equal(t, 2*len(g.Links), ports)
	require.Len(t, switches, len(g.Switches))
	require.Len(t, nics, len(g.NICs))
	require.Equal(t, crossing(g, p), p.Cost.Crossing)
}

func crossing(g *topology.Graph, p *placement.Placement) (n int) {
	for _, l := range g.Links {
		if l.BetweenSwitches() && p.HostOf(weft.SwitchID(l.A.Node.Index)) != p.HostOf(weft.SwitchID(l.B.Node.Index)) {
			n++
		}
	}
	return n
}

// What the method reaches on topologies whose best cut is known: of a torus cut across its longer
// side, of a mesh, of a ring, and of trees whose pods stay whole, where a top switch has a link to
// each pod and only those to its own part do not cross.
func TestFewLinksCross(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec            string
		agents, atMost  int
		heaviest, total int // ports: of the fullest agent at most, of all
	}{
		{"kary-ntree:4,3", 2, 32, 192, 384},
		{"kary-ntree:4,3", 4, 48, 96, 384},
		{"mport-tree:8,3", 2, 64, 384, 768},
		{"mport-tree:8,3", 3, 90, 268, 768},
		{"mport-tree:8,3", 4, 96, 192, 768},
		{"torus:8x8x8", 2, 128, 2048, 4096},
		{"torus:8x8x8", 4, 256, 1024, 4096},
		{"mesh:16x16", 2, 16, 736, 1472},
		{"mesh:16x16", 4, 32, 368, 1472},
		{"ring:12", 3, 3, 16, 48},
	} {
		g := topologytest.Parse(t, c.spec)
		as := agents(c.agents, c.total)
		p, err := placement.Place(g, as)
		require.NoError(t, err)
		sound(t, g, as, p)
		require.LessOrEqual(t, p.Cost.Crossing, c.atMost, "%s over %d", c.spec, c.agents)
		most := 0
		for _, part := range p.Hosts {
			most = max(most, part.Ports)
		}
		require.LessOrEqual(t, most, c.heaviest, "%s over %d", c.spec, c.agents)
	}
}

func TestPodsStayWhole(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mport-tree:8,3")
	p, err := placement.Place(g, agents(3, 1000))
	require.NoError(t, err)
	for _, l := range g.Links {
		if a, b := l.A.Node, l.B.Node; l.BetweenSwitches() && g.Switches[a.Index].Tier > 0 && g.Switches[b.Index].Tier > 0 {
			require.Equal(t, p.HostOf(weft.SwitchID(a.Index)), p.HostOf(weft.SwitchID(b.Index)), l.Name)
		}
	}
}

func TestPlacementsOfAnyGraphAreSoundAndTheSameEachTime(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		switches := 4 + rng.IntN(40)
		spec := fmt.Sprintf("irregular:%d,%d,%d", switches, min(switches+rng.IntN(switches), switches*(switches-1)/2),
			rng.IntN(1000))
		g := topologytest.Parse(t, spec)
		total := 2 * len(g.Links)
		var as []placement.Agent
		for i := range 1 + rng.IntN(5) {
			as = append(as, placement.Agent{
				Name: fmt.Sprintf("h%d", i), Ports: total/2 + rng.IntN(total), Cores: rng.IntN(4),
				Switches: rng.IntN(2) * switches,
			})
		}
		if len(as) == 1 {
			as[0].Ports = total
		}
		p, err := placement.Place(g, as)
		require.NoError(t, err, spec)
		sound(t, g, as, p)
		again, err := placement.Place(g, as)
		require.NoError(t, err)
		require.Equal(t, p, again, spec)
		var names []string
		for _, a := range as {
			names = append(names, a.Name)
		}
		of := make([]int, switches)
		for s := range of {
			of[s] = slices.Index(names, p.Hosts[p.HostOf(weft.SwitchID(s))].Agent)
		}
		written, err := placement.PlaceAs(g, names, of)
		require.NoError(t, err)
		require.Equal(t, p, written)
	}
}

// Against all divisions of small graphs into two: of those that are as even, none has fewer links
// across than three quarters of ours, and together ours have at most 3% more than the best.
func TestAgainstAllDivisionsOfSmallGraphs(t *testing.T) {
	t.Parallel()
	ours, best := 0, 0
	for seed := range 60 {
		n := 6 + seed%7
		g := topologytest.Parse(t, fmt.Sprintf("irregular:%d,%d,%d", n, n+seed%n, seed+1))
		p, err := placement.Place(g, agents(2, 2*len(g.Links)))
		require.NoError(t, err)
		most := 0
		for _, part := range p.Hosts {
			most = max(most, part.Ports)
		}
		least := len(g.Links)
		for mask := 1; mask < 1<<n-1; mask++ {
			of := make([]int, n)
			for s := range of {
				of[s] = mask >> s & 1
			}
			var held [2]int
			cut := 0
			for _, l := range g.Links {
				a := weft.SwitchID(l.A.Node.Index)
				if !l.BetweenSwitches() {
					held[of[a]] += 2
					continue
				}
				b := weft.SwitchID(l.B.Node.Index)
				held[of[a]]++
				held[of[b]]++
				if of[a] != of[b] {
					cut++
				}
			}
			if max(held[0], held[1]) <= most {
				least = min(least, cut)
			}
		}
		require.LessOrEqual(t, 3*p.Cost.Crossing, 4*least, "%s", g.Spec)
		ours, best = ours+p.Cost.Crossing, best+least
	}
	require.LessOrEqual(t, float64(ours), 1.03*float64(best), "of %d", best)
}

func TestLoadFollowsCoresWithinTheRoom(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "torus:8x8") // 256 ports of links, 128 of NICs
	as := agents(3, 1000)
	as[0].Cores, as[1].Cores, as[2].Cores = 4, 1, 1
	p, err := placement.Place(g, as)
	require.NoError(t, err)
	require.InDelta(t, 256, p.Hosts[0].Ports, 14)
	require.InDelta(t, 64, p.Hosts[1].Ports, 10)
	as[0].Ports = 100
	p, err = placement.Place(g, as)
	require.NoError(t, err)
	sound(t, g, as, p)
	require.InDelta(t, 96, p.Hosts[0].Ports, 6)
	require.InDelta(t, 144, p.Hosts[1].Ports, 9)
	as[2].Switches = 5
	p, err = placement.Place(g, as)
	require.NoError(t, err)
	sound(t, g, as, p)
}

func TestTooLittleRoomIsSaidWithWhatIsMissing(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:4,3")
	as := agents(2, 150)
	as[1].Ports = 100
	_, err := placement.Place(g, as)
	require.ErrorIs(t, err, placement.ErrRoom)
	require.EqualError(t, err, "placement: too little room on the agents: room for 134 ports of 384 is missing: add "+
		"agents, or offer more on them\n"+
		"  h0: room for 150 ports, 42 ports less than its share\n  h1: room for 100 ports, 92 ports less than its share")
	as = agents(2, 1000)
	as[0].Switches, as[1].Switches = 30, 10
	_, err = placement.Place(g, as)
	require.ErrorContains(t, err, "room for 8 switches of 48 is missing")
	// Enough in all, but no switch fits anywhere.
	_, err = placement.Place(g, agents(100, 4))
	require.ErrorIs(t, err, placement.ErrRoom)
	require.ErrorContains(t, err, "cannot be shared out so that they fit")
}

func TestMoreAgentsThanSwitchesLeavesSomeWithoutAny(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:3")
	as := agents(5, 100)
	p, err := placement.Place(g, as)
	require.NoError(t, err)
	sound(t, g, as, p)
	require.Len(t, p.Hosts, 3)
}

func TestAPlacementOfAnotherFabricIsRefused(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:3")
	_, err := placement.PlaceAs(g, []string{"a"}, []int{0, 0})
	require.ErrorContains(t, err, "it is that of another fabric")
	_, err = placement.PlaceAs(g, []string{"a"}, []int{0, 0, 1})
	require.ErrorContains(t, err, "is on agent number 1 of 1")
}

// The share of traffic that crosses, against hand counts: of a ring of four cut in two, a packet to
// the neighbour across crosses once, one to the far corner once on either way, and the two NICs on
// the same half do not.
func TestCostOfUniformTraffic(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	p, err := placement.PlaceAs(g, []string{"a", "b"}, []int{0, 0, 1, 1})
	require.NoError(t, err)
	require.Equal(t, 4, p.Cost.Links)
	require.Equal(t, 2, p.Cost.Crossing)
	require.InDelta(t, 2.0/3, p.Cost.PerPath, 1e-9)
	require.InDelta(t, 2.0/4, p.Cost.Traffic, 1e-9) // of 1+1+2 hops to the three others, 1+1 cross
	one, err := placement.PlaceAs(g, []string{"a"}, []int{0, 0, 0, 0})
	require.NoError(t, err)
	require.Equal(t, placement.Cost{Links: 4}, one.Cost)
}

func TestALargeTreeIsPlacedInTheTimeOfAStart(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mport-tree:16,3")
	as := agents(3, 2*len(g.Links))
	p, err := placement.Place(g, as)
	require.NoError(t, err)
	sound(t, g, as, p)
	require.Less(t, p.Cost.Crossing*100, p.Cost.Links*36,
		"two thirds of the links of top switches, and they have half of all links")
}

func BenchmarkPlace(b *testing.B) {
	for _, spec := range []string{"mport-tree:8,3", "mport-tree:36,3", "torus:16x16x16", "irregular:2000,6000,1"} {
		b.Run("topology="+spec, func(b *testing.B) {
			g := topologytest.Parse(b, spec)
			for b.Loop() {
				if _, err := placement.Place(g, agents(3, 2*len(g.Links))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
