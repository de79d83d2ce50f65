package sweep

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

// connectivity is the [Runner] of experiments that measure connectivity: it draws the faults of a
// run, and asks whether all pairs of NICs are connected with them, whatever choices the firmware
// leaves, and whether packets can deadlock; of [measure.DDRC] whether up/down tables made anew
// connect them, and of a routing that is told what is dead whether it does when it knows these
// faults. There is no traffic, so of the result only Connected, Acyclic, Faults and Stable are set,
// and where every set is judged Sets and what is said of them as by [Tolerate]. The same seed has
// the same faults for every routing, and those of fewer faults are among those of more.
func connectivity(ctx context.Context, c measure.Config) (measure.Result, error) {
	r := measure.Result{Faults: c.FaultCount, Stable: true, DeadlockAt: -1}
	if c.EverySet {
		return r, everySet(ctx, &c, &r)
	}
	set, err := c.Faultable()
	if err != nil {
		return measure.Result{}, err
	}
	set = set[:c.FaultCount]
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
		r.Connected, r.Acyclic = routes.Compute(&dead) == 0, true // ways go up, and then down
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
	v, err := measure.Judge(ctx, c.Asked(fw, vcs), set)
	r.Connected, r.Acyclic = v.Connected, v.Acyclic
	return r, err
}

// everySet asks about all sets of so many faults at once. A set is tolerated where all pairs are
// connected.
func everySet(ctx context.Context, c *measure.Config, r *measure.Result) error {
	entry, err := subnet.ByName(c.Routing)
	if err != nil {
		return err
	}
	fw, vcs, err := entry.New(ctx, c.Topology)
	if err != nil {
		return err
	}
	v := c.Asked(fw, vcs)
	v.Workers = max(1, c.Workers)
	// Smaller sets too: with a least size they would be explored one by one.
	v.Sets = verify.Sets{Kind: verify.Kind(c.FaultKind), Max: c.FaultCount}
	found, err := verify.Run(ctx, v)
	if err != nil {
		return err
	}
	of := found.ByFaults[len(found.ByFaults)-1]
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case found.Undecided != "":
		return fmt.Errorf("%s with %d faults: %s", c.Routing, c.FaultCount, found.Undecided)
	case of.Uncounted || found.About != "":
		return fmt.Errorf("%s with %d faults: the sets that connect all pairs cannot be counted: give fewer faults",
			c.Routing, c.FaultCount)
	}
	r.Acyclic = of.Deadlocks == 0
	judged(r, of.Sets, of.Sets-of.Connected)
	return nil
}

// everySet checks where all sets of faults can be judged at once.
func (s *settled) everySet(kind string, c *measure.Config, bad func(string, error)) {
	if c.EverySet = get(s.EverySet); !c.EverySet {
		return
	}
	var err error
	switch {
	case kind == ofTolerate:
		err = fmt.Errorf("with measure: %s all sets are judged unless fault_sets is given: leave it out", ofTolerate)
	case kind != ofReroute && kind != ofConnectivity:
		err = fmt.Errorf("every_set is for measure: %s and %s", ofReroute, ofConnectivity)
	case kind == ofReroute && c.Manager == physical:
		err = fmt.Errorf("every_set is for methods of reconfiguration, and the manager is %s", physical)
	case kind == ofReroute && (c.FaultCount > 1 || c.FaultKind == measure.SwitchFaults):
		err = fmt.Errorf("with measure: %s each link dies alone: give at most 1 for faults, of kind %s", ofReroute,
			measure.LinkFaults)
	case kind == ofConnectivity && c.Routing == measure.DDRC:
		err = fmt.Errorf("every_set is for routings that do not know the faults, and %s does", c.Routing)
	case kind == ofConnectivity:
		if e, unknown := subnet.ByName(c.Routing); unknown == nil && e.Around != nil {
			err = fmt.Errorf("every_set is for routings that do not know the faults, and %s does", c.Routing)
		}
	}
	bad("every_set", err)
}
