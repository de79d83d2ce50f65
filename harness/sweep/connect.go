package sweep

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

// connectivity is the [Runner] of experiments that measure connectivity: it draws the faults of a
// run, and asks whether all pairs of NICs are connected with them, whatever choices the firmware
// leaves; of [measure.DDRC] whether up/down tables made anew connect them, and of a routing that is
// told what is dead whether it does when it knows these faults. There is no traffic, so of the
// result only Connected, Faults and Stable are set. The same seed has the same faults for every
// routing, and those of fewer faults are among those of more.
func connectivity(ctx context.Context, c measure.Config) (measure.Result, error) {
	set, err := c.Faultable()
	if err != nil {
		return measure.Result{}, err
	}
	set = set[:c.FaultCount]
	r := measure.Result{Faults: len(set), Stable: true, DeadlockAt: -1}
	var dead subnet.Dead
	for _, e := range set {
		if e.Switch {
			dead.AddSwitch(weft.SwitchID(e.ID))
		} else {
			dead.AddLink(weft.LinkID(e.ID))
		}
	}
	if c.Routing == measure.DDRC {
		routes, err := subnet.NewUpDownRoutes(c.Topology)
		if err != nil {
			return r, err
		}
		r.Connected = routes.Compute(&dead) == 0
		return r, nil
	}
	entry, err := subnet.ByName(c.Routing)
	if err != nil {
		return r, err
	}
	made := entry.New
	if entry.Around != nil {
		made = func(ctx context.Context, g *topology.Graph) (firmware.Firmware, int, error) {
			return entry.Around(ctx, g, &dead)
		}
	}
	fw, vcs, err := made(ctx, c.Topology)
	if err != nil {
		return r, err
	}
	v := verify.Config{Graph: c.Topology, Name: c.Routing, Firmware: fw, VCs: max(c.Switch.VCs, vcs)}
	r.Connected, err = measure.Connects(ctx, v, set)
	return r, err
}
