package part

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// graph is the topology of the fabric.
func (c *Charter) graph() (*topology.Graph, error) {
	text, err := bus.Decompress(c.Topology)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	g, err := topology.Load("fabric.yaml", text)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return g, nil
}

// errPlace means that a charter speaks of nodes that the topology does not have.
var errPlace = errors.New("the charter and its topology do not agree")

func (c *Charter) check(g *topology.Graph) error {
	for _, place := range append([]Place{c.Place}, c.Layout...) {
		for _, l := range []struct {
			spans []Span
			n     int
			what  string
		}{{place.Switches, len(g.Switches), "switches"}, {place.NICs, len(g.NICs), "NICs"}} {
			next := uint64(0)
			for _, s := range l.spans {
				if uint64(s.First) < next || uint64(s.First)+uint64(s.N) > uint64(l.n) {
					return fmt.Errorf("part %s has %s %d to %d, of %d: %w", place.Part, l.what, s.First, uint64(s.First)+uint64(s.N)-1, l.n, errPlace)
				}
				next = uint64(s.First) + uint64(s.N)
			}
		}
	}
	switch p := c.Place; {
	case p.Shared && (len(p.NICs) > 0 || len(p.Switches) != 1 || p.Switches[0].N != 1):
		return fmt.Errorf("part %s shares shards and is not one switch: %w", p.Part, errPlace)
	case c.Link.Inbox < 1:
		return fmt.Errorf("inboxes of %d frames: %w", c.Link.Inbox, errPlace)
	case c.Again > nic.MaxIncarnation:
		return fmt.Errorf("%d incarnations, at most %d: %w", c.Again, nic.MaxIncarnation, errPlace)
	}
	return nil
}

// layout is who is in which shard, as this part sees it.
func (c *Charter) layout(g *topology.Graph) (*bus.Layout, error) {
	var others []bus.PartShards
	for _, p := range c.Layout {
		if p.Part != c.Part {
			others = append(others, p.PartShards(g))
		}
	}
	return bus.NewLayout(c.Place.PartShards(g), others...)
}

// placed are the names of the parts by their nodes.
func (c *Charter) placed() map[weft.Node]string {
	all := map[weft.Node]string{}
	for _, p := range c.Layout {
		for _, id := range p.SwitchIDs() {
			all[id.Node()] = p.Part
		}
		for _, id := range p.NICIDs() {
			all[id.Node()] = p.Part
		}
	}
	return all
}

// PartShards is the place as a [bus.Layout] has it.
func (p Place) PartShards(g *topology.Graph) bus.PartShards {
	s := bus.PartShards{First: p.Shard, N: p.Shards}
	for _, id := range p.SwitchIDs() {
		s.Nodes = append(s.Nodes, g.Switches[id].Name)
	}
	for _, id := range p.NICIDs() {
		s.Nodes = append(s.Nodes, g.NICs[id].Name)
	}
	return s
}

// firmware is that of every switch, as it is made by name.
func (c *Charter) firmware(g *topology.Graph) (switching.Firmware, error) {
	fw, _, err := subnet.Firmware(c.Firmware, g)
	if err != nil {
		return nil, fmt.Errorf("the fabric is of another release than this process: %w", err)
	}
	if c.NIC.Notices == 0 {
		return fw, nil
	}
	n, ok := fw.(switching.Notifier)
	if !ok {
		return nil, fmt.Errorf("the fabric is of another release than this process: firmware %s tells no sources of discards here", c.Firmware)
	}
	return n.Notifying(), nil
}
