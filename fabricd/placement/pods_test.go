package placement

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func TestPods(t *testing.T) {
	for _, c := range []struct {
		spec        string
		pods        int
		first, last string
		sizes       []int // that there are, ascending
	}{
		{"kary-ntree:4,2", 5, "pod0", "top0", []int{1, 4}},
		{"kary-ntree:4,3", 8, "pod0", "top3", []int{4, 8}},
		{"mport-tree:8,3", 12, "pod0", "top3", []int{4, 8}},
		{"mport-tree:16,3", 24, "pod0", "top7", []int{8, 16}},
		{"mport-tree:36,3", 54, "pod0", "top17", []int{18, 36}},
		{"kary-ntree:4,4", 32, "pod0", "top15", []int{8}},
		{"mesh:6x4", 6, "block0.0", "block2.1", []int{4}},
		{"mesh:32x32", 36, "block0.0", "block5.5", []int{25, 30, 36}},
		{"torus:8x8x8", 27, "block0.0.0", "block2.2.2", []int{8, 12, 18, 27}},
		{"torus:16x16x16", 64, "block0.0.0", "block3.3.3", []int{64}},
		{"ring:9", 3, "block0", "block2", []int{3}},
	} {
		t.Run(c.spec, func(t *testing.T) {
			g := topologytest.Parse(t, c.spec)
			pods := Pods(g)
			require.Len(t, pods, c.pods)
			require.Equal(t, c.first, pods[0].Name)
			require.Equal(t, c.last, pods[len(pods)-1].Name)
			requireAll(t, g, pods)
			var sizes []int
			for _, p := range pods {
				sizes = append(sizes, len(p.Switches))
			}
			slices.Sort(sizes)
			require.Equal(t, c.sizes, slices.Compact(sizes))
			require.Equal(t, pods, Pods(g))
		})
	}
}

func TestPodsOfAnyGraph(t *testing.T) {
	for _, spec := range []string{"irregular:64,160,1", "irregular:300,600,1"} {
		g := topologytest.Parse(t, spec)
		pods := Pods(g)
		requireAll(t, g, pods)
		inside, podOf := 0, map[uint32]int{}
		for i, p := range pods {
			for _, s := range p.Switches {
				podOf[uint32(s)] = i
			}
		}
		for _, l := range g.Links {
			if l.BetweenSwitches() && podOf[l.A.Node.Index] == podOf[l.B.Node.Index] {
				inside++
			}
		}
		between := len(g.Links) - len(g.NICs)
		require.Greater(t, inside*len(pods), between, "%s: %d of %d links inside of %d pods: less than by chance", spec,
			inside, between, len(pods))
	}
}

// requireAll wants every switch in one pod, in order.
func requireAll(t *testing.T, g *topology.Graph, pods []Pod) {
	t.Helper()
	seen := make([]int, len(g.Switches))
	for _, p := range pods {
		require.NotEmpty(t, p.Switches)
		require.True(t, slices.IsSorted(p.Switches))
		for _, s := range p.Switches {
			seen[s]++
		}
	}
	for s, n := range seen {
		require.Equal(t, 1, n, "switch %d", s)
	}
}
