package subnet

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// Sequence is the testing sequence D of a switch: the indices of its up ports in the order in which
// a U-turn tries them. It must be the same in all switches of a switch group (Corollary 1 of the
// fat-tree paper), or packets can wait for each other in a circle.
type Sequence func(place *weft.Place) []int

// The virtual layers of R^link_deterministic, VC1 and VC2 in Algorithm 1.
const (
	normalLayer  weft.VC = 0 // NL
	rerouteLayer weft.VC = 1 // ML
	layers               = 2
)

// Algorithm1 fills the forwarding tables of R^link_deterministic for a k-ary n-tree or an m-port
// tree: Algorithm 1 of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees,
// appendix B. D nil is the order of the up ports, in every switch. The balance that the paper
// leaves open is the default up port, the destination's digit. Other topologies, and a D that
// leaves a port out, are refused.
//
// Where the printed algorithm is silent or wrong we differ from it
// (docs/reference/routing/trees.md): sequence[0], the first port of D, is not the port numbered 0;
// the first U-turn does not go back by the port of arrival when that is first in D; and the entries
// of arrivals that cannot happen are filled in, so that a packet from anywhere finds one.
func Algorithm1(ctx context.Context, g *topology.Graph, d Sequence) (*tables.Tables, error) {
	ports := make([]int, len(g.Switches))
	for i, s := range g.Switches {
		t := g.Place(s.ID).Tree
		if t == nil {
			return nil, notATree("Algorithm 1 fills tables", g)
		}
		if err := wholeTree(g, s, t); err != nil {
			return nil, err
		}
		ports[i] = s.Ports
	}
	tables, err := tables.NewTables(layers, len(g.NICs), ports)
	if err != nil {
		return nil, err
	}
	for _, s := range g.Switches {
		if err := layered.Interrupted(ctx); err != nil {
			return nil, err
		}
		if err := fill(tables, g.Place(s.ID), len(g.NICs), d); err != nil {
			return nil, err
		}
		if err := rank(tables, g, s.ID); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// rank tells the switches above s their places in its testing sequence.
func rank(tables *tables.Tables, g *topology.Graph, s weft.SwitchID) error {
	for i, p := range tables.Sequence(s) {
		if up, _, ok := g.Peer(weft.End{Node: s.Node(), Port: p}); ok {
			if err := tables.SetRank(weft.SwitchID(up.Node.Index), i); err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeTree refuses a tree without one k, and one that was found in a file with links missing: the
// tables need a port for each.
func wholeTree(g *topology.Graph, s topology.Switch, t *weft.Tree) error {
	if t.K == 0 {
		return fmt.Errorf("the tables of Algorithm 1 are for trees with as many up ports at each tier as down ports, and "+
			"%s is none: take ftree", g.Spec)
	}
	missing := slices.Index(t.Ports, weft.NoPort)
	if missing < 0 || t.Leaf() && missing < t.Down && !slices.Contains(t.Ports[t.Down:], weft.NoPort) {
		return nil
	}
	what := "up"
	if missing < t.Down && !t.Leaf() {
		what = "down"
	}
	return fmt.Errorf("the tables of Algorithm 1 are for whole trees, and switch %s of %s lacks %s links: take ftree",
		s.Name, g.Spec, what)
}

// notATree is the error of what needs a tree.
func notATree(what string, g *topology.Graph) error {
	if err := g.NoTree(); err != nil {
		return fmt.Errorf("%s for trees only, and %s is none: %w", what, g.Spec, err)
	}
	return fmt.Errorf("%s for trees only, and %s is none: choose such a topology, as kary-ntree:4,3", what, g.Spec)
}

// fill is RouteDestination of Algorithm 1 for all destinations of one switch.
func fill(tables *tables.Tables, place *weft.Place, nics int, d Sequence) error {
	sequence, err := testingSequence(place, d)
	if err != nil {
		return err
	}
	if err := tables.SetSequence(place.Switch, sequence); err != nil {
		return err
	}
	t := place.Tree
	rows := make([]int, place.Ports()) // by the port dp of the algorithm, which alone tells the rows of a switch apart
	for p := range rows {
		row := downRow(place, weft.PortID(p))
		if t.UpIndex(weft.PortID(p)) >= 0 {
			row = upRow(place, weft.PortID(p), sequence)
		}
		if rows[p], err = tables.AddRow(place.Switch, row); err != nil {
			return err
		}
	}
	for dst := range weft.NICID(nics) {
		dp := t.DefaultUp(dst)
		if t.HasDown(dst) {
			dp = t.DownPort(dst)
		}
		if err := tables.Set(place.Switch, dst, rows[dp]); err != nil {
			return err
		}
	}
	return nil
}

// testingSequence is D as ports.
func testingSequence(place *weft.Place, d Sequence) ([]weft.PortID, error) {
	ups := place.Tree.Ups()
	order := make([]int, ups)
	for j := range order {
		order[j] = j
	}
	if d != nil {
		order = d(place)
	}
	if len(order) != ups {
		return nil, fmt.Errorf("testing sequence of switch %s has %d ports, it has %d up ports: name each once", place.Name,
			len(order), ups)
	}
	ports := make([]weft.PortID, ups)
	for i, j := range order {
		if j < 0 || j >= ups {
			return nil, fmt.Errorf("testing sequence of switch %s: no up port %d: its up ports are 0 to %d", place.Name, j,
				ups-1)
		}
		ports[i] = place.Tree.Up(j)
	}
	return ports, nil
}

// upRow is the row of destinations that are not below: up by dp, and U-turns for what came down.
func upRow(place *weft.Place, dp weft.PortID, sequence []weft.PortID) []tables.Hop {
	row := make([]tables.Hop, 0, place.Ports()*layers)
	for p := range weft.PortID(place.Ports()) {
		up := tables.Hop{Port: dp, VC: normalLayer}
		first, next := up, up
		if place.Tree.UpIndex(p) >= 0 {
			first = tables.Hop{Port: after(sequence, weft.NoPort, p), VC: rerouteLayer}
			next = tables.Hop{Port: after(sequence, p, p), VC: rerouteLayer}
		}
		row = append(row, first, next)
	}
	return row
}

// after is the port that follows p in D, or the first for NoPort, leaving out skip; NoPort when
// there is none.
func after(sequence []weft.PortID, p, skip weft.PortID) weft.PortID {
	found := p == weft.NoPort
	for _, q := range sequence {
		if found && q != skip {
			return q
		}
		found = found || q == p
	}
	return weft.NoPort
}

// downRow is the row of destinations below by dp.
func downRow(place *weft.Place, dp weft.PortID) []tables.Hop {
	row := make([]tables.Hop, 0, place.Ports()*layers)
	for p := range weft.PortID(place.Ports()) {
		ml := tables.Hop{Port: dp, VC: rerouteLayer} // after the U-turn, in the same switch group
		if place.Tree.UpIndex(p) >= 0 {
			ml.VC = normalLayer // below the tier of the fault: re-routing is finished
		}
		row = append(row, tables.Hop{Port: dp, VC: normalLayer}, ml)
	}
	return row
}
