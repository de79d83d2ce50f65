package measure

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// bypassed is the configuration of what is left when the planes with faults are switched off: a
// smaller torus or mesh without faults. It reports false when nothing is left that packets could
// cross.
func (c Config) bypassed(faults []death) (Config, bool, error) {
	net, err := direct.New(c.Topology)
	if err != nil {
		return c, false, fmt.Errorf("%w: bypass planes: %w", ErrConfig, err)
	}
	var dead subnet.Dead
	for _, f := range faults {
		switch {
		case !f.before:
			return c, false,
				fmt.Errorf("%w: bypass planes: planes are switched off before there is traffic: have the faults come before it",
					ErrConfig)
		case f.Switch:
			dead.AddSwitch(weft.SwitchID(f.ID))
		default:
			dead.AddLink(weft.LinkID(f.ID))
		}
	}
	left := net.Planes(dead.Cuts)
	if left.Spec == "" {
		return c, false, nil
	}
	if c.Topology, err = topology.Parse(left.Spec); err != nil {
		return c, false, fmt.Errorf("measure: BUG: what is left without planes is no topology: %w", err)
	}
	c.Faults, c.FaultCount = nil, 0
	return c, true, nil
}
