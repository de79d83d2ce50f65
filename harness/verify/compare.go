package verify

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// CompareUpDown is a [Config.Compare] by up/down tables made anew (DDRC). The NICs of dead switches
// are gone, and their pairs do not count, as in the checker. The error says that there are no
// up/down tables for this topology.
func CompareUpDown(g *topology.Graph) (func([]Element) (updown, physical bool), error) {
	if _, err := subnet.NewUpDownRoutes(g); err != nil {
		return nil, err
	}
	nics := make([]int, len(g.Switches))
	for _, n := range g.NICs {
		s, _ := g.SwitchOf(n.ID)
		nics[s]++
	}
	return func(set []Element) (updown, physical bool) {
		routes, err := subnet.NewUpDownRoutes(g)
		if err != nil {
			panic(fmt.Sprintf("verify: BUG: %v", err)) // it has been made before
		}
		var dead subnet.Dead
		gone := 0
		for _, e := range set {
			if e.Switch {
				dead.AddSwitch(weft.SwitchID(e.ID))
				gone += nics[e.ID]
			} else {
				dead.AddLink(weft.LinkID(e.ID))
			}
		}
		excused := gone * (2*len(g.NICs) - gone - 1) // ordered pairs with a NIC that is gone
		return routes.Compute(&dead) == excused, subnet.Connected(g, &dead) == excused
	}, nil
}

// Write writes the counterexample of a configuration as a scenario that replays it.
func (c *Counterexample) Write(path string, cfg Config) error {
	f, err := c.Scenario(cfg, cfg.Name)
	if err != nil {
		return err
	}
	text, err := format.Write(f)
	if err != nil {
		return err
	}
	return safefile.Write(path, text)
}
