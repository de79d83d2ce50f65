package lead

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// MistakesError lists the settings that are wrong, or do not fit the topology.
type MistakesError struct{ List []settings.Mistake }

// Error implements error.
func (e *MistakesError) Error() string {
	var errs []error
	for _, m := range e.List {
		errs = append(errs, m.Err)
	}
	return errors.Join(errs...).Error()
}

// DefaultTopology is that of a new fabric unless another is named.
const DefaultTopology = "kary-ntree:4,3"

// options turns the settings into those of a fabric, all but the transport, and chooses what is not
// given.
func (p *process) options(ctx context.Context) (fabric.Options, error) {
	p.Settings.Topology = cmp.Or(p.Settings.Topology, DefaultTopology)
	g, err := p.Load(p.Settings.Topology)
	if err != nil {
		return fabric.Options{}, err
	}
	return p.optionsOn(ctx, g)
}

// optionsOn is options on a topology that is there already.
func (p *process) optionsOn(ctx context.Context, g *topology.Graph) (fabric.Options, error) {
	s := &p.Settings
	s.Traffic = cmp.Or(s.Traffic, defaultTraffic(g, cmp.Or(s.Link.Rate, fabric.DefaultRate), theseCores()))
	s.Routing = cmp.Or(s.Routing, subnet.Default(g))
	var err error
	made, wrong := scenario.Build(ctx, *s, g)
	if len(wrong) > 0 {
		return made.Options, &MistakesError{wrong}
	}
	if made.OpenSM {
		return made.Options,
			errors.New("manager.method opensm is for fabricd run: leave manager out, launch the fabric with --ib, " +
				"and start fabricd ib -- opensm beside it")
	}
	if s.Manager.Method != manage.Auto && made.Manager.On() {
		if _, err := manage.New(ctx, g, made.Routing, made.Manager, made.Options.Switch.VCs); err != nil {
			return made.Options, err
		}
	}
	s.Manager.Method, p.unmanaged = made.Manager.String(), made.Unmanaged
	s.Routing, _, err = subnet.Pin(made.Routing) // what other processes make too
	return made.Options, err
}
