package verify

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
)

// around is Around with what every switch must be able to run.
func (c *Config) around() func(dead *subnet.Dead) ([]switching.Firmware, error) {
	if !c.knowing() {
		return nil
	}
	own := *c
	makers := []func(*subnet.Dead) (switching.Firmware, int, error){own.Around}
	if own.Mixed != nil {
		makers = append(makers, own.Mixed.Around)
	}
	return func(dead *subnet.Dead) ([]switching.Firmware, error) {
		fws := own.firmwares()
		for i, around := range makers {
			if around == nil {
				continue
			}
			fw, vcs, err := around(dead)
			switch {
			case err != nil:
				return nil, err
			case vcs > own.VCs:
				return nil, fmt.Errorf("%w: it needs %d virtual channels, there are %d: raise the number",
					ErrConfig, vcs, own.VCs)
			}
			fws[i] = fw
		}
		return fws, own.fits(fws...)
	}
}

// knowing reports whether a firmware is made knowing what is dead.
func (c *Config) knowing() bool { return c.Around != nil || c.Mixed != nil && c.Mixed.Around != nil }

// adopt explores from now on the firmware that is made for a set, and forgets what others have
// answered.
func (x *explorer) adopt(set []Element) error {
	if x.m.around == nil {
		return nil
	}
	var dead subnet.Dead
	for _, e := range set {
		if e.Switch {
			dead.AddSwitch(weft.SwitchID(e.ID))
		} else {
			dead.AddLink(weft.LinkID(e.ID))
		}
	}
	fws, err := x.m.around(&dead)
	if err == nil {
		own := *x.m // which others explore too
		x.m = &own
		err = own.use(fws...)
	}
	if err != nil {
		return fmt.Errorf("with %s dead: %w", x.names(set), err)
	}
	x.space.m, x.graph.m = x.m, x.m
	if x.extended.m != nil {
		x.extended.m = x.m
	}
	x.space.clear()
	x.memory.clear()
	if x.parts == nil {
		x.parts = subnet.NewComponents(x.m.g)
	}
	x.parts.Compute(&dead)
	return nil
}
