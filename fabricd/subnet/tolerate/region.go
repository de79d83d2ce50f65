package tolerate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Whole is the region of all links between switches, and Distance begins the name of one around a
// switch: "distance-1".
const (
	Whole    = "all"
	distance = "distance-"
)

// RegionNames are the regions that Region knows, for whoever lists them.
var RegionNames = []string{Whole, distance + "1"}

// Region are the links that may die: all between switches, or those of the switches that are at
// most so many links from a switch, the center (section 5.1.1 and figure 7 of the paper: all the
// links of the nodes that are one hop away). In a torus it does not matter which switch that is.
func Region(g *topology.Graph, name string, center weft.SwitchID) ([]weft.LinkID, error) {
	if name == "" || name == Whole {
		return Links(g), nil
	}
	text, ok := strings.CutPrefix(name, distance)
	far, err := strconv.Atoi(text)
	if !ok || err != nil || far < 0 {
		return nil, document.Unknown("region", name, RegionNames)
	}
	if int(center) >= len(g.Switches) {
		return nil, fmt.Errorf("region %s around switch %d: %s has %d", name, center, g.Spec, len(g.Switches))
	}
	all, dist := g.Adjacency(nil), make([]int32, len(g.Switches))
	all.Distances(dist, nil, int32(center))
	near := func(end weft.End) bool { n := int(dist[end.Node.Index]); return n >= 0 && n <= far }
	return slices.DeleteFunc(Links(g), func(l weft.LinkID) bool { return !near(g.Links[l].A) && !near(g.Links[l].B) }), nil
}

// Middle is the switch in the middle of a mesh or a torus, as good a center as any in a torus.
func Middle(g *topology.Graph) weft.SwitchID {
	id := 0
	for _, d := range g.Place(0).Grid.Dims {
		id += int(d.Size/2) * int(d.Stride)
	}
	return weft.SwitchID(id)
}
