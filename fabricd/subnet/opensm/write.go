package opensm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// LFT are the forwarding tables of a routing in InfiniBand: one out port per switch and LID. Layers
// are not in them, see [WritePathSL] and [WriteSL2VL]. The LIDs of a switch lead to where those of
// its first NIC do, or the shortest way if it has none.
type LFT struct {
	routing *layered.Routing
	lids    *LIDs
	last    int
	ports   [][]uint8 // per switch and LID, as numbered there
	sends   []bool    // the switches with NICs

	home    weft.SwitchID // to which nearest leads
	nearest []uint8
	links   topology.Adjacency
}

// NewLFT makes the tables of a routing. It refuses routings whose switches look at in port or
// layer, choose among ports, or change layers.
func NewLFT(r *layered.Routing, lids *LIDs) (*LFT, error) {
	g := r.Graph
	if r.Kind != layered.Deterministic {
		return nil, fmt.Errorf("%s: its switches choose among ports, and a table of InfiniBand has one for each LID: take "+
			"a deterministic routing, as lash", r.Engine)
	}
	p := &LFT{routing: r, lids: lids, last: lids.last(), ports: make([][]uint8, len(g.Switches))}
	p.sends = make([]bool, len(g.Switches))
	for _, n := range g.NICs {
		s, _ := g.SwitchOf(n.ID)
		p.sends[s] = true
	}
	for s := range g.Switches {
		p.ports[s] = slices.Repeat([]uint8{noPath}, p.last+1)
	}
	for d := range g.NICs {
		if _, count := lids.Of(weft.NICID(d).Node()); count == 0 {
			return nil, fmt.Errorf("NIC %s has no LID: give those of this fabric", g.NICs[d].Name)
		}
		if err := p.destination(weft.NICID(d)); err != nil {
			return nil, err
		}
	}
	for s := range g.Switches {
		p.toSwitch(weft.SwitchID(s))
	}
	return p, nil
}

// Ports are the out ports of a switch by LID, 255 for none.
func (p *LFT) Ports(s weft.SwitchID) []uint8 { return p.ports[s] }

// Write writes the tables as OpenSM dumps them; opensm -R file -U takes them.
func (p *LFT) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, s := range p.switches() {
		p.table(out, s)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write forwarding tables: %w", err)
	}
	return nil
}

// Alone is the routing of switches that have these tables and nothing else: all packets travel in
// layer 0. The error of a context that ends wraps its cause.
func (p *LFT) Alone(ctx context.Context) (*layered.Routing, error) {
	known := nodesOf(p.routing.Graph)
	b := newBuilder(&forwarding{nodes: known, lids: p.lids, port: p.ports}, p.routing.Engine)
	b.lids = p.lids
	return b.routing(ctx)
}

// visit is a packet at a switch.
type visit struct {
	at weft.SwitchID
	in weft.PortID
	vc weft.VC
}

// destination follows all ways to a NIC.
func (p *LFT) destination(d weft.NICID) error {
	g := p.routing.Graph
	first, count := p.lids.Of(d.Node())
	if paths := p.routing.Tables.Paths(); paths > count {
		return fmt.Errorf("%s gives NIC %s %d addresses, and it has %d LIDs: raise the LMC", p.routing.Engine, g.NICs[d].Name,
			paths, count)
	}
	home, _ := g.SwitchOf(d)
	for path := range count {
		lid := first + path
		took := min(path, p.routing.Tables.Paths()-1) // LIDs that no path is for lead where the last does
		seen := make(map[visit]bool)
		for _, src := range g.NICs {
			s, in := g.SwitchOf(src.ID)
			for _, a := range p.routing.Assignment.Addresses(s, d) {
				if int(a.Path) != took {
					continue
				}
				if err := p.way(visit{s, in, a.VC}, d, took, lid, seen); err != nil {
					return err
				}
			}
		}
		for s, ports := range p.ports {
			if ports[lid] != noPath {
				continue
			}
			if weft.SwitchID(s) == home { // its only NIC
				_, port := g.SwitchOf(d)
				ports[lid] = uint8(port + 1)
			} else if !p.sends[s] { // no packets but those of the switch itself
				ports[lid] = p.towards(home)[s]
			}
		}
	}
	return nil
}

// way follows one packet until somebody has been there.
func (p *LFT) way(v visit, d weft.NICID, path, lid int, seen map[visit]bool) error {
	g := p.routing.Graph
	for !seen[v] {
		seen[v] = true
		name := g.Switches[v.at].Name
		hops := p.routing.Tables.Choices(v.at, d, uint16(path), v.in, v.vc)
		if len(hops) == 0 || hops[0].Port == weft.NoPort {
			return nil
		}
		hop := hops[0]
		if len(hops) > 1 {
			return fmt.Errorf("%s: switch %s chooses among %d ports for packets to %s, and a table of InfiniBand has one for "+
				"each LID: take a deterministic routing, as lash",
				p.routing.Engine, name, len(hops), g.NICs[d].Name)
		}
		if hop.In(v.vc) != v.vc {
			return fmt.Errorf("%s: switch %s moves packets to %s from layer %d to %d, which a table of InfiniBand cannot say",
				p.routing.Engine, name, g.NICs[d].Name, v.vc, hop.VC)
		}
		port := uint8(hop.Port + 1)
		if old := p.ports[v.at][lid]; old != noPath && old != port {
			return fmt.Errorf("%s: switch %s sends packets to %s out by port %d or port %d, by where they come from, and a "+
				"table of InfiniBand has one for each LID: "+
				"take a routing by destination alone, as updn:in-port=false, minimal-hop or lash", p.routing.Engine, name,
				g.NICs[d].Name, old-1, hop.Port)
		}
		p.ports[v.at][lid] = port
		to, _, ok := g.Peer(weft.End{Node: v.at.Node(), Port: hop.Port})
		if !ok || !to.Node.IsSwitch() {
			return nil
		}
		v.at, v.in = weft.SwitchID(to.Node.Index), to.Port
	}
	return nil
}

// towards are, per switch, the lowest port that begins a shortest way to home, as numbered in
// InfiniBand; noPath at home.
func (p *LFT) towards(home weft.SwitchID) []uint8 {
	if p.nearest != nil && p.home == home {
		return p.nearest
	}
	g := p.routing.Graph
	if p.links.First == nil {
		p.links = g.Adjacency(nil)
	}
	distance, next := make([]int32, len(g.Switches)), slices.Repeat([]uint8{noPath}, len(g.Switches))
	p.links.Distances(distance, nil, int32(home))
	for i, to := range slices.Backward(p.links.To) { // the lowest port comes last
		if s := p.links.From[i]; distance[to] == distance[s]-1 {
			next[s] = uint8(p.links.Port[i]) + 1
		}
	}
	p.home, p.nearest = home, next
	return next
}

// toSwitch fills in the LIDs of a switch.
func (p *LFT) toSwitch(s weft.SwitchID) {
	g := p.routing.Graph
	first, count := p.lids.Of(s.Node())
	nic := slices.IndexFunc(g.NICs, func(n topology.NIC) bool { at, _ := g.SwitchOf(n.ID); return at == s })
	for lid := first; lid < first+count; lid++ {
		for at, ports := range p.ports {
			switch {
			case weft.SwitchID(at) == s:
				ports[lid] = 0
			case nic >= 0:
				of, _ := p.lids.Of(weft.NICID(nic).Node())
				ports[lid] = ports[of]
			default:
				ports[lid] = p.towards(s)[at]
			}
		}
	}
}

// switches are in the order of OpenSM: by the bytes of their GUIDs, the last byte first.
func (p *LFT) switches() []weft.SwitchID {
	g := p.routing.Graph
	order := make([]weft.SwitchID, len(g.Switches))
	for i := range order {
		order[i] = weft.SwitchID(i)
	}
	slices.SortFunc(order, func(a, b weft.SwitchID) int {
		return compareGUID(g.Identity(a.Node()).GUID, g.Identity(b.Node()).GUID)
	})
	return order
}

func (p *LFT) table(out *bufio.Writer, s weft.SwitchID) {
	g := p.routing.Graph
	id := g.Identity(s.Node())
	lid, _ := p.lids.Of(s.Node())
	fmt.Fprintf(out, "Unicast lids [0-%d] of switch Lid %d guid %v ('%s'):\n", p.last, lid, id.GUID, id.Description)
	for lid, port := range p.ports[s] {
		n, ok := p.lids.node[lid]
		if port == noPath || !ok {
			continue
		}
		kind := "Channel Adapter"
		if n.IsSwitch() {
			kind = "Switch"
		}
		id := g.Identity(n)
		fmt.Fprintf(out, "0x%04x %03d # %s portguid %v: '%s'\n", lid, port, kind, id.PortGUID, id.Description)
	}
	fmt.Fprintf(out, "%d lids dumped\n", p.last)
}
