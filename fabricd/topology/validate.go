package topology

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
)

// problem is something wrong with one part of a graph.
type problem struct {
	part  part
	index int
	field string // of the part, as files name it; empty for the whole
	err   error
}

type part uint8

const (
	aGraph part = iota + 1
	aSwitch
	aNIC
	aLink
)

// New makes a graph of kind File from its parts; name becomes its Spec. Ids are set to the
// positions in the slices, links are turned and named as [Link] says, and a switch with 0 Ports
// gets as many as its links need. The error is that of [Graph.Validate].
func New(name string, switches []Switch, nics []NIC, links []Link) (*Graph, error) {
	g, err := assemble(name, switches, nics, links)
	if err != nil {
		return nil, err
	}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return g, nil
}

// assemble is New without the check.
func assemble(name string, switches []Switch, nics []NIC, links []Link) (*Graph, error) {
	if err := bounds(len(switches), len(nics), len(links), 0); err != nil {
		return nil, err
	}
	g := &Graph{
		Spec: name, Kind: File,
		Switches: append([]Switch(nil), switches...),
		NICs:     append([]NIC(nil), nics...),
		Links:    append([]Link(nil), links...),
	}
	need := make([]int, len(switches))
	for _, l := range links {
		for _, e := range []weft.End{l.A, l.B} {
			if e.Node.IsSwitch() && int(e.Node.Index) < len(need) && e.Port < weft.MaxPorts {
				need[e.Node.Index] = max(need[e.Node.Index], int(e.Port)+1)
			}
		}
	}
	for i := range g.Switches {
		s := &g.Switches[i]
		s.ID, s.Tier, s.Digits, s.Coord = weft.SwitchID(i), 0, nil, nil
		if s.Ports == 0 {
			s.Ports = need[i]
		}
		if s.Ports < 0 || s.Ports > weft.MaxPorts {
			return nil, fmt.Errorf("switch %s: %d ports, expected 1 to %d", s.Name, s.Ports, weft.MaxPorts)
		}
	}
	for i := range g.NICs {
		g.NICs[i].ID = weft.NICID(i)
	}
	g.nameLinks()
	g.finish()
	return g, nil
}

// Validate checks the whole structure: names and ids, the ends of every link, one link per port,
// one link per NIC, the wiring of a generated tree, and that every switch can be reached. The error
// lists what is wrong; nil is a sound graph.
func (g *Graph) Validate() error {
	var errs document.Errors
	g.check(func(p problem) { errs.Add(fmt.Errorf("%s%w", g.label(p), p.err)) })
	if errs.Len() == 0 {
		g.checkConnected(func(p problem) { errs.Add(p.err) })
	}
	return errs.Err()
}

// label says which part of the graph a problem is about.
func (g *Graph) label(p problem) string {
	switch p.part {
	case aSwitch:
		return "switch " + g.Switches[p.index].Name + ": "
	case aNIC:
		return "NIC " + g.NICs[p.index].Name + ": "
	case aLink:
		return "link " + g.Links[p.index].Name + ": "
	}
	return ""
}

// check reports everything wrong but a graph in parts.
func (g *Graph) check(report func(problem)) {
	if len(g.Switches) == 0 {
		report(problem{part: aGraph, err: errors.New("no switches, expected at least one")})
	}
	if err := bounds(len(g.Switches), len(g.NICs), len(g.Links), 0); err != nil {
		report(problem{part: aGraph, err: err})
	}
	g.checkNodes(report)
	g.checkLinks(report)
	g.checkTree(report)
}

func (g *Graph) checkNodes(report func(problem)) {
	taken := make(map[string]weft.Node, len(g.Switches)+len(g.NICs))
	name := func(p part, i int, name string, n weft.Node) {
		if err := checkName(name); err != nil {
			report(problem{p, i, "id", err})
		} else if other, ok := taken[name]; ok {
			report(problem{p, i, "id", fmt.Errorf("name %s is taken by %v, expected one name per node", name, other)})
		} else {
			taken[name] = n
		}
	}
	for i, s := range g.Switches {
		name(aSwitch, i, s.Name, weft.SwitchID(i).Node())
		if int(s.ID) != i {
			report(problem{aSwitch, i, "", fmt.Errorf("number %d at position %d", s.ID, i)})
		}
		if s.Ports < 0 || s.Ports > weft.MaxPorts {
			report(problem{aSwitch, i, "ports", fmt.Errorf("%d ports, expected at most %d", s.Ports, weft.MaxPorts)})
		}
	}
	for i, n := range g.NICs {
		name(aNIC, i, n.Name, weft.NICID(i).Node())
		if int(n.ID) != i {
			report(problem{aNIC, i, "", fmt.Errorf("number %d at position %d", n.ID, i)})
		}
	}
}

func (g *Graph) checkLinks(report func(problem)) {
	used := make(map[weft.End]int, 2*len(g.Links))
	names := make(map[string]int)
	for i, l := range g.Links {
		if err := g.checkLink(i, l); err != nil {
			report(problem{aLink, i, "", err})
			continue
		}
		for _, e := range []struct {
			end   weft.End
			field string
		}{{l.A, "a"}, {l.B, "b"}} {
			other, ok := used[e.end]
			if !ok {
				used[e.end] = i
				continue
			}
			err := fmt.Errorf("port %d of %s is used by link %s already", e.end.Port, g.Name(e.end.Node), g.Links[other].Name)
			if !e.end.Node.IsSwitch() {
				err = fmt.Errorf("NIC %s has link %s already, expected one link per NIC", g.Name(e.end.Node), g.Links[other].Name)
			}
			report(problem{aLink, i, e.field, err})
		}
		// Names of nodes may hold a '-', so two links can have one name: a-b to c, and a to b-c.
		for _, name := range []string{l.Name, g.linkName(l.B, l.A, strings.Contains(l.Name, ":"))} {
			if other, ok := names[name]; ok && other != i {
				report(problem{aLink, i, "", fmt.Errorf("name %s is that of another link too: rename a switch", name)})
				break
			}
			names[name] = i
		}
	}
	for i, n := range g.NICs {
		if _, ok := used[weft.End{Node: n.ID.Node()}]; !ok {
			report(problem{aNIC, i, "", errors.New("no link, expected one to a switch")})
		}
	}
}

func (g *Graph) checkLink(i int, l Link) error {
	if int(l.ID) != i {
		return fmt.Errorf("number %d at position %d", l.ID, i)
	}
	for _, e := range []weft.End{l.A, l.B} {
		if g.slot(e) != nil {
			continue
		}
		if e.Node.IsSwitch() && int(e.Node.Index) < len(g.Switches) {
			return fmt.Errorf("port %d of %s, expected 0 to %d", e.Port, g.Name(e.Node), g.Switches[e.Node.Index].Ports-1)
		}
		return fmt.Errorf("%v %v is not there", e.Node, e.Port)
	}
	switch {
	case l.A.Node == l.B.Node:
		return fmt.Errorf("both ends at %s, expected two nodes", g.Name(l.A.Node))
	case !l.A.Node.IsSwitch():
		return fmt.Errorf("between NICs %s and %s, expected a switch at one end", g.Name(l.A.Node), g.Name(l.B.Node))
	case !inOrder(l.A, l.B):
		return errors.New("ends in the wrong order, expected the lower switch first")
	case l.Name != g.linkName(l.A, l.B, false) && l.Name != g.linkName(l.A, l.B, true):
		return fmt.Errorf("wrong name, expected %s", g.linkName(l.A, l.B, false))
	}
	return nil
}

// checkTree holds the links of a generated tree against its arithmetic.
func (g *Graph) checkTree(report func(problem)) {
	if g.tree == nil {
		return
	}
	for i, l := range g.Links {
		if !l.A.Node.IsSwitch() || int(l.A.Node.Index) >= len(g.Switches) {
			continue
		}
		s := g.Switches[l.A.Node.Index]
		if int(l.A.Port) >= g.tree.radix[s.Tier] || g.tree.below(s, int(l.A.Port)) != l.B {
			report(problem{aLink, i, "", fmt.Errorf("not where port %d of %s leads in a %s", l.A.Port, s.Name, g.Kind)})
		}
	}
}

// checkConnected reports the switches that cannot be reached from the first. The links must be
// sound.
func (g *Graph) checkConnected(report func(problem)) {
	const most = 8
	count, first := 0, 0
	var names []string
	all, dist := g.Adjacency(nil), make([]int32, len(g.Switches))
	all.Distances(dist, nil, 0)
	for i, links := range dist {
		if links >= 0 {
			continue
		}
		if count == 0 {
			first = i
		}
		if count++; count <= most {
			names = append(names, g.Switches[i].Name)
		} else if count == most+1 {
			names = append(names, "...")
		}
	}
	if count > 0 {
		report(problem{aSwitch, first, "", fmt.Errorf("not connected: %d of %d switches cannot be reached from %s: %s",
			count, len(dist), g.Switches[0].Name, strings.Join(names, ", "))})
	}
}
