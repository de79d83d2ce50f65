package tolerate

import (
	"context"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/work"
)

// Query is a torus or a mesh, the links in it that may die, and how much is done at once. Its
// methods are the drivers of this package: they have goroutines, and end soon after their context.
type Query struct {
	Graph   *topology.Graph
	Net     *direct.Net
	Region  string        // the name of the region, see [Region]
	Links   []weft.LinkID // those of the region
	Workers int           // goroutines; fewer than one are one
}

// NewQuery reads what is asked. Center is the name of a switch, or empty for that in the middle.
// The error is that of [direct.New], of the name or of [Region].
func NewQuery(g *topology.Graph, region, center string, workers int) (*Query, error) {
	net, err := direct.New(g)
	if err != nil {
		return nil, err
	}
	at := Middle(g)
	if center != "" {
		if at, err = g.SwitchByName(center); err != nil {
			return nil, err
		}
	}
	links, err := Region(g, region, at)
	return &Query{Graph: g, Net: net, Region: region, Links: links, Workers: workers}, err
}

// solve finds the ways around a set of dead links; nil when the context ended first.
func (q *Query) solve(ctx context.Context, m direct.Mechanisms, dead []weft.LinkID) *direct.Solution {
	return q.Net.Solve(m, func(l *topology.Link) bool { return slices.Contains(dead, l.ID) },
		func(n int, run func(int)) bool {
			return work.Each(ctx, max(1, q.Workers), n, func(_, i int) { run(i) })
		})
}

// ExampleResult is a set that is not tolerated.
type ExampleResult struct {
	Links      []string `json:"links"`
	Src        string   `json:"src"` // of the first pair without a way
	Dst        string   `json:"dst"`
	Unroutable int      `json:"unroutable_pairs"`
}

// example names a set: its links, and the pairs without a way. That is soon done, so nothing
// interrupts it.
func (q *Query) example(m direct.Mechanisms, dead []weft.LinkID) *ExampleResult {
	s := q.solve(context.Background(), m, dead)
	e := &ExampleResult{Links: q.names(dead), Unroutable: len(s.Unroutable)}
	if len(s.Unroutable) > 0 {
		pair := q.pair(s.Unroutable[0])
		e.Src, e.Dst = pair[0], pair[1]
	}
	return e
}

// names are the names of links, ascending by id.
func (q *Query) names(dead []weft.LinkID) (names []string) {
	for _, l := range slices.Sorted(slices.Values(dead)) {
		names = append(names, q.Graph.Links[l].Name)
	}
	return names
}

func (q *Query) pair(p direct.Pair) [2]string {
	return [2]string{q.Graph.Name(p.Src.Node()), q.Graph.Name(p.Dst.Node())}
}
