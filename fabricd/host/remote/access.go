package remote

import (
	"encoding/json"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// layoutOf is who is in which shard, as the host of a charter sees it.
func layoutOf(c *host.Charter, g *topology.Graph) (*bus.Layout, error) {
	var others []bus.PartShards
	for _, p := range c.Layout {
		if p.Part != c.Part {
			others = append(others, shardsOf(p, g))
		}
	}
	return bus.NewLayout(shardsOf(c.Place, g), others...)
}

// shardsOf is a place as a [bus.Layout] has it.
func shardsOf(p host.Place, g *topology.Graph) bus.PartShards {
	s := bus.PartShards{First: p.Shard, N: p.Shards}
	for _, id := range p.SwitchIDs() {
		s.Nodes = append(s.Nodes, g.Switches[id].Name)
	}
	for _, id := range p.NICIDs() {
		s.Nodes = append(s.Nodes, g.NICs[id].Name)
	}
	return s
}

// accessOf is what the process of a charter may do on the broker.
func accessOf(c *host.Charter, g *topology.Graph) (bus.Access, error) {
	if !c.Place.Shared {
		return bus.PartAccess{Part: c.Part, First: c.Place.Shard, N: c.Place.Shards}, nil
	}
	layout, err := layoutOf(c, g)
	if err != nil {
		return nil, err
	}
	a := bus.NodeAccess{Node: c.Part, Layout: layout}
	for _, e := range c.Place.Ends(g) {
		if d, ok := host.Direction(g, e); ok {
			a.Sends, a.Hears = append(a.Sends, d), append(a.Hears, d.Reverse())
		}
	}
	return a, nil
}

// identityOf is with which credentials the process of a charter connects, and whose they are; see
// [bus.PartCredentials].
func identityOf(c *host.Charter, host bus.Credentials) (bus.Credentials, *bus.Identity, error) {
	var own bus.Credentials
	if len(c.Credentials) > 0 {
		if err := json.Unmarshal(c.Credentials, &own); err != nil {
			return own, nil, fmt.Errorf("credentials: %w", err)
		}
	}
	return bus.PartCredentials(own, host)
}
