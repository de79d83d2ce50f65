package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// maxSend bounds the packets of one step, chosen by us: as many as a send queue takes at once,
// nearly.
const maxSend = 4096

func (p *parser) send(path string, s format.Send, g *topology.Graph) (a Action) {
	from, err := g.NICByName(s.From)
	p.fail(path+".from", err)
	to, err2 := g.NICByName(s.To)
	p.fail(path+".to", err2)
	if err == nil && err2 == nil && from == to {
		p.fail(path+".to", fmt.Errorf("%s sends to itself: name another NIC", s.To))
	}
	p.within(path+".count", s.Count, maxSend)
	count := cmp.Or(s.Count, 1)
	a.Text = fmt.Sprintf("send %s to %s", s.From, s.To)
	if count > 1 {
		a.Text = fmt.Sprintf("send %d packets %s to %s", count, s.From, s.To)
	}
	a.Send = &Packets{From: from, To: to, Count: count}
	return a
}

// choices settles what the firmware leaves open.
func (p *parser) choices(list []format.Choice, o *fabric.Options) {
	var settled []firmware.Choice
	for i, c := range list {
		path := fmt.Sprintf("$.choices[%d]", i)
		sw, err := o.Topology.SwitchByName(c.Switch)
		p.fail(path+".switch", err)
		p.within(path+".hop", c.Hop, weft.MaxHops)
		p.within(path+".every", c.Every, weft.MaxHops)
		if c.Every > 0 && c.Hop == 0 {
			p.fail(path+".every", fmt.Errorf("every %d of what? give hop as well, where it is taken first", c.Every))
		}
		one := firmware.Choice{Switch: sw, Hop: c.Hop, Every: c.Every}
		if c.VC != nil {
			if vcs := max(1, o.Switch.VCs); *c.VC < 0 || *c.VC >= vcs {
				p.fail(path+".vc", fmt.Errorf("expected 0 to %d, found %d", vcs-1, *c.VC))
			}
			one.VC = new(weft.VC(*c.VC))
		}
		if err == nil {
			one.In, err = ports(o.Topology, sw, c.In)
			p.fail(path+".in", err)
			one.To, err = ports(o.Topology, sw, c.To)
			p.fail(path+".to", err)
		}
		settled = append(settled, one)
	}
	o.Firmware, o.Unnamed = firmware.Choosing(o.Firmware, settled), true
}

// ports are those of sw that name says: all that lead to the neighbour of that name, or the one of
// that number.
func ports(g *topology.Graph, sw weft.SwitchID, name format.Port) (list []weft.PortID, err error) {
	var names []string
	for i := range g.Place(sw).Ports() {
		peer, _, ok := g.Peer(weft.End{Node: sw.Node(), Port: weft.PortID(i)})
		if !ok {
			continue
		}
		if to := g.Name(peer.Node); to == string(name) {
			list = append(list, weft.PortID(i))
		} else if !slices.Contains(names, to) {
			names = append(names, to)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	n, err := strconv.Atoi(string(name))
	if err != nil {
		return nil, document.Unknown("neighbour of "+g.Switches[sw].Name, string(name), names)
	}
	_, _, ok := g.Peer(weft.End{Node: sw.Node(), Port: weft.PortID(min(max(n, 0), weft.MaxPorts))})
	if n < 0 || !ok {
		return nil, fmt.Errorf("port %d of %s leads nowhere: it has ports 0 to %d", n, g.Switches[sw].Name,
			g.Place(sw).Ports()-1)
	}
	return []weft.PortID{weft.PortID(n)}, nil
}
