package tolerate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// naive are ways found by walking: all shortest paths of a pair, or the one of dimension order.
// Where both ways round are as short, that up.
type naive struct {
	g          *topology.Graph
	fixed      bool
	most       int
	all, short [][]path // by source; short: all shortest paths
	dead       map[weft.LinkID]bool
}

func newNaive(g *topology.Graph, fixed bool, most int) *naive {
	n := &naive{g: g, fixed: fixed, most: most}
	shortest := &naive{g: g, most: 1}
	for s := range g.Switches {
		n.all = append(n.all, n.walked(weft.SwitchID(s)))
		n.short = append(n.short, shortest.walked(weft.SwitchID(s)))
	}
	return n
}

func (n *naive) Most() int { return n.most }

func (n *naive) Segments(src weft.SwitchID, yield func(direct.Segment) bool) {
	for _, p := range n.all[src] {
		if !yield(direct.Segment{Src: src, Dst: p.to, Links: p.links}) {
			return
		}
	}
}

// path is a sub-path.
type path struct {
	to    weft.SwitchID
	links []weft.LinkID
}

func (n *naive) walked(from weft.SwitchID) (list []path) {
	for d := range n.g.Switches {
		if weft.SwitchID(d) != from {
			set := map[weft.LinkID]bool{}
			n.walk(from, weft.SwitchID(d), set)
			p := path{to: weft.SwitchID(d)}
			for l := range set {
				p.links = append(p.links, l)
			}
			list = append(list, p)
		}
	}
	return list
}

func (n *naive) walk(at, to weft.SwitchID, set map[weft.LinkID]bool) {
	for i, d := range n.g.Place(at).Grid.Dims {
		goal := n.g.Place(to).Grid.Dims[i].At
		if d.At == goal {
			continue
		}
		grid := n.g.Place(at).Grid
		up, down := (goal+d.Size-d.At)%d.Size, (d.At+d.Size-goal)%d.Size
		if !grid.Around(i) {
			up, down = d.Size, d.Size
			if goal > d.At {
				up = goal - d.At
			} else {
				down = d.At - goal
			}
		}
		step := func(p weft.PortID) {
			end, l, _ := n.g.Peer(weft.End{Node: at.Node(), Port: p})
			set[l] = true
			n.walk(weft.SwitchID(end.Node.Index), to, set)
		}
		if up <= down {
			step(grid.Up(i))
		}
		if down < up || down == up && !n.fixed {
			step(grid.Down(i))
		}
		if n.fixed {
			return
		}
	}
}

// open reports which pairs have a way of at most so many sub-paths that meets no dead link.
func open(sub [][]path, most int, dead map[weft.LinkID]bool) (ways [][]bool) {
	size := len(sub)
	one := make([][]bool, size)
	for s := range size {
		one[s] = make([]bool, size)
		for _, p := range sub[s] {
			alive := !slices.ContainsFunc(p.links, func(l weft.LinkID) bool { return dead[l] })
			one[s][p.to] = one[s][p.to] || alive
		}
	}
	ways = one
	for range most - 1 {
		next := make([][]bool, size)
		for s := range size {
			next[s] = slices.Clone(ways[s])
			for m := range size {
				for d := range size {
					next[s][d] = next[s][d] || ways[s][m] && one[m][d]
				}
			}
		}
		ways = next
	}
	return ways
}

// joined are the pairs that live links join.
func joined(g *topology.Graph, dead map[weft.LinkID]bool) [][]bool {
	near := make([][]bool, len(g.Switches))
	for s := range near {
		near[s] = make([]bool, len(near))
		near[s][s] = true
		for queue := []int{s}; len(queue) > 0; queue = queue[1:] {
			for _, l := range g.Links {
				if !l.BetweenSwitches() || dead[l.ID] {
					continue
				}
				for _, e := range [][2]uint32{{l.A.Node.Index, l.B.Node.Index}, {l.B.Node.Index, l.A.Node.Index}} {
					if int(e[0]) == queue[0] && !near[s][e[1]] {
						near[s][e[1]] = true
						queue = append(queue, int(e[1]))
					}
				}
			}
		}
	}
	return near
}

// Set and Count are the naive rule as a judge.
func (n *naive) Set(dead []weft.LinkID) {
	n.dead = map[weft.LinkID]bool{}
	for _, l := range dead {
		n.dead[l] = true
	}
}

func (n *naive) Count(v *direct.Counts) {
	*v = direct.Counts{}
	set := n.dead
	ways, joins, shortest := open(n.all, n.most, set), joined(n.g, set), open(n.short, 1, set)
	for s := range ways {
		for d := range ways {
			switch {
			case s == d:
			case !joins[s][d]:
				v.Excused++
			case shortest[s][d]:
			default:
				v.Affected++
				if ways[s][d] {
					v.By[0]++
				} else {
					v.NoWay++
				}
			}
		}
	}
}

func netOf(t testing.TB, spec string) *direct.Net {
	t.Helper()
	n, err := direct.New(topologytest.Parse(t, spec))
	require.NoError(t, err)
	return n
}

func mechanisms(t testing.TB, text string) direct.Mechanisms {
	t.Helper()
	m, err := direct.Parse(text)
	require.NoError(t, err)
	return m
}
