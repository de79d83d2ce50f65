package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/switch/firmware"
)

// routings gives single switches a firmware of their own.
func (p *parser) routings(ctx context.Context, f format.File, own []firmware.Firmware) {
	o := p.options
	made, at := map[string]firmware.Firmware{}, map[weft.SwitchID]firmware.Firmware{}
	least := o.Switch.VCs
	for _, name := range slices.Sorted(maps.Keys(f.Routings)) {
		sw, err := o.Topology.SwitchByName(name)
		path := "$.routings['" + name + "']"
		p.fail(path, err)
		routing := f.Routings[name]
		if _, ok := made[routing]; !ok {
			e, err2 := entry(routing, own)
			vcs := 0
			if err2 == nil {
				made[routing], vcs, err2 = e.New(ctx, o.Topology)
			}
			p.fail(path, err2)
			least = max(least, vcs)
		}
		if err == nil {
			at[sw] = made[routing]
		}
	}
	if given := f.Switch.VCs; given > 0 && given < least {
		p.fail("$.switch.vcs", fmt.Errorf("the routings need at least %d virtual channels on %s, found %d",
			least, o.Topology.Spec, given))
	}
	if p.errs.Err() != nil {
		return
	}
	o.Switch.VCs, o.Firmware, o.Unnamed = least, firmware.Mixed(o.Firmware, at), true
	p.fail("$.routings", runs(o))
	if f.Manager.Method != "" {
		p.fail("$.manager", errors.New("a manager replaces the tables of one routing: leave it out, or the routings"))
	}
	if o.Switch.Requeue {
		p.fail("$.switch.requeue", requeues(o.Firmware, o.Topology))
	}
}
