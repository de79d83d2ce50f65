package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/wire"
)

// Graph is the topology of the fabric.
func (c *Spec) Graph() (*topology.Graph, error) {
	text, err := wire.Decompress(c.Topology)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	g, err := topology.Load("fabric.yaml", text)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return g, nil
}

// errPlacement means that a spec names nodes that its topology does not have.
var errPlacement = errors.New("the spec and its topology do not agree")

// Check refuses a spec that names nodes that the topology does not have, or has impossible values.
func (c *Spec) Check(g *topology.Graph) error {
	for _, place := range append([]Placement{c.Placement}, c.Placements...) {
		for _, l := range []struct {
			spans []Span
			n     int
			what  string
		}{{place.Switches, len(g.Switches), "switches"}, {place.NICs, len(g.NICs), "NICs"}} {
			next := uint64(0)
			for _, s := range l.spans {
				if uint64(s.First) < next || uint64(s.First)+uint64(s.N) > uint64(l.n) {
					return fmt.Errorf("host %s has %s %d to %d, of %d: %w", place.Host, l.what, s.First,
						uint64(s.First)+uint64(s.N)-1, l.n, errPlacement)
				}
				next = uint64(s.First) + uint64(s.N)
			}
		}
	}
	switch p := c.Placement; {
	case p.Shared && (len(p.NICs) > 0 || len(p.Switches) != 1 || p.Switches[0].N != 1):
		return fmt.Errorf("host %s shares shards and is not one switch: %w", p.Host, errPlacement)
	case p.Shared && !c.sharesAtHome():
		return fmt.Errorf("host %s shares shards %d to %d, which are not those of its switch: %w", p.Host, p.Shard,
			p.Shard+p.Shards-1, errPlacement)
	case c.Inbox < 1:
		return fmt.Errorf("inboxes of %d frames: %w", c.Inbox, errPlacement)
	case c.Again > nic.MaxIncarnation:
		return fmt.Errorf("%d incarnations, at most %d: %w", c.Again, nic.MaxIncarnation, errPlacement)
	}
	all := settings.Settings{Switch: c.Switch, NIC: c.NIC, Link: c.Link, Liveness: c.Liveness}
	if wrong := all.Check(); len(wrong) > 0 {
		return fmt.Errorf("%s: %w", wrong[0].Path, wrong[0].Err)
	}
	return nil
}

// sharesAtHome reports whether the shards of a host that is one switch alone are those of the host
// that the switch belongs to, where its neighbours look for it.
func (c *Spec) sharesAtHome() bool {
	own := c.Placement
	return !slices.ContainsFunc(c.Placements, func(p Placement) bool {
		return slices.Contains(p.SwitchIDs(), own.SwitchIDs()[0]) && (p.Shard != own.Shard || p.Shards != own.Shards)
	})
}

// placed maps each node to the name of its host.
func (c *Spec) placed() map[weft.Node]string {
	all := map[weft.Node]string{}
	for _, p := range c.Placements {
		for _, id := range p.SwitchIDs() {
			all[id.Node()] = p.Host
		}
		for _, id := range p.NICIDs() {
			all[id.Node()] = p.Host
		}
	}
	return all
}

// Firmware makes the firmware of every switch by its name.
func (c *Spec) Firmware(ctx context.Context, g *topology.Graph) (switching.Firmware, error) {
	if err := subnet.Keep(c.Routing, c.File); err != nil {
		return switching.Firmware{}, err
	}
	fw, _, err := subnet.Firmware(ctx, c.Routing, g)
	if err != nil {
		return fw, fmt.Errorf("this process is of another release than the fabric, "+
			"lacks a firmware of its own or may not start one: %w", err)
	}
	return fw, nil
}
