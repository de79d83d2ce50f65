package sweep

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/harness/measure"
)

// Layers is the [Runner] of experiments that measure layers: it computes the routes, and tells how many layers and addresses they
// need, how many pairs of switches the channels carry, and whether their dependencies have a cycle, as the routes themselves say and
// not the engine. There is no traffic, so of the result only these and Connected and Stable are set.
func Layers(ctx context.Context, c measure.Config) (measure.Result, error) {
	if err := ctx.Err(); err != nil {
		return measure.Result{}, err
	}
	routes, err := subnet.Routes(c.Routing, c.Topology)
	if err != nil {
		return measure.Result{}, fmt.Errorf("%s: %w", c.Topology.Spec, err)
	}
	return layersOf(routes), nil
}

func layersOf(routes *layered.Routing) measure.Result {
	d := routes.Dependencies()
	r := measure.Result{
		Stable: true, DeadlockAt: -1, Connected: routes.Unroutable == 0, Acyclic: d.Cycle() == nil,
		Layers: routes.Layers, Addresses: routes.Tables.Paths(),
	}
	sum, channels := 0, 0
	for i := range routes.Graph.Links {
		l := &routes.Graph.Links[i]
		if !l.BetweenSwitches() {
			continue
		}
		for _, end := range []weft.End{l.A, l.B} {
			load := 0
			for layer := range weft.VC(routes.Layers) {
				load += d.Loads[d.Channels.Number(weft.SwitchID(end.Node.Index), end.Port, layer)]
			}
			r.MaxChannelLoad = max(r.MaxChannelLoad, load)
			sum, channels = sum+load, channels+1
		}
	}
	if channels > 0 {
		r.MeanChannelLoad = float64(sum) / float64(channels)
	}
	return r
}
