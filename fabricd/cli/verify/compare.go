package verify

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/verify"
)

// comparison asks of a set of faults whether up/down tables made anew (DDRC) connect all pairs, and
// whether anything can. The NICs of dead switches are gone, and their pairs do not count, as in the
// checker.
func comparison(g *topology.Graph) (func([]verify.Element) (updown, physical bool), error) {
	if _, err := subnet.NewUpDownRoutes(g); err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	nics := make([]int, len(g.Switches))
	for _, n := range g.NICs {
		s, _ := g.SwitchOf(n.ID)
		nics[s]++
	}
	return func(set []verify.Element) (updown, physical bool) {
		routes, err := subnet.NewUpDownRoutes(g)
		if err != nil {
			panic(fmt.Sprintf("fabricd: BUG: %v", err)) // it has been made before
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

// writeCounterexample writes a counterexample as a scenario that replays it.
func writeCounterexample(path string, c verify.Config, found *verify.Counterexample) error {
	f, err := found.Scenario(c, c.Name)
	if err != nil {
		return fmt.Errorf("--scenario: %w", err)
	}
	text, err := format.Write(f)
	if err == nil {
		err = safefile.Write(path, text)
	}
	if err != nil {
		return fmt.Errorf("--scenario: %w", err)
	}
	return nil
}
