package verify_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

// scrambled is a graph as a file has it that knows nothing of how it was made: switches, NICs and
// links are in another order and have other names and ports, and what gone says is missing.
func scrambled(t *testing.T, g *topology.Graph, r *rand.Rand, gone map[string]bool) (*topology.Graph, error) {
	t.Helper()
	var switches []topology.Switch
	var nics []topology.NIC
	var links []topology.Link
	at, ports := make([]weft.SwitchID, len(g.Switches)), make([][]int, len(g.Switches))
	for _, i := range r.Perm(len(g.Switches)) {
		if s := g.Switches[i]; !gone[s.Name] {
			at[i], ports[i] = weft.SwitchID(len(switches)), r.Perm(s.Ports)
			switches = append(switches, topology.Switch{Name: fmt.Sprintf("sw-%d", len(switches)), Ports: s.Ports})
		}
	}
	hangs := func(e weft.End) bool {
		if !e.Node.IsSwitch() {
			s, _ := g.SwitchOf(weft.NICID(e.Node.Index))
			return !gone[g.Switches[s].Name] && !gone[g.Name(e.Node)]
		}
		return !gone[g.Name(e.Node)]
	}
	nicAt := make([]weft.NICID, len(g.NICs))
	for _, i := range r.Perm(len(g.NICs)) {
		if hangs(weft.End{Node: weft.NICID(i).Node()}) {
			nicAt[i] = weft.NICID(len(nics))
			nics = append(nics, topology.NIC{Name: fmt.Sprintf("host-%d", len(nics))})
		}
	}
	end := func(e weft.End) weft.End {
		if e.Node.IsSwitch() {
			return weft.End{Node: at[e.Node.Index].Node(), Port: weft.PortID(ports[e.Node.Index][e.Port])}
		}
		return weft.End{Node: nicAt[e.Node.Index].Node()}
	}
	for _, i := range r.Perm(len(g.Links)) {
		if l := g.Links[i]; !gone[l.Name] && hangs(l.A) && hangs(l.B) {
			links = append(links, topology.Link{A: end(l.A), B: end(l.B)})
		}
	}
	return topology.New("scrambled", switches, nics, links)
}

// throughFiles writes a graph in each format, reads it, and sees that the same tree is found.
func throughFiles(t *testing.T, g *topology.Graph) *topology.Graph {
	t.Helper()
	formats := map[string]func(*bytes.Buffer) error{
		"f.yaml": func(b *bytes.Buffer) error { return g.WriteYAML(b) },
		"f.json": func(b *bytes.Buffer) error { return g.WriteJSON(b) },
		"f.net":  func(b *bytes.Buffer) error { return g.WriteIBNet(b) },
	}
	var last *topology.Graph
	for name, write := range formats {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		again, err := topology.Load(name, b.Bytes())
		require.NoError(t, err, name)
		require.NoError(t, again.NoTree(), name)
		require.Equal(t, g.Switches, again.Switches, name)
		last = again
	}
	return last
}

// connects runs each firmware for trees that takes the graph, without faults and with each single
// fault that it bears.
func connects(t *testing.T, what string, g *topology.Graph, faults bool) (took []string) {
	t.Helper()
	for _, e := range subnet.Entries() {
		if e.On != firmware.Trees {
			continue
		}
		fw, vcs, err := e.New(t.Context(), g)
		if err != nil {
			assert.ErrorContains(t, err, e.Name, "%s: a firmware that cannot names itself", what)
			continue
		}
		if subnet.LeastVCs(fw, g) == 0 {
			continue // its Check says why; source-routed is one
		}
		took = append(took, e.Name)
		sets := []verify.Sets{{}}
		if faults && e.Tolerance.Most(g.Place(0).Tree.K) > 0 && e.Tolerance.Links {
			sets = append(sets, verify.Sets{Min: 1, Max: 1, Kind: verify.Links})
		}
		for _, s := range sets {
			res, err := verify.Run(t.Context(), verify.Config{Graph: g, Firmware: fw, Name: e.Name, VCs: vcs, Sets: s})
			require.NoError(t, err, "%s: %s", what, e.Name)
			assert.True(t, res.Pass, "%s: %s with %d faults: %+v", what, e.Name, s.Max, res)
			assert.Zero(t, res.Unconnected, "%s: %s", what, e.Name)
		}
	}
	return took
}

// Leaves with more NICs than up ports or fewer, and fewer leaves than spines: every firmware for
// trees routes them, and bears each single dead link if it says that it bears one.
func TestEveryFirmwareForTreesRoutesLeafSpineFabrics(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	all := 0
	for _, e := range subnet.Entries() {
		if e.On == firmware.Trees {
			all++
		}
	}
	for _, spec := range []string{"leaf-spine:4,4,4", "leaf-spine:2,5,3", "leaf-spine:4,2,1", "leaf-spine:1,3,2"} {
		g := topologytest.Parse(t, spec)
		assert.Equal(t, "adaptive-link", subnet.Default(g), spec)
		assert.Len(t, connects(t, spec, g, true), all, spec)
	}
}

// A tree in a file is found by its links alone, whatever its switches, NICs and ports are called,
// and every firmware for trees routes it as it routes the generated one.
func TestTreesInFilesAreFoundAndRouted(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for i, spec := range []string{
		"kary-ntree:2,2", "kary-ntree:3,2", "mport-tree:4,2", "kary-ntree:2,3",
		"mport-tree:4,3", "kary-ntree:2,4",
	} {
		whole := topologytest.Parse(t, spec)
		g, err := scrambled(t, whole, rand.New(rand.NewPCG(uint64(i), 1)), nil)
		require.NoError(t, err)
		require.NoError(t, g.NoTree(), spec)
		g = throughFiles(t, g)
		want, is := whole.Place(0).Tree, g.Place(0).Tree
		assert.Equal(t, []any{want.K, want.N, want.Radix}, []any{is.K, is.N, is.Radix}, spec)
		assert.Equal(t, "adaptive-link", subnet.Default(g), spec)
		took := connects(t, spec, g, true)
		all := 0
		for _, e := range subnet.Entries() {
			if fw, _, err := e.New(t.Context(), whole); e.On == firmware.Trees && err == nil && subnet.LeastVCs(fw, whole) > 0 {
				all++
			}
		}
		assert.GreaterOrEqual(t, len(took), all-1, "%s: all but source-routed", spec)
	}
}

// Trees that lack links, switches and NICs are trees: firmwares go around what is missing as they
// go around what is dead.
func TestTreesWithoutSomeSwitchesAndLinksAreFoundAndRouted(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for seed := range uint64(testenv.Levels(40, 20, 20)) {
		r := rand.New(rand.NewPCG(seed, 2))
		spec := []string{"kary-ntree:3,2", "mport-tree:6,2", "kary-ntree:3,3", "mport-tree:4,3"}[seed%4]
		whole := topologytest.Parse(t, spec)
		var links, inner, leaves []string
		for _, l := range whole.Links {
			if l.BetweenSwitches() {
				links = append(links, l.Name)
			}
		}
		for _, s := range whole.Switches {
			if int(s.Tier) < whole.Tiers-1 {
				inner = append(inner, s.Name)
			} else {
				leaves = append(leaves, s.Name)
			}
		}
		pick := func(of []string) string { return of[r.IntN(len(of))] }
		kind := seed / 4 % 5
		gone := map[string]bool{}
		switch kind {
		case 0, 1:
			gone[pick(links)] = true
		case 2:
			gone[pick(inner)] = true
		case 3:
			gone[pick(leaves)] = true
		case 4:
			gone[whole.NICs[r.IntN(len(whole.NICs))].Name] = true
		}
		what := fmt.Sprint(spec, " without ", gone)
		g, err := scrambled(t, whole, r, gone)
		require.NoError(t, err, what)
		require.NoError(t, g.NoTree(), what)
		g = throughFiles(t, g)
		k := whole.Place(0).Tree.K
		oneK := g.Place(0).Tree.K == k
		require.True(t, oneK || kind == 2 && whole.Tiers == 2,
			"%s: only where no leaf has a link left to its place is a switch of the top unknown", what)
		routed := 0
		for _, e := range subnet.Entries() {
			if e.On != firmware.Trees {
				continue
			}
			fw, vcs, err := e.New(t.Context(), g)
			if err != nil {
				assert.ErrorContains(t, err, e.Name, what)
				continue
			}
			if subnet.LeastVCs(fw, g) == 0 {
				continue
			}
			res, err := verify.Run(t.Context(), verify.Config{Graph: g, Firmware: fw, Name: e.Name, VCs: vcs})
			require.NoError(t, err, "%s: %s", what, e.Name)
			bears := e.Tolerance.Most(k) >= 1 && (kind < 2 && e.Tolerance.Links || kind == 2 && e.Tolerance.Switches)
			if bears || kind > 2 || e.Name == "ftree" || e.Name == subnet.Default(g) {
				routed++
				assert.True(t, res.Pass && res.Unconnected == 0, "%s: %s: %+v", what, e.Name, res)
			}
		}
		assert.GreaterOrEqual(t, routed, map[bool]int{true: 7, false: 1}[oneK], what)
	}
}

// radixTree makes a tree whose tiers have so many down ports and, below the top, up ports.
func radixTree(t *testing.T, down, up []int) *topology.Graph {
	t.Helper()
	n := len(down)
	var switches []topology.Switch
	var nics []topology.NIC
	var links []topology.Link
	at := map[string]weft.SwitchID{}
	key := func(l int, w []int) string { return fmt.Sprint(l, w) }
	var each func(l int, w []int, visit func(w []int))
	each = func(l int, w []int, visit func(w []int)) {
		if len(w) == n-1 {
			visit(w)
			return
		}
		radix := up[len(w)+1]
		if len(w) < l {
			radix = down[len(w)]
		}
		for v := range radix {
			each(l, append(w[:len(w):len(w)], v), visit)
		}
	}
	for l := range n {
		each(l, nil, func(w []int) {
			id := weft.SwitchID(len(switches))
			at[key(l, w)] = id
			switches = append(switches, topology.Switch{Name: fmt.Sprintf("x%d", id)})
			if l > 0 {
				for j := range up[l] {
					above := append([]int(nil), w...)
					above[l-1] = j
					links = append(links, topology.Link{
						A: weft.End{Node: at[key(l-1, above)].Node(), Port: weft.PortID(w[l-1])},
						B: weft.End{Node: id.Node(), Port: weft.PortID(down[l] + j)},
					})
				}
			}
			if l == n-1 {
				for j := range down[l] {
					nics = append(nics, topology.NIC{Name: fmt.Sprintf("y%d", len(nics))})
					links = append(links,
						topology.Link{
							A: weft.End{Node: id.Node(), Port: weft.PortID(j)},
							B: weft.End{Node: weft.NICID(len(nics) - 1).Node()},
						})
				}
			}
		})
	}
	g, err := topology.New("radix", switches, nics, links)
	require.NoError(t, err)
	return g
}

// In trees with tiers of different radix updown and ftree route, and the firmwares that need one k
// say so.
func TestTreesOfDifferentRadixAreRoutedByWhatCan(t *testing.T) {
	t.Parallel()
	for i, c := range []struct{ down, up []int }{
		{[]int{5, 4}, []int{0, 3}},
		{[]int{2, 3, 4}, []int{0, 2, 3}},
		{[]int{4, 2, 3}, []int{0, 3, 2}},
		{[]int{2, 2, 2, 3}, []int{0, 1, 2, 2}},
	} {
		made := radixTree(t, c.down, c.up)
		g, err := scrambled(t, made, rand.New(rand.NewPCG(uint64(i), 3)), nil)
		require.NoError(t, err)
		require.NoError(t, g.NoTree(), "%v", c)
		g = throughFiles(t, g)
		tree := g.Place(0).Tree
		assert.Equal(t, c.down, tree.Radix)
		assert.Zero(t, tree.K)
		assert.Equal(t, "ftree", subnet.Default(g))
		took := connects(t, fmt.Sprint(c), g, false)
		assert.Subset(t, took, []string{"updown", "ftree"})
		assert.Len(t, took, 3, "and ddrc-source, whose ways are those of ftree: %v", took)
		fw := firmware.AdaptiveLink{}.Firmware()
		assert.ErrorContains(t, fw.Fits(g.Place(0), 1),
			"firmware adaptive-link routes trees with as many up ports at each tier as down ports")
	}
}
