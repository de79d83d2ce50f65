package capture

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Wire is one direction of a link that is captured.
type Wire struct {
	Link weft.LinkID
	BtoA bool // else A to B
	From weft.End
	Name string // as s0.00->s1.00; ports are in it where the link's name has them
}

// Wires are the directions that names stand for: links, by name or by their two ends, and nodes,
// for all their links. No name is all links. Each direction comes once, in the order of the
// topology.
func Wires(g *topology.Graph, names ...string) ([]Wire, error) {
	want := map[weft.LinkID]bool{}
	var errs []error
	for i := 0; i < len(names); i++ {
		if n, err := g.NodeByName(names[i]); err == nil {
			// Two nodes that are linked are the link between them, as everywhere.
			if i+1 < len(names) {
				if l, err := g.LinkBetween(names[i], names[i+1]); err == nil {
					want[l.ID] = true
					i++
					continue
				}
			}
			for _, l := range g.Links {
				want[l.ID] = want[l.ID] || l.A.Node == n || l.B.Node == n
			}
			continue
		}
		l, err := g.LinkByName(names[i])
		if err != nil {
			errs = append(errs, unknown(g, names[i], err))
			continue
		}
		want[l.ID] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var wires []Wire
	for _, l := range g.Links {
		if len(names) == 0 || want[l.ID] {
			wires = append(wires,
				Wire{Link: l.ID, From: l.A, Name: wireName(g, l, l.A, l.B)},
				Wire{Link: l.ID, BtoA: true, From: l.B, Name: wireName(g, l, l.B, l.A)})
		}
	}
	return wires, nil
}

// unknown is the error about a name that is neither a link nor a node.
func unknown(g *topology.Graph, name string, asLink error) error {
	if strings.Contains(name, "-") {
		return asLink
	}
	var nodes []string
	for _, s := range g.Switches {
		nodes = append(nodes, s.Name)
	}
	for _, n := range g.NICs {
		nodes = append(nodes, n.Name)
	}
	return document.Unknown("link or node", name, nodes)
}

func wireName(g *topology.Graph, l topology.Link, from, to weft.End) string {
	if strings.Contains(l.Name, ":") { // one of several between the same nodes
		return fmt.Sprintf("%s:%d->%s:%d", g.Name(from.Node), from.Port, g.Name(to.Node), to.Port)
	}
	return g.Name(from.Node) + "->" + g.Name(to.Node)
}

// Interfaces describes wires for a file. Of says what they are of, as "fabric lab, kary-ntree:4,3".
func Interfaces(g *topology.Graph, of string, wires []Wire) []Interface {
	list := make([]Interface, len(wires))
	for i, w := range wires {
		to, _, _ := g.Peer(w.From)
		list[i] = Interface{Name: w.Name, Description: fmt.Sprintf("link %s of %s: from %s port %d to %s port %d",
			g.Links[w.Link].Name, of, g.Name(w.From.Node), w.From.Port, g.Name(to.Node), to.Port)}
	}
	return list
}

// ends are where the wires are heard.
func ends(g *topology.Graph, wires []Wire) []bus.TapEnd {
	list := make([]bus.TapEnd, len(wires))
	for i, w := range wires {
		list[i] = bus.TapEnd{Node: g.Name(w.From.Node), Port: w.From.Port}
	}
	return list
}
