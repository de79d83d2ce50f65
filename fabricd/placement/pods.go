package placement

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Pod is switches that belong together, for those who look at a large fabric from afar.
type Pod struct {
	Name     string
	Switches []weft.SwitchID // ascending
}

// Pods shares all switches out: of a tree what hangs together below some tier, and above it what
// hangs together or leads to the same switches; of a mesh, torus or ring blocks; of others parts
// with few links between them. Of the ways to do so it is that in which the number of pods and the
// switches of the largest are least together. The order is that of the first switch of each kind of
// pod.
func Pods(g *topology.Graph) []Pod {
	var best []Pod
	consider := func(pods []Pod) {
		if best == nil || seen(pods) < seen(best) {
			best = pods
		}
	}
	switch {
	case g.Tiers > 1:
		for t := 1; t < g.Tiers; t++ {
			consider(tierPods(g, weft.Tier(t)))
		}
	case g.Tiers == 0 && len(g.Switches) > 0 && len(g.Switches[0].Coord) > 0:
		for edge := 1; edge <= len(g.Switches); edge *= 2 {
			for _, e := range []int{edge, edge + edge/2} {
				consider(blocks(g, e))
			}
		}
	default:
		consider(parts(g))
	}
	return best
}

// seen is how many things are on a screen with all pods, one of which is open.
func seen(pods []Pod) int {
	largest := 0
	for _, p := range pods {
		largest = max(largest, len(p.Switches))
	}
	return len(pods) + largest
}

// gather makes pods of the switches with the same key; in order of their first switch.
func gather[K comparable](g *topology.Graph, name func(n int, k K) string,
	key func(weft.SwitchID) (k K, ok bool),
) (pods []Pod) {
	number := map[K]int{}
	for s := range g.Switches {
		id := weft.SwitchID(s)
		k, ok := key(id)
		if !ok {
			continue
		}
		n, known := number[k]
		if !known {
			n = len(pods)
			number[k] = n
			pods = append(pods, Pod{Name: name(n, k)})
		}
		pods[n].Switches = append(pods[n].Switches, id)
	}
	return pods
}

// tierPods cuts a tree above tier t.
func tierPods(g *topology.Graph, t weft.Tier) []Pod {
	above := func(s weft.SwitchID) bool { return g.Switches[s].Tier < t }
	below, _ := components(g, above)
	bottom := gather(g, func(n int, _ int) string { return fmt.Sprintf("pod%d", n) },
		func(s weft.SwitchID) (int, bool) { return below[s], !above(s) })
	upper, _ := components(g, func(s weft.SwitchID) bool { return !above(s) })
	down := make([][]int, len(g.Switches)) // of the highest tier alone, to which switches it leads
	if t == 1 {
		for _, l := range g.Links {
			if l.BetweenSwitches() && above(weft.SwitchID(l.A.Node.Index)) {
				down[l.A.Node.Index] = append(down[l.A.Node.Index], int(l.B.Node.Index))
			}
		}
	}
	top := gather(g, func(n int, _ string) string { return fmt.Sprintf("top%d", n) },
		func(s weft.SwitchID) (string, bool) {
			if t > 1 {
				return fmt.Sprint(upper[s]), above(s)
			}
			slices.Sort(down[s])
			return fmt.Sprint(down[s]), above(s)
		})
	return append(bottom, top...)
}

// blocks are of so many switches along each dimension, or one less.
func blocks(g *topology.Graph, edge int) []Pod {
	size := make([]int, len(g.Switches[0].Coord))
	for _, s := range g.Switches {
		for d, x := range s.Coord {
			size[d] = max(size[d], x+1)
		}
	}
	return gather(g, func(_ int, k string) string { return "block" + k },
		func(s weft.SwitchID) (string, bool) {
			var at []string
			for d, x := range g.Switches[s].Coord {
				at = append(at, fmt.Sprint(x*ceil(size[d], edge)/size[d]))
			}
			return strings.Join(at, "."), true
		})
}

// parts divides any graph as it would be over so many agents.
func parts(g *topology.Graph) []Pod {
	n := switchNet(g)
	agents := make([]Agent, max(1, int(math.Sqrt(float64(len(g.Switches))))))
	for i := range agents {
		agents[i].Ports = unbounded
	}
	of := divide(n, shares(n.total(), n.heaviest(), agents)).of
	return gather(g, func(n int, _ int) string { return fmt.Sprintf("part%d", n) },
		func(s weft.SwitchID) (int, bool) { return of[s], true })
}
