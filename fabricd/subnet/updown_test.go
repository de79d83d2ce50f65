package subnet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

func upDown(t testing.TB, g *topology.Graph) *subnet.UpDownRoutes {
	t.Helper()
	u, err := subnet.NewUpDownRoutes(g)
	require.NoError(t, err)
	return u
}

// above are the switches of all tiers but the bottom.
func above(g *topology.Graph) (list []weft.SwitchID) {
	for _, s := range g.Switches {
		if int(s.Tier) < g.Tiers-1 {
			list = append(list, s.ID)
		}
	}
	return list
}

// DDRC guarantees k-1 dead elements, and no more: with k some sets cut a pair off.
func TestUpDownWithoutTheDeadConnectsEveryPairUpToKMinus1AndNoMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec string
		k    int
	}{
		{"kary-ntree:2,3", 2},
		{"kary-ntree:2,4", 2},
		{"kary-ntree:3,2", 3},
		{"kary-ntree:3,3", 3},
		{"kary-ntree:4,2", 4},
		{"mport-tree:4,3", 2},
		{"mport-tree:6,2", 3},
	} {
		t.Run(c.spec, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, c.spec)
			u, cut := upDown(t, g), subnet.NewComponents(g)
			f := newFabric(g)
			f.faultSets(c.k-1, func() {
				require.Zero(t, u.Compute(&f.dead), "%+v", f.dead)
				require.Zero(t, cut.Compute(&f.dead), "%+v", f.dead)
			})
			worst := 0
			if len(g.Links)-len(g.NICs) > 40 {
				f.dead = subnet.Dead{} // too many sets of k links: all up links of one leaf are one of them
				leaf := g.Switches[len(g.Switches)-1].ID
				for j := range c.k {
					_, id, _ := g.Peer(weft.End{Node: leaf.Node(), Port: g.Place(leaf).Tree.Up(j)})
					f.dead.AddLink(id)
				}
				worst = u.Compute(&f.dead)
			} else {
				f.faultSets(c.k, func() { worst = max(worst, u.Compute(&f.dead)) })
			}
			require.Positive(t, worst)
		})
	}
}

// The same with switches among the dead, anywhere above the bottom tier.
func TestUpDownWithoutTheDeadConnectsEveryPairAroundDeadSwitches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec string
		k    int
	}{{"kary-ntree:2,4", 2}, {"kary-ntree:3,3", 3}, {"kary-ntree:4,2", 4}, {"mport-tree:4,3", 2}} {
		g := topologytest.Parse(t, c.spec)
		u := upDown(t, g)
		f := newFabric(g)
		tops := above(g)
		var pick func(from, left int)
		pick = func(from, left int) {
			require.Zero(t, u.Compute(&f.dead), "%s: %+v", c.spec, f.dead)
			if left == 0 {
				return
			}
			if left == 1 { // mixed: the last is a link
				f.faultSets(1, func() { require.Zero(t, u.Compute(&f.dead), "%s: %+v", c.spec, f.dead) })
			}
			for i := from; i < len(tops); i++ {
				f.crash(tops[i], true)
				pick(i+1, left-1)
				f.crash(tops[i], false)
			}
		}
		pick(0, c.k-1)
	}
}

// harm draws up to most dead links and switches of any tier.
func harm(f *fabric, draw *rand.Rand, most int) (undo func()) {
	var links []topology.Link
	var switches []weft.SwitchID
	for range draw.IntN(most + 1) {
		if draw.IntN(4) == 0 {
			switches = append(switches, weft.SwitchID(draw.IntN(len(f.g.Switches))))
			f.crash(switches[len(switches)-1], true)
		} else {
			links = append(links, f.g.Links[draw.IntN(len(f.g.Links))])
			f.kill(links[len(links)-1], true)
		}
	}
	return func() {
		for _, s := range switches {
			f.crash(s, false)
		}
		for _, l := range links {
			f.kill(l, false)
		}
	}
}

// climbs finds by search which NICs a packet from src can reach over live links without going up
// after it came down.
func climbs(f *fabric, src weft.NICID) map[weft.NICID]bool {
	type state struct {
		s    weft.SwitchID
		down bool
	}
	found, seen := map[weft.NICID]bool{}, map[state]bool{}
	var visit func(state)
	visit = func(at state) {
		if seen[at] {
			return
		}
		seen[at] = true
		still := &f.at[at.s]
		for p, role := range still.At.Roles {
			if !still.PortUp(weft.PortID(p)) || role == weft.RoleUp && at.down {
				continue
			}
			peer, _, _ := f.g.Peer(weft.End{Node: at.s.Node(), Port: weft.PortID(p)})
			if role == weft.RoleNIC {
				found[weft.NICID(peer.Node.Index)] = true
				continue
			}
			visit(state{weft.SwitchID(peer.Node.Index), role == weft.RoleDown})
		}
	}
	if s, p := f.g.SwitchOf(src); f.at[s].PortUp(p) {
		visit(state{s, false})
	}
	return found
}

// Whatever is dead: a pair is routable exactly if some live path goes up and then down, the tables
// deliver it over such a path, and what is routable is connected.
func TestUpDownTablesDeliverEveryRoutablePairWithoutUTurn(t *testing.T) {
	t.Parallel()
	cut, err := topology.Load("cut.yaml",
		[]byte("generate: kary-ntree:3,3\nremove_links: [s0.00-s1.00, s0.01-s1.11, s1.22-s2.20, s1.21-s2.20]\n"))
	require.NoError(t, err)
	graphs := []*topology.Graph{cut}
	for _, spec := range []string{
		"kary-ntree:2,3", "kary-ntree:3,3", "kary-ntree:4,3", "kary-ntree:2,6", "mport-tree:4,3",
		"mport-tree:8,2", "kary-ntree:2,1", "leaf-spine:2,5,3",
	} {
		graphs = append(graphs, topologytest.Parse(t, spec))
	}
	for _, g := range graphs {
		t.Run(g.Spec, func(t *testing.T) {
			t.Parallel()
			f := newFabric(g)
			u, cut := upDown(t, g), subnet.NewComponents(g)
			draw := rand.New(rand.NewPCG(3, 4))
			lost := 0
			for range 12 {
				undo := harm(f, draw, 3+len(g.Links)/4)
				unroutable, unconnected := u.Compute(&f.dead), cut.Compute(&f.dead)
				tables, again, err := subnet.UpDown(g, &f.dead)
				require.NoError(t, err)
				require.Equal(t, unroutable, again)
				require.Equal(t, unconnected, subnet.Connected(g, &f.dead))
				checkPairs(t, f, u, cut, tables, &unroutable, &unconnected)
				require.Zero(t, unroutable)
				require.Zero(t, unconnected)
				lost += again
				undo()
			}
			require.Positive(t, lost, "nothing was ever cut off")
		})
	}
}

// checkPairs takes one from the counts for every pair that it finds unroutable or unconnected.
func checkPairs(t *testing.T, f *fabric, u *subnet.UpDownRoutes, cut *subnet.Components, tables *tables.Tables,
	unroutable, unconnected *int,
) {
	fw := firmware.Static{Tables: tables}.Firmware()
	var reached map[weft.NICID]bool
	from := weft.NICID(len(f.g.NICs))
	for src, dst := range pairs(f.g) {
		if src != from {
			reached, from = climbs(f, src), src
		}
		routable, joined := u.Routable(src, dst), cut.Joined(src, dst)
		if routable != reached[dst] || routable && !joined {
			t.Fatalf("%d -> %d with %+v dead: routable %v, by search %v, connected %v", src, dst, f.dead, routable, reached[dst],
				joined)
		}
		if !routable {
			*unroutable--
		}
		if !joined {
			*unconnected--
		}
		if s, p := f.g.SwitchOf(src); !f.at[s].PortUp(p) {
			continue // it cannot send
		}
		if w := f.send(fw, src, dst); (w.lost == "") != routable || w.upAgain || w.ups != w.downs && routable {
			t.Fatalf("%d -> %d with %+v dead: routable %v, walked %+v", src, dst, f.dead, routable, w)
		}
	}
}

func TestUpDownWithoutFaultsIsTheDefaultWay(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:8,3"} {
		g := topologytest.Parse(t, spec)
		u := upDown(t, g)
		require.Zero(t, u.Compute(nil))
		for _, s := range g.Switches {
			tree := g.Place(s.ID).Tree
			for d := range weft.NICID(len(g.NICs)) {
				want := tree.DownPort(d)
				if !tree.HasDown(d) {
					want = tree.DefaultUp(d)
				}
				require.Equal(t, want, u.Port(s.ID, d))
			}
		}
	}
}

// The destinations of a dead up port go by all the others alike, and the other destinations stay
// where they are.
func TestUpDownSpreadsTheDestinationsOfADeadPort(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:4,3")
	u := upDown(t, g)
	leaf, err := g.SwitchByName("s2.00")
	require.NoError(t, err)
	link, err := g.LinkByName("s1.02-s2.00")
	require.NoError(t, err)
	var dead subnet.Dead
	dead.AddLink(link.ID)
	require.Zero(t, u.Compute(&dead))
	load := map[weft.PortID]int{}
	for d := weft.NICID(4); d < 64; d++ {
		p := u.Port(leaf, d)
		if digit := weft.PortID(d % 4); digit != 2 {
			require.Equal(t, 4+digit, p)
		}
		load[p]++
	}
	require.Equal(t, map[weft.PortID]int{4: 20, 5: 20, 7: 20}, load)
}

// loads counts the pairs of NICs whose path goes over each direction of a link, by the port that it
// leaves.
func loads(t *testing.T, g *topology.Graph, u *subnet.UpDownRoutes) map[weft.End]int {
	load := map[weft.End]int{}
	for src, dst := range pairs(g) {
		s, _ := g.SwitchOf(src)
		for range 2 * g.Tiers {
			e := weft.End{Node: s.Node(), Port: u.Port(s, dst)}
			peer, _, ok := g.Peer(e)
			require.True(t, ok, "%s to %s", g.Name(src.Node()), g.Name(dst.Node()))
			if !peer.Node.IsSwitch() {
				break
			}
			load[e]++
			s = weft.SwitchID(peer.Node.Index)
		}
	}
	return load
}

// The sources of a destination behind a dead link come by all the other links alike, too: no link
// gets more than what it had and a third of what the dead one had. By one port for all of them, one
// link would carry two destinations.
func TestUpDownSpreadsTheSourcesOfADestinationBehindADeadLink(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:4,3")
	u := upDown(t, g)
	require.Zero(t, u.Compute(&subnet.Dead{}))
	before := loads(t, g, u)
	for _, name := range []string{"s1.02-s2.00", "s0.12-s1.32"} {
		link, err := g.LinkByName(name)
		require.NoError(t, err)
		var dead subnet.Dead
		dead.AddLink(link.ID)
		require.Zero(t, u.Compute(&dead))
		after := loads(t, g, u)
		for e, n := range after {
			moved := max(before[link.A], before[link.B])
			require.LessOrEqual(t, n, before[e]+moved/3, "%s: %s port %d", name, g.Name(e.Node), e.Port)
		}
	}
}

func TestOnlyTreesHaveUpDownRoutes(t *testing.T) {
	t.Parallel()
	_, _, err := subnet.UpDown(topologytest.Parse(t, "ring:5"), nil)
	require.ErrorContains(t, err, "ring:5 is none")
}

// flood counts by search the ordered pairs of NICs that no path of live links joins.
func flood(g *topology.Graph, dead *subnet.Dead) (unconnected int) {
	for src, dst := range pairs(g) {
		seen := []weft.Node{src.Node()}
		for i := 0; i < len(seen); i++ {
			for _, l := range g.Links {
				if n := l.Other(seen[i]).Node; (l.A.Node == seen[i] || l.B.Node == seen[i]) && !broken(dead, l) &&
					!slices.Contains(seen, n) {
					seen = append(seen, n)
				}
			}
		}
		if !slices.Contains(seen, dst.Node()) {
			unconnected++
		}
	}
	return unconnected
}

func TestConnectedIsWhatAFloodFinds(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(5, 6))
	lost := 0
	for _, spec := range []string{"irregular:8,12,7", "ring:6", "mesh:3x3", "kary-ntree:2,3"} {
		g := topologytest.Parse(t, spec)
		f := newFabric(g)
		require.Zero(t, subnet.Connected(g, nil))
		for range 8 {
			undo := harm(f, draw, 6)
			want := flood(g, &f.dead)
			require.Equal(t, want, subnet.Connected(g, &f.dead), "%s: %+v", spec, f.dead)
			lost += want
			undo()
		}
	}
	require.Positive(t, lost)
}

func TestDeadIsASet(t *testing.T) {
	t.Parallel()
	var none *subnet.Dead
	require.False(t, none.HasLink(0) || none.HasSwitch(0))
	require.Zero(t, none.Len())
	var d subnet.Dead
	d.RemoveLink(900)
	d.AddLink(0)
	d.AddLink(700)
	d.AddLink(700)
	d.AddSwitch(64)
	require.True(t, d.HasLink(0) && d.HasLink(700) && d.HasSwitch(64))
	require.False(t, d.HasLink(64) || d.HasSwitch(0) || d.HasSwitch(700) || d.HasLink(1<<30))
	require.Equal(t, 3, d.Len())
	d.RemoveLink(700)
	d.RemoveSwitch(64)
	require.Equal(t, 1, d.Len())
}

func TestComputingAgainAllocatesNothing(t *testing.T) {
	g := topologytest.Parse(t, "kary-ntree:2,6")
	u, cut := upDown(t, g), subnet.NewComponents(g)
	var dead subnet.Dead
	dead.AddLink(100)
	dead.AddSwitch(3)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		u.Compute(&dead)
		cut.Compute(&dead)
	}))
}

func BenchmarkCompute(b *testing.B) {
	for _, spec := range []string{"kary-ntree:4,3", "kary-ntree:2,6"} {
		g := topologytest.Parse(b, spec)
		u, cut := upDown(b, g), subnet.NewComponents(g)
		var dead subnet.Dead
		for i := range 10 {
			dead.AddLink(weft.LinkID(7 * i))
		}
		b.Run(fmt.Sprintf("method=updown/topology=%s", spec), func(b *testing.B) {
			for b.Loop() {
				u.Compute(&dead)
			}
		})
		b.Run(fmt.Sprintf("method=tables/topology=%s", spec), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := subnet.UpDown(g, &dead); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("method=connected/topology=%s", spec), func(b *testing.B) {
			for b.Loop() {
				cut.Compute(&dead)
			}
		})
	}
}

// Beyond k-1 local re-routing connects pairs that up/down does not, by U-turns, and the other way
// round.
func TestLocalReroutingAndUpDownEachConnectPairsThatTheOtherDoesNot(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	fw, _, err := subnet.Firmware(t.Context(), "deterministic-table", g)
	require.NoError(t, err)
	u, cut := upDown(t, g), subnet.NewComponents(g)
	f := newFabric(g)
	local, global := 0, 0
	f.faultSets(2, func() {
		unroutable, unconnected := u.Compute(&f.dead), cut.Compute(&f.dead)
		require.GreaterOrEqual(t, unroutable, unconnected)
		for src, dst := range pairs(g) {
			delivered := f.send(fw, src, dst).lost == ""
			require.True(t, !delivered || cut.Joined(src, dst), "delivered where nothing leads")
			switch routable := u.Routable(src, dst); {
			case delivered && !routable:
				local++
			case routable && !delivered:
				global++
			}
		}
	})
	require.Positive(t, local)
	require.Positive(t, global)
}
