package topology

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// closure is the links from each switch to each by the rows of Floyd and Warshall; far where none
// lead.
func closure(g *Graph, open func(*Link) bool) [][]int32 {
	d := make([][]int32, len(g.Switches))
	for a := range d {
		d[a] = make([]int32, len(d))
		for b := range d {
			if a != b {
				d[a][b] = far
			}
		}
	}
	for i := range g.Links {
		if l := &g.Links[i]; l.BetweenSwitches() && open(l) {
			a, b := l.A.Node.Index, l.B.Node.Index
			d[a][b], d[b][a] = 1, 1
		}
	}
	for via := range d {
		for a := range d {
			for b := range d {
				d[a][b] = min(d[a][b], d[a][via]+d[via][b])
			}
		}
	}
	return d
}

const far = 1 << 20

// Distances and components are those of Floyd and Warshall, whether links are left out of the graph
// or dead in the question.
func TestAdjacencyAgreesWithFloydAndWarshall(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"kary-ntree:2,3", "torus:4x3", "ring:6", "irregular:24,30,7",
		"irregular:24,26,3,parallel=2",
	} {
		g := parse(t, spec)
		for _, keep := range []int{1, 2, 3, 100} { // of so many links one is dead
			open := func(l *Link) bool { return int(l.ID)%keep != keep-1 || keep == 100 }
			want := closure(g, open)
			all, left := g.Adjacency(nil), g.Adjacency(open)
			dead := make([]bool, len(all.To))
			for i, l := range all.Link {
				dead[i] = !open(&g.Links[l])
				end, link, _ := g.Peer(all.End(int32(i)))
				require.Equal(t, weft.SwitchID(all.To[i]).Node(), end.Node)
				require.Equal(t, l, link)
			}
			of, count := left.Components(nil)
			again, same := all.Components(dead)
			require.Equal(t, of, again)
			require.Equal(t, count, same)
			dist, next := make([]int32, len(of)), 0
			var order []int32
			for s := range of {
				if of[s] == next { // the lowest of its component
					next++
				}
				require.Less(t, of[s], next)
				from := []int32{int32(s), 0}[:min(s+1, 2)]
				order = left.Distances(dist, order, from...)
				for i, to := range order[1:] {
					require.LessOrEqual(t, dist[order[i]], dist[to])
				}
				reached := 0
				for to := range of {
					links := min(want[s][to], want[0][to])
					if links == far {
						links = -1
					} else {
						reached++
					}
					require.Equal(t, links, dist[to], "%s: from %d and 0 to %d", spec, s, to)
					require.Equal(t, want[s][to] < far, of[s] == of[to])
				}
				require.Len(t, order, reached)
			}
			require.Equal(t, count, next)
		}
	}
}
