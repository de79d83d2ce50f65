package sweep

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/harness/measure"
)

// Layers is the [Runner] of experiments that measure layers: it computes the routes, and tells how
// many layers and addresses they need, what the channels carry, and whether their dependencies have
// a cycle, as the routes themselves say and not the engine. There is no traffic, so of the result
// only these, Connected, Stable and HopsMean are set; the last is the mean over pairs of NICs.
func Layers(ctx context.Context, c measure.Config) (measure.Result, error) {
	if err := ctx.Err(); err != nil {
		return measure.Result{}, err
	}
	routes, err := subnet.Routes(ctx, c.Routing, c.Topology)
	if err != nil {
		return measure.Result{}, fmt.Errorf("%s: %w", c.Topology.Spec, err)
	}
	s, err := survey.Of(ctx, routes)
	if err != nil {
		return measure.Result{}, err
	}
	r := measure.Result{
		Stable: true, DeadlockAt: -1, Connected: s.Unroutable == 0, Acyclic: s.Cycle == nil,
		Layers: routes.Layers, Addresses: routes.Tables.Paths(), HopsMean: s.MeanHops + 1,
	}
	for _, n := range s.Loads {
		r.MaxChannelLoad = max(r.MaxChannelLoad, n)
		r.MeanChannelLoad += float64(n) / float64(len(s.Loads))
	}
	for _, x := range s.Flows {
		r.MaxLinkLoad = max(r.MaxLinkLoad, x)
		r.MeanLinkLoad += x / float64(len(s.Flows))
	}
	return r, nil
}
