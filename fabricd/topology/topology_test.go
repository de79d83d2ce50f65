package topology

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// specs are small graphs of every kind, for the properties that all of them have.
var specs = []string{
	"kary-ntree:2,1", "kary-ntree:2,2", "kary-ntree:4,3", "kary-ntree:3,4", "kary-ntree:12,2",
	"mport-tree:4,1", "mport-tree:4,2", "mport-tree:8,3", "mport-tree:4,4", "mport-tree:12,2",
	"leaf-spine:1,2,1", "leaf-spine:2,3,4", "leaf-spine:4,2,3", "leaf-spine:3,12,2", "leaf-spine:12,2,1",
	"mesh:2", "mesh:4x3", "mesh:2x3x4", "mesh:2x2x2x3", "mesh:3x3,nics=2", "mesh:12x2",
	"torus:4x4", "torus:2x5", "torus:3x4x5", "torus:7", "torus:2x2x2x2", "torus:3x3,nics=3",
	"torus:4x3,wrap=x", "torus:3x4x5,wrap=zy", "torus:3x2x4x3,nics=2,wrap=yw",
	"irregular:2,1,0", "irregular:16,32,1", "irregular:20,19,5", "irregular:9,36,5", "irregular:8,12,3,nics=2",
	"irregular:8,12,3,parallel=3,nics=2", "irregular:9,12,3,method=uniform", "irregular:9,8,3,method=uniform,parallel=2",
	"ring:3", "ring:8", "ring:5,nics=2",
}

func parse(t testing.TB, spec string) *Graph {
	t.Helper()
	g, err := Parse(spec)
	require.NoError(t, err, spec)
	return g
}

// Counts are those of the definitions; links include those of the NICs.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		spec                            string
		switches, nics, links, switched int
	}{
		{"kary-ntree:4,3", 48, 64, 192, 128},
		{"kary-ntree:2,1", 1, 2, 2, 0},
		{"kary-ntree:2,6", 192, 64, 384, 320},
		{"kary-ntree:18,2", 36, 324, 648, 324},
		{"mport-tree:36,2", 54, 648, 1296, 648},
		{"mport-tree:36,3", 1620, 11664, 34992, 23328},
		{"mport-tree:8,3", 80, 128, 384, 256},
		{"mport-tree:8,1", 1, 8, 8, 0},
		{"leaf-spine:4,8,12", 12, 96, 128, 32},
		{"leaf-spine:32,64,48", 96, 3072, 64*32 + 3072, 64 * 32},
		{"mesh:4x3", 12, 12, 29, 17},
		{"mesh:2x3x4,nics=2", 24, 48, 94, 46},
		{"torus:4x4", 16, 16, 48, 32},
		{"torus:2x5", 10, 10, 25, 15},
		{"torus:4x4x4x4", 256, 256, 1280, 1024},
		{"torus:8x8x4,wrap=xy,nics=4", 256, 1024, 1024 + 2*256 + 3*64, 2*256 + 3*64},
		{"torus:2x5,wrap=x", 10, 10, 23, 13},
		{"irregular:16,32,1", 16, 16, 48, 32},
		{"ring:8", 8, 8, 16, 8},
	} {
		g := parse(t, c.spec)
		switched := 0
		for _, l := range g.Links {
			if l.BetweenSwitches() {
				switched++
			}
		}
		assert.Equal(t, []int{c.switches, c.nics, c.links, c.switched},
			[]int{len(g.Switches), len(g.NICs), len(g.Links), switched}, c.spec)
		assert.Equal(t, c.spec, g.Spec)
	}
}

// Scripts rely on the names.
func TestNames(t *testing.T) {
	for spec, c := range map[string]struct{ switches, nics, links string }{
		"kary-ntree:4,3":    {"s0.00 s2.33", "n000 n333", "s0.00-s1.00 s2.33-n333"},
		"kary-ntree:12,2":   {"s0.0 s1.11", "n0.0 n11.11", "s0.0-s1.0 s1.11-n11.11"},
		"kary-ntree:3,1":    {"s0 s0", "n0 n2", "s0-n0 s0-n2"},
		"kary-ntree:12,3":   {"s0.0.0 s2.11.11", "n0.0.0 n11.11.11", "s0.0.0-s1.0.0 s2.11.11-n11.11.11"},
		"mport-tree:8,3":    {"s0.00 s2.73", "n000 n733", "s0.00-s1.00 s2.73-n733"},
		"mport-tree:12,2":   {"s0.0 s1.11", "n0.0 n11.5", "s0.0-s1.0 s1.11-n11.5"},
		"leaf-spine:2,3,4":  {"s0.0 s1.2", "n00 n23", "s0.0-s1.0 s1.2-n23"},
		"leaf-spine:12,2,1": {"s0.0 s1.1", "n0.0 n1.0", "s0.0-s1.0 s1.1-n1.0"},
		"mesh:4x3":          {"s0.0 s3.2", "n0.0 n3.2", "s0.0-s1.0 s3.2-n3.2"},
		"torus:3x3,nics=2":  {"s0.0 s2.2", "n0.0.0 n2.2.1", "s0.0-s1.0 s2.2-n2.2.1"},
		"ring:4":            {"s0 s3", "n0 n3", "s0-s1 s3-n3"},
		"ring:4,nics=3":     {"s0 s3", "n0 n11", "s0-s1 s3-n11"},
	} {
		g := parse(t, spec)
		ends := func(first, last string) string { return first + " " + last }
		assert.Equal(t, c.switches, ends(g.Switches[0].Name, g.Switches[len(g.Switches)-1].Name), spec)
		assert.Equal(t, c.nics, ends(g.NICs[0].Name, g.NICs[len(g.NICs)-1].Name), spec)
		assert.Equal(t, c.links, ends(g.Links[0].Name, g.Links[len(g.Links)-1].Name), spec)
	}
}

// Every graph passes its own check, and has no port, name or end out of place that another way of
// looking would find.
func TestStructure(t *testing.T) {
	for _, spec := range specs {
		g := parse(t, spec)
		require.NoError(t, g.Validate(), spec)
		degree := map[weft.Node]int{}
		for _, l := range g.Links {
			degree[l.A.Node]++
			degree[l.B.Node]++
			for _, ends := range [][2]weft.End{{l.A, l.B}, {l.B, l.A}} {
				other, id, ok := g.Peer(ends[0])
				require.True(t, ok)
				require.Equal(t, ends[1], other)
				require.Equal(t, l.ID, id)
				require.Equal(t, ends[1], l.Other(ends[0].Node))
			}
		}
		for _, n := range g.NICs {
			require.Equal(t, 1, degree[n.ID.Node()], "%s %s", spec, n.Name)
		}
		for _, s := range g.Switches {
			roles := map[weft.Role]int{}
			p := g.Place(s.ID)
			require.Same(t, p, g.Place(s.ID))
			require.Equal(t, s.Ports, p.Ports())
			require.Len(t, p.Neighbours, p.Ports())
			for port, r := range p.Roles {
				roles[r]++
				peer, _, _ := g.Peer(weft.End{Node: s.ID.Node(), Port: weft.PortID(port)})
				require.Equal(t, peer.Node, p.Neighbours[port], "%s %s port %d", spec, s.Name, port)
				require.Equal(t, r == weft.RoleNone, p.Neighbours[port] == weft.Node{})
			}
			require.Equal(t, s.Ports-roles[weft.RoleNone], degree[s.ID.Node()], "%s %s", spec, s.Name)
			if g.Kind != Mesh && g.Kind != Torus {
				require.Zero(t, roles[weft.RoleNone], "%s %s", spec, s.Name)
			}
			require.Equal(t, g.tree != nil, p.Tree != nil)
			require.Equal(t, g.grid != nil, p.Grid != nil)
		}
		_, _, ok := g.Peer(weft.End{Node: weft.SwitchID(0).Node(), Port: weft.NoPort})
		require.False(t, ok)
		_, _, ok = g.Peer(weft.End{Node: weft.NICID(0).Node(), Port: 1})
		require.False(t, ok)
		_, _, ok = g.Peer(weft.End{})
		require.False(t, ok)
	}
}

// A tree is wired as firmware believes: from every switch every up port leads up to the switch with
// that digit, and following DownPort wherever HasDown leads to every NIC, and to no NIC elsewhere.
func TestGridConvention(t *testing.T) {
	for _, spec := range []string{"mesh:2x3x4", "torus:4x5", "torus:2x3,nics=2", "ring:5", "torus:3x4x5,wrap=xz"} {
		g, err := Parse(spec)
		require.NoError(t, err)
		for _, s := range g.Switches {
			p := g.Place(s.ID).Grid
			require.Len(t, p.Dims, len(s.Coord))
			for i, d := range p.Dims {
				require.Equal(t, s.Coord[i], int(d.At), spec)
				up, _, ok := g.Peer(weft.End{Node: s.ID.Node(), Port: p.Up(i)})
				if d.At == d.Size-1 && !p.Around(i) {
					require.False(t, ok, "%s %s", spec, s.Name)
					continue
				}
				step := int(d.Stride)
				if d.At == d.Size-1 {
					step -= int(d.Size * d.Stride)
				}
				require.Equal(t, weft.End{Node: weft.SwitchID(int(s.ID) + step).Node(), Port: p.Down(i)}, up, "%s %s", spec, s.Name)
			}
		}
		for _, n := range g.NICs {
			at, port := g.SwitchOf(n.ID)
			p := g.Place(at).Grid
			require.Equal(t, uint32(at), uint32(n.ID)/p.NICs)
			require.Equal(t, port, p.NICPort(n.ID))
		}
	}
}

func TestTreeConvention(t *testing.T) {
	for _, spec := range specs {
		g := parse(t, spec)
		if g.tree == nil {
			continue
		}
		for _, s := range g.Switches {
			tree := g.Place(s.ID).Tree
			require.Equal(t, s.Ports, tree.Down+tree.Ups(), spec)
			for j := range tree.Ups() {
				up, _, ok := g.Peer(weft.End{Node: s.ID.Node(), Port: tree.Up(j)})
				require.True(t, ok)
				above := g.Switches[up.Node.Index]
				require.Equal(t, s.Tier-1, above.Tier)
				require.Equal(t, j, above.Digits[s.Tier-1])
				require.Equal(t, weft.RoleUp, g.Place(s.ID).Roles[tree.Up(j)])
			}
			for _, n := range g.NICs {
				require.Equal(t, reachesDown(g, s, n), tree.HasDown(n.ID), "%s %s %s", spec, s.Name, n.Name)
				if tree.HasDown(n.ID) {
					require.Equal(t, n.ID.Node(), descend(t, g, s.ID, n.ID), "%s %s %s", spec, s.Name, n.Name)
				}
			}
		}
	}
}

// descend follows down ports to a NIC.
func descend(t *testing.T, g *Graph, at weft.SwitchID, d weft.NICID) weft.Node {
	for {
		tree := g.Place(at).Tree
		require.True(t, tree.HasDown(d))
		e, _, ok := g.Peer(weft.End{Node: at.Node(), Port: tree.DownPort(d)})
		require.True(t, ok)
		if !e.Node.IsSwitch() {
			require.True(t, tree.Leaf())
			return e.Node
		}
		at = weft.SwitchID(e.Node.Index)
	}
}

// reachesDown is the definition of hasDown: w_i = d_i for all i < l.
func reachesDown(g *Graph, s Switch, n NIC) bool {
	d := g.tree.digits(int(n.ID), g.tree.n)
	for i := range int(s.Tier) {
		if s.Digits[i] != d[i] {
			return false
		}
	}
	return true
}

// Arithmetic agrees with a search of the graph, and so does the table.
func TestDistance(t *testing.T) {
	for _, spec := range specs {
		g := parse(t, spec)
		all, row := g.Adjacency(nil), make([]int32, len(g.Switches))
		for _, a := range g.Switches {
			all.Distances(row, nil, int32(a.ID))
			for _, b := range g.Switches {
				require.Equal(t, int(row[b.ID]), g.SwitchDistance(a.ID, b.ID), "%s %s %s", spec, a.Name, b.Name)
			}
		}
	}
	large := parse(t, "irregular:5000,5000,1")
	require.Nil(t, large.table)
	require.Equal(t, large.SwitchDistance(17, 4711), large.SwitchDistance(4711, 17))
	g := parse(t, "kary-ntree:4,3")
	assert.Equal(t, 1, g.Distance(0, 3))
	assert.Equal(t, 3, g.Distance(0, 4))
	assert.Equal(t, 5, g.Distance(0, 16))
}

// Readers need no lock.
func TestConcurrentReaders(t *testing.T) {
	g := parse(t, "irregular:64,96,7")
	var wg sync.WaitGroup
	for r := range 8 {
		wg.Go(func() {
			for i := range g.NICs {
				_ = g.Distance(weft.NICID(i), weft.NICID((i*r)%len(g.NICs)))
				_ = g.Place(weft.SwitchID(i))
				_, _ = g.LinkByName(g.Links[i].Name)
			}
		})
	}
	wg.Wait()
}

func TestLookup(t *testing.T) {
	g := parse(t, "kary-ntree:4,3")
	s, err := g.SwitchByName("s1.03")
	require.NoError(t, err)
	assert.Equal(t, weft.SwitchID(19), s)
	n, err := g.NICByName("n030")
	require.NoError(t, err)
	assert.Equal(t, weft.NICID(12), n)
	for _, name := range []string{"s0.00-s1.10", "s1.10-s0.00", "s0.00:1-s1.10:4", "s1.10:4-s0.00"} {
		l, err := g.LinkByName(name)
		require.NoError(t, err, name)
		assert.Equal(t, "s0.00-s1.10", l.Name)
	}
	for i := range g.Links {
		l, err := g.LinkByName(g.Links[i].Name)
		require.NoError(t, err)
		require.Equal(t, g.Links[i], l)
	}
	l, err := g.LinkBetween("n030", "s2.03")
	require.NoError(t, err)
	assert.Equal(t, "s2.03-n030", l.Name)

	_, err = g.SwitchByName("s1.3")
	assert.EqualError(t, err,
		`unknown switch "s1.3": did you mean "s1.03"? known: s0.00, s0.01, s0.02, s0.03, s0.10, s0.11, s0.12, s0.13, ...`)
	_, err = g.SwitchByName("n030")
	assert.ErrorContains(t, err, `n030 is a NIC, not a switch`)
	_, err = g.NICByName("n03")
	assert.ErrorContains(t, err, `unknown NIC "n03": did you mean "n003"?`)
	_, err = g.LinkByName("s0.00-s1.1")
	assert.ErrorContains(t, err, `unknown link "s0.00-s1.1": did you mean "s0.00-s1.10"?`)
	_, err = g.LinkBetween("s0.00", "s1.99")
	assert.ErrorContains(t, err, `unknown switch or NIC "s1.99"`)
	_, err = g.LinkBetween("s0.00", "s1.10:x")
	assert.EqualError(t, err, `port of "s1.10:x": expected a number from 0 to 255, as in s1.10:0`)
	_, err = g.LinkBetween("s0.00", "s1.11")
	assert.EqualError(t, err, "s0.00 and s1.11 are not linked: s0.00 is linked to s1.00, s1.10, s1.20, s1.30")
}

func TestParallelLinks(t *testing.T) {
	end := func(s weft.SwitchID, p weft.PortID) weft.End { return weft.End{Node: s.Node(), Port: p} }
	g, err := New("two", []Switch{{Name: "leaf-1"}, {Name: "leaf-2", Ports: 8}, {Name: "s3"}}, nil, []Link{
		{A: end(1, 2), B: end(0, 4)}, {A: end(0, 1), B: end(1, 7)}, {A: end(2, 0), B: end(1, 0)},
	})
	require.NoError(t, err)
	assert.Equal(t, 5, g.Switches[0].Ports)
	assert.Equal(t, "leaf-1:4-leaf-2:2", g.Links[0].Name)
	assert.Equal(t, "leaf-1:1-leaf-2:7", g.Links[1].Name)
	assert.Equal(t, "leaf-2-s3", g.Links[2].Name)
	l, err := g.LinkByName("leaf-2:7-leaf-1:1")
	require.NoError(t, err)
	assert.Equal(t, weft.LinkID(1), l.ID)
	l, err = g.LinkBetween("leaf-1:4", "leaf-2")
	require.NoError(t, err)
	assert.Equal(t, weft.LinkID(0), l.ID)
	_, err = g.LinkBetween("leaf-1", "leaf-2")
	assert.EqualError(t, err, "2 links between leaf-1 and leaf-2: name one of them: leaf-1:1-leaf-2:7, leaf-1:4-leaf-2:2")
	_, err = g.LinkByName("leaf-1-leaf-2")
	assert.ErrorContains(t, err, "2 links between leaf-1 and leaf-2")
}

// A ring of a 2x2 torus has no second link around, and port 2i leads down, 2i+1 up in dimension i.
func TestGridPorts(t *testing.T) {
	g := parse(t, "torus:3x2,nics=2")
	at := func(name string, p weft.PortID) string {
		s, err := g.SwitchByName(name)
		require.NoError(t, err)
		e, _, ok := g.Peer(weft.End{Node: s.Node(), Port: p})
		if !ok {
			return "-"
		}
		return g.Name(e.Node)
	}
	got := []string{}
	for p := range weft.PortID(6) {
		got = append(got, at("s0.1", p))
	}
	assert.Equal(t, []string{"s2.1", "s1.1", "s0.0", "-", "n0.1.0", "n0.1.1"}, got)
	wrap, err := g.LinkByName("s2.1-s0.1")
	require.NoError(t, err)
	assert.Equal(t, "s0.1-s2.1", wrap.Name)
}

func TestKinds(t *testing.T) {
	lines := Kinds()
	assert.Len(t, lines, len(generators())+2)
	for _, l := range lines {
		assert.Equal(t, 1, strings.Count(l, "\t"), l)
	}
	for _, g := range generators() {
		_ = parse(t, g.example)
	}
}

func TestNoGraphOfTooFewLinksIsDrawnWithoutEnd(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	const spec = "irregular:500,525,1,method=uniform"
	_, err := Parse(spec)
	require.EqualError(t, err,
		spec+": no graph of 525 links that was drawn joins 500 switches: give more links, or leave method=uniform out")
}

func TestBadSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		"":                      `unknown topology "": known: kary-ntree, mport-tree, leaf-spine, mesh, torus, irregular, ring`,
		"kary-tree:4,3":         `unknown topology "kary-tree:4,3": did you mean "kary-ntree"? known: kary-ntree, mport-tree, leaf-spine, mesh, torus, irregular, ring`,
		"kary-ntree":            "kary-ntree: expected kary-ntree:k,n, as kary-ntree:4,3",
		"kary-ntree:4":          "kary-ntree:4: expected kary-ntree:k,n, as kary-ntree:4,3",
		"kary-ntree:4,x":        "kary-ntree:4,x: expected kary-ntree:k,n, as kary-ntree:4,3",
		"kary-ntree:4,-3":       "kary-ntree:4,-3: expected kary-ntree:k,n, as kary-ntree:4,3",
		"kary-ntree:4,3,nics=2": "kary-ntree:4,3,nics=2: expected kary-ntree:k,n, as kary-ntree:4,3",
		"kary-ntree:1,3": "kary-ntree:1,3: k = 1 and n = 3, expected k of at least 2 and n of at " +
			"least 1",
		"kary-ntree:2,0": "kary-ntree:2,0: k = 2 and n = 0, expected k of at least 2 and n of at " +
			"least 1",
		"kary-ntree:129,2": "kary-ntree:129,2: 258 ports on one switch, expected at most 256: topology " +
			"too large",
		"kary-ntree:2,17": "kary-ntree:2,17: 1114112 switches, expected at most 65536: topology too " +
			"large",
		"kary-ntree:2,2147483647": "kary-ntree:2,2147483647: more than 65536 switches: topology too large",
		"kary-ntree:2,2147483648": "kary-ntree:2,2147483648: 2147483648: topology too large",
		"mport-tree:7,2": "mport-tree:7,2: m = 7 and n = 2, expected an even m of at least 4 and n " +
			"of at least 1",
		"mport-tree:256,3": "mport-tree:256,3: 81920 switches, expected at most 65536: topology too large",
		"leaf-spine:4,8":   "leaf-spine:4,8: expected leaf-spine:SPINES,LEAVES,NICS, as leaf-spine:4,8,12",
		"leaf-spine:4,8,x": "leaf-spine:4,8,x: expected leaf-spine:SPINES,LEAVES,NICS, as " +
			"leaf-spine:4,8,12",
		"leaf-spine:4,8,12,nics=2": "leaf-spine:4,8,12,nics=2: expected leaf-spine:SPINES,LEAVES,NICS, as " +
			"leaf-spine:4,8,12",
		"leaf-spine:0,8,12": "leaf-spine:0,8,12: spines, leaves and NICs of each leaf are 0, 8 and 12, " +
			"expected at least 1, 2 and 1",
		"leaf-spine:4,1,12": "leaf-spine:4,1,12: spines, leaves and NICs of each leaf are 4, 1 and 12, " +
			"expected at least 1, 2 and 1",
		"leaf-spine:4,8,0": "leaf-spine:4,8,0: spines, leaves and NICs of each leaf are 4, 8 and 0, " +
			"expected at least 1, 2 and 1",
		"leaf-spine:4,257,1": "leaf-spine:4,257,1: 257 ports on one switch, expected at most 256: " +
			"topology too large",
		"leaf-spine:4,8,253": "leaf-spine:4,8,253: 257 ports on one switch, expected at most 256: " +
			"topology too large",
		"leaf-spine:200,256,1025": "leaf-spine:200,256,1025: 262400 NICs, expected at most 262144: topology " +
			"too large",
		"leaf-spine:65536,65536,1": "leaf-spine:65536,65536,1: 131072 switches, expected at most 65536: " +
			"topology too large",
		"leaf-spine:2147483647,2147483647,2": "leaf-spine:2147483647,2147483647,2: more than 65536 switches: topology " +
			"too large",
		"mesh:4x1": "mesh:4x1: dimension y has 1 switch, expected at least 2: leave it out, as " +
			"in mesh:4",
		"torus:1x4x1x5": "torus:1x4x1x5: dimension x has 1 switch, expected at least 2: leave it " +
			"out, as in torus:4x5",
		"torus:1": "torus:1: dimension x has 1 switch, expected at least 2: leave it out",
		"torus:4x4,wrap=xz": "torus:4x4,wrap=xz: wrap=xz, expected each dimension that goes around " +
			"once, of xy",
		"torus:4x4,wrap=xx": "torus:4x4,wrap=xx: wrap=xx, expected each dimension that goes around " +
			"once, of xy",
		"torus:4x4,wrap=": "torus:4x4,wrap=: expected torus:AxB[xC[xD]][,nics=N][,wrap=xyzw], as " +
			"torus:4x4x4",
		"torus:4x4,wrap=x,wrap=y": "torus:4x4,wrap=x,wrap=y: expected torus:AxB[xC[xD]][,nics=N][,wrap=xyzw], " +
			"as torus:4x4x4",
		"mesh:4x4,wrap=x": "mesh:4x4,wrap=x: wrap=x, but a mesh goes around nowhere: write " +
			"torus:4x4,wrap=x",
		"ring:8,wrap=x": "ring:8,wrap=x: expected ring:n[,nics=N], as ring:8",
		"irregular:8,12,1,wrap=x": "irregular:8,12,1,wrap=x: expected " +
			"irregular:switches,links,seed[,nics=N][,parallel=N][,method=tree|uniform], as irregular:16,32,1",
		"kary-ntree:4,3,wrap=x": "kary-ntree:4,3,wrap=x: expected kary-ntree:k,n, as kary-ntree:4,3",
		"mesh:4x":               "mesh:4x: expected mesh:AxB[xC[xD]][,nics=N], as mesh:8x8",
		"mesh:2x2x2x2x2":        "mesh:2x2x2x2x2: 5 dimensions, expected 1 to 4",
		"mesh:4x4,nics=0":       "mesh:4x4,nics=0: nics=0, expected 1 to 255",
		"mesh:4x4,nics=253": "mesh:4x4,nics=253: 257 ports on one switch, expected at most 256: " +
			"topology too large",
		"mesh:65536x65536x65536": "mesh:65536x65536x65536: more than 65536 switches: topology too large",
		"torus:0x4":              "torus:0x4: dimension x has no switch, expected at least 2",
		"torus:256x256,nics=5": "torus:256x256,nics=5: 327680 NICs, expected at most 262144: topology too " +
			"large",
		"ring:2":   "ring:2: 2 switches, expected at least 3: mesh:2 has two",
		"ring:3x3": "ring:3x3: expected ring:n[,nics=N], as ring:8",
		"irregular:8,12": "irregular:8,12: expected " +
			"irregular:switches,links,seed[,nics=N][,parallel=N][,method=tree|uniform], as irregular:16,32,1",
		"irregular:8,6,1": "irregular:8,6,1: 6 links between 8 switches, expected 7, to be connected, " +
			"to 28, the pairs and ports there are",
		"irregular:8,29,1": "irregular:8,29,1: 29 links between 8 switches, expected 7, to be " +
			"connected, to 28, the pairs and ports there are",
		"irregular:1,0,1": "irregular:1,0,1: 1 switches, expected at least 2",
		"irregular:300,38000,1": "irregular:300,38000,1: s2 would have 257 ports, expected at most 256: " +
			"take fewer links or another seed",
		"irregular:2147483647,1,1":     "irregular:2147483647,1,1: more than 65536 switches: topology too large",
		"irregular:8,2147483647,1":     "irregular:8,2147483647,1: more than 1048576 links: topology too large",
		"irregular:8,12,1,method=fair": `irregular:8,12,1,method=fair: unknown method "fair": known: tree, uniform`,
		"irregular:8,12,1,nics=2,nics=3": "irregular:8,12,1,nics=2,nics=3: expected " +
			"irregular:switches,links,seed[,nics=N][,parallel=N][,method=tree|uniform], as irregular:16,32,1",
		"irregular:8,28,1,parallel=64": "irregular:8,28,1,parallel=64: 28 links between 8 switches, expected 7, to " +
			"be connected, to 15, the pairs and ports there are",
		"irregular:8,28,1,parallel=300": "irregular:8,28,1,parallel=300: parallel=300, expected 1 to 255",
		"irregular:2049,2100,1,method=uniform": "irregular:2049,2100,1,method=uniform: 2049 switches by method=uniform, " +
			"expected at most 2048: leave the method out",
		"ring:8,parallel=2":    "ring:8,parallel=2: expected ring:n[,nics=N], as ring:8",
		"mesh:3x3,method=tree": "mesh:3x3,method=tree: expected mesh:AxB[xC[xD]][,nics=N], as mesh:8x8",
		"irregular:8,12,1,nics=2,3": "irregular:8,12,1,nics=2,3: expected " +
			"irregular:switches,links,seed[,nics=N][,parallel=N][,method=tree|uniform], as irregular:16,32,1",
	} {
		_, err := Parse(spec)
		assert.EqualError(t, err, want, spec)
	}
	_, err := Parse("no/such/file")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Parse("none.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Parse("kary-ntree:2,17")
	require.ErrorIs(t, err, ErrTooLarge)
}

// Any text gives a sound graph or an error, at once.
func FuzzGenerate(f *testing.F) {
	for _, s := range specs {
		f.Add(s)
	}
	f.Add("kary-ntree:99999999999999999999,2")
	f.Fuzz(func(t *testing.T, spec string) {
		g, err := Generate(spec)
		if err == nil && len(g.Links) < 5000 {
			require.NoError(t, g.Validate())
		}
	})
}
