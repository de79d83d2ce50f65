package sweep

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/verify"
)

// Connectivity is the [Runner] of experiments that measure connectivity: it draws the faults of a run, and asks whether all pairs of NICs are
// connected with them, whatever choices the firmware leaves; of [measure.DDRC] whether up/down tables made anew connect them. There is no
// traffic, so of the result only Connected, Faults and Stable are set. The same seed has the same faults for every routing, and those of fewer
// faults are among those of more.
func Connectivity(ctx context.Context, c measure.Config) (measure.Result, error) {
	set := drawFaults(c)
	r := measure.Result{Faults: len(set), Stable: true, DeadlockAt: -1}
	if c.Routing == measure.DDRC {
		routes, err := subnet.NewUpDownRoutes(c.Topology)
		if err != nil {
			return r, err
		}
		var dead subnet.Dead
		for _, e := range set {
			if e.Switch {
				dead.AddSwitch(weft.SwitchID(e.ID))
			} else {
				dead.AddLink(weft.LinkID(e.ID))
			}
		}
		r.Connected = routes.Compute(&dead) == 0
		return r, nil
	}
	fw, _, err := subnet.Firmware(c.Routing, c.Topology)
	if err != nil {
		return r, err
	}
	v, err := verify.Run(ctx, verify.Config{Graph: c.Topology, Name: c.Routing, Firmware: fw, VCs: c.VCs, Sets: verify.Sets{List: [][]verify.Element{set}}, Workers: 1})
	if err != nil {
		return r, err
	}
	if v.Interrupted || len(v.ByFaults) == 0 {
		return r, fmt.Errorf("the checker was interrupted: %w", context.Canceled)
	}
	for _, s := range v.ByFaults {
		r.Connected = r.Connected || s.Connected == 1
	}
	return r, nil
}

// drawFaults draws the faults of a run: the first of a random order of all candidates.
func drawFaults(c measure.Config) []verify.Element {
	list := candidates(c.Topology, c.FaultKind)
	draw := rand.New(rand.NewPCG(c.Seed, 1))
	draw.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list[:c.FaultCount]
}

func candidates(g *topology.Graph, kind string) (list []verify.Element) {
	if kind != measure.SwitchFaults {
		for _, l := range g.Links {
			if l.BetweenSwitches() {
				list = append(list, verify.Element{ID: uint32(l.ID)})
			}
		}
		return list
	}
	nics := make([]int, len(g.Switches))
	for _, n := range g.NICs {
		s, _ := g.SwitchOf(n.ID)
		nics[s]++
	}
	for _, s := range g.Switches {
		if nics[s.ID] == 0 {
			list = append(list, verify.Element{Switch: true, ID: uint32(s.ID)})
		}
	}
	return list
}
