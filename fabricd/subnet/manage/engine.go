package manage

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// engine computes what an engine does on what is left. Parts that no links join are routed each by
// itself.
type engine struct {
	g    *topology.Graph
	name string
	run  func(context.Context, *topology.Graph) (*layered.Routing, error)
	vcs  int
	full *layered.Routing // of all links
}

func newEngine(g *topology.Graph, e subnet.Entry, m Method, vcs int) (computer, error) {
	if m.Engine != "" {
		var err error
		if e, err = subnet.ByName(m.Engine); err != nil {
			return nil, err
		}
	}
	if e.Routes == nil {
		return nil, fmt.Errorf("%s %w: name an engine, as %s:updn", e.Name, subnet.ErrNoTables, Engine)
	}
	return &engine{g: g, name: e.Name, run: e.Routes, vcs: vcs}, nil
}

// Around routes what is left by Up*/Down* in one layer, by destination.
func Around(ctx context.Context, g *topology.Graph, dead func(*topology.Link) bool) (*layered.Routing, error) {
	var all subnet.Dead
	for i := range g.Links {
		if dead(&g.Links[i]) {
			all.AddLink(g.Links[i].ID)
		}
	}
	c := engine{g: g, name: "updn", vcs: 1, run: func(ctx context.Context, g *topology.Graph) (*layered.Routing, error) {
		return layered.UpDownByDestination(ctx, g, layered.Options{})
	}}
	r, err := c.compute(ctx, &all)
	if err != nil {
		return nil, err
	}
	return r.routing, nil
}

func (c *engine) adopt(*result) {}
func (c *engine) settled()      {}

func (c *engine) compute(ctx context.Context, dead *subnet.Dead) (*result, error) {
	unconnected := subnet.Connected(c.g, dead)
	cut := func(l *topology.Link) bool { return l.BetweenSwitches() && dead.Cuts(l) }
	if !slices.ContainsFunc(c.g.Links, func(l topology.Link) bool { return cut(&l) }) {
		if c.full == nil {
			r, err := c.run(ctx, c.g)
			if err != nil {
				return nil, err
			}
			c.full = r
		}
		return c.result(c.full, unconnected)
	}
	parts := partsOf(c.g, cut)
	if len(parts) == 1 {
		r, err := c.run(ctx, c.g.Without(cut))
		if err != nil {
			return nil, err
		}
		whole := *r
		whole.Graph = c.g
		return c.result(&whole, unconnected)
	}
	r, err := c.apart(ctx, parts, cut)
	if err != nil {
		return nil, err
	}
	return c.result(r, unconnected)
}

func (c *engine) result(r *layered.Routing, unroutable int) (*result, error) {
	if r.Layers > c.vcs {
		return nil, fmt.Errorf("%s needs %d layers on what is left, there are %d virtual channels: start with --vcs %d",
			c.name, r.Layers, c.vcs, r.Layers)
	}
	return &result{routing: r, unroutable: max(unroutable, r.Unroutable), rerouted: -1}, nil
}

// partsOf are the switches that live links join, of each part with a NIC, by number.
func partsOf(g *topology.Graph, cut func(*topology.Link) bool) [][]weft.SwitchID {
	left := g.Adjacency(func(l *topology.Link) bool { return !cut(l) })
	of, count := left.Components(nil)
	parts, nics := make([][]weft.SwitchID, count), make([]bool, count)
	for s, part := range of {
		parts[part] = append(parts[part], weft.SwitchID(s))
	}
	for d := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(d))
		nics[of[s]] = true
	}
	return slices.DeleteFunc(parts, func(part []weft.SwitchID) bool { return !nics[of[part[0]]] })
}

// apart routes each part by itself and puts the tables together.
func (c *engine) apart(ctx context.Context, parts [][]weft.SwitchID, cut func(*topology.Link) bool,
) (*layered.Routing, error) {
	all := make([]island, len(parts))
	whole := &layered.Routing{Engine: c.name, Graph: c.g, Layers: 1}
	paths := 1
	for i, part := range parts {
		p, err := newIsland(c.g, part, cut)
		if err != nil {
			return nil, err
		}
		if p.routing, err = c.run(ctx, p.graph); err != nil {
			return nil, fmt.Errorf("the part of switch %s: %w", c.g.Switches[part[0]].Name, err)
		}
		all[i] = p
		whole.Kind, whole.Layers = p.routing.Kind, max(whole.Layers, p.routing.Layers)
		whole.Escape = max(whole.Escape, p.routing.Escape)
		paths = max(paths, p.routing.Tables.Paths())
	}
	ports := make([]int, len(c.g.Switches))
	for i, s := range c.g.Switches {
		ports[i] = s.Ports
	}
	var err error
	whole.Tables,
		err = tables.NewTablesOf(
		tables.TablesShape{VCs: whole.Layers, NICs: len(c.g.NICs), Paths: paths, PerLayer: true, Ports: ports})
	if err != nil {
		return nil, err
	}
	at := make([]*island, len(c.g.Switches))
	for i := range all {
		if all[i].routing.Kind == layered.Escape && all[i].routing.Escape != whole.Escape {
			return nil, fmt.Errorf("%s has its escape layer elsewhere in each part: give it a number of layers", c.name)
		}
		if err := all[i].fill(whole.Tables); err != nil {
			return nil, err
		}
		for _, s := range parts[i] {
			at[s] = &all[i]
		}
	}
	whole.Assignment, err = tables.NewAssignment(len(c.g.Switches), len(c.g.NICs), whole.Layers, paths,
		func(s weft.SwitchID, d weft.NICID) []weft.Address {
			if at[s] == nil || at[s].nic[d] < 0 {
				return nil
			}
			return at[s].routing.Assignment.Addresses(at[s].number[s], weft.NICID(at[s].nic[d]))
		})
	return whole, err
}

// island is a part of a graph as a graph of its own, with numbers of its own.
type island struct {
	switches []weft.SwitchID
	number   map[weft.SwitchID]weft.SwitchID
	nic      []int // per NIC of the whole: its number here, -1 for none
	graph    *topology.Graph
	routing  *layered.Routing
}

func newIsland(g *topology.Graph, part []weft.SwitchID, cut func(*topology.Link) bool) (p island, err error) {
	p = island{switches: part, number: map[weft.SwitchID]weft.SwitchID{}, nic: make([]int, len(g.NICs))}
	var switches []topology.Switch
	for i, s := range part {
		p.number[s] = weft.SwitchID(i)
		switches = append(switches, topology.Switch{Name: g.Switches[s].Name, Ports: g.Switches[s].Ports})
	}
	var nics []topology.NIC
	for d := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(d))
		p.nic[d] = -1
		if _, here := p.number[s]; here {
			p.nic[d] = len(nics)
			nics = append(nics, topology.NIC{Name: g.NICs[d].Name})
		}
	}
	var links []topology.Link
	for i := range g.Links {
		l := g.Links[i]
		a, here := p.number[weft.SwitchID(l.A.Node.Index)]
		if !here || cut(&l) {
			continue
		}
		l.A.Node = a.Node()
		if l.BetweenSwitches() {
			l.B.Node = p.number[weft.SwitchID(l.B.Node.Index)].Node()
		} else {
			l.B.Node = weft.NICID(p.nic[l.B.Node.Index]).Node()
		}
		links = append(links, l)
	}
	p.graph, err = topology.New(g.Spec, switches, nics, links)
	return p, err
}

// fill copies the tables into those of the whole.
func (p *island) fill(whole *tables.Tables) error {
	from := p.routing.Tables
	for local, s := range p.switches {
		rows := map[string]int{}
		for d, n := range p.nic {
			if n < 0 {
				continue
			}
			for path := range from.Paths() {
				for layer := range weft.VC(from.VCs()) {
					entries := make([][]tables.Hop, p.graph.Switches[local].Ports+1)
					for in := range entries {
						port := weft.PortID(in)
						if in == len(entries)-1 {
							port = weft.NoPort
						}
						entries[in] = from.Choices(weft.SwitchID(local), weft.NICID(n), uint16(path), port, layer)
					}
					key := fmt.Sprint(entries)
					row, ok := rows[key]
					if !ok {
						var err error
						if row, err = whole.AddChoices(s, entries); err != nil {
							return err
						}
						rows[key] = row
					}
					if err := whole.SetAddress(s, layer, weft.NICID(d), path, row); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
