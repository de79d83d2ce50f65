package verify

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
)

// around is Around with what every switch must be able to run.
func (c *Config) around() func(dead *subnet.Dead) (switching.Firmware, error) {
	if c.Around == nil {
		return nil
	}
	own := *c
	return func(dead *subnet.Dead) (switching.Firmware, error) {
		fw, vcs, err := own.Around(dead)
		switch {
		case err != nil:
			return fw, err
		case vcs > own.VCs:
			return fw, fmt.Errorf("%w: it needs %d virtual channels, there are %d: raise the number", ErrConfig, vcs, own.VCs)
		}
		return fw, own.fits(fw)
	}
}

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
	fw, err := x.m.around(&dead)
	if err == nil {
		own := *x.m // which others explore too
		x.m = &own
		err = own.use(fw)
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
