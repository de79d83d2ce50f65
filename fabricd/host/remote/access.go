package remote

import (
	"encoding/json"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// layoutOf says which nodes are in which shard, as the host of a spec sees it.
func layoutOf(c *host.Spec, g *topology.Graph) (*bus.Layout, error) {
	var others []bus.HostShards
	for _, p := range c.Placements {
		if p.Host != c.Host {
			others = append(others, shardsOf(p, g))
		}
	}
	return bus.NewLayout(shardsOf(c.Placement, g), others...)
}

// LeaderLayout says which nodes are in which shard, as the leader of these hosts sees it. The
// leader's transport has one connection, with its own nodes, and hears no link of a host.
func LeaderLayout(g *topology.Graph, places []host.Placement) (*bus.Layout, error) {
	return layoutOf(&host.Spec{Placement: host.Placement{Shards: 1}, Placements: places}, g)
}

// shardsOf converts a placement for a [bus.Layout].
func shardsOf(p host.Placement, g *topology.Graph) bus.HostShards {
	s := bus.HostShards{First: p.Shard, N: p.Shards}
	for _, id := range p.SwitchIDs() {
		s.Nodes = append(s.Nodes, g.Switches[id].Name)
	}
	for _, id := range p.NICIDs() {
		s.Nodes = append(s.Nodes, g.NICs[id].Name)
	}
	return s
}

// accessOf is what the process of a spec may do on the broker.
func accessOf(c *host.Spec, g *topology.Graph) (bus.Access, error) {
	if !c.Placement.Shared {
		return bus.HostAccess{Host: c.Host, First: c.Placement.Shard, N: c.Placement.Shards}, nil
	}
	layout, err := layoutOf(c, g)
	if err != nil {
		return nil, err
	}
	node := g.Switches[c.Placement.Switches[0].First].Name
	a := bus.NodeAccess{Node: node, Name: c.Host, Layout: layout}
	for _, e := range c.Placement.Ends(g) {
		if d, ok := host.Direction(g, e); ok {
			a.Sends, a.Hears = append(a.Sends, d), append(a.Hears, d.Reverse())
		}
	}
	return a, nil
}

// identityOf returns the credentials of a spec's process, and whose they are; see
// [bus.PartCredentials].
func identityOf(c *host.Spec, host bus.Credentials) (bus.Credentials, *bus.Identity, error) {
	var own bus.Credentials
	if len(c.Credentials) > 0 {
		if err := json.Unmarshal(c.Credentials, &own); err != nil {
			return own, nil, fmt.Errorf("credentials: %w", err)
		}
	}
	return bus.HostCredentials(own, host)
}
