package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// Make makes a firmware by its name for a topology, and says how many virtual channels it needs at
// least.
type Make func(ctx context.Context, name string, g *topology.Graph) (fw switching.Firmware, vcs int, err error)

// Explainer answers questions. It keeps the topologies it has read, so that many questions about
// one cost little. For one goroutine at a time.
type Explainer struct {
	// Loaded, if not nil, is called with each topology that a question names for the first time.
	Loaded func(*topology.Graph)

	make    Make
	fabrics map[[2]string]*fabric // by topology and firmware
}

// maxFabrics bounds what is kept, chosen by us: a fabric of the largest kind takes some hundred
// megabytes.
const maxFabrics = 8

// New returns an explainer of the firmwares that m makes; nil is [subnet.Firmware].
func New(m Make) *Explainer {
	if m == nil {
		m = subnet.Firmware
	}
	return &Explainer{make: m, fabrics: map[[2]string]*fabric{}}
}

// fabric is a firmware in a topology.
type fabric struct {
	graph   *topology.Graph
	fw      switching.Firmware
	vcs     int // that it needs
	stands  map[weft.SwitchID]*stand
	routing string
}

func (e *Explainer) fabric(ctx context.Context, spec, routing string) (*fabric, error) {
	key := [2]string{spec, routing}
	if f, ok := e.fabrics[key]; ok {
		return f, nil
	}
	var g *topology.Graph
	for k, f := range e.fabrics {
		if k[0] == spec {
			g = f.graph
			break
		}
	}
	if g == nil {
		var err error
		if g, err = topology.Parse(spec); err != nil {
			return nil, within("topology", err)
		}
		if e.Loaded != nil {
			e.Loaded(g)
		}
	}
	name := cmp.Or(routing, subnet.Default(g))
	fw, vcs, err := e.make(ctx, name, g)
	if err != nil {
		return nil, within("routing", err)
	}
	if len(e.fabrics) >= maxFabrics {
		clear(e.fabrics)
	}
	f := &fabric{graph: g, fw: fw, vcs: vcs, routing: name, stands: map[weft.SwitchID]*stand{}}
	e.fabrics[key] = f
	return f, nil
}

// Explain answers one question. An error is an [*Error]: which part of the question is wrong and
// what was expected there.
func (e *Explainer) Explain(ctx context.Context, q Question) (*Decision, error) {
	if q.Topology == "" {
		return nil, within("topology", errors.New("missing: name one, as kary-ntree:4,3"))
	}
	f, err := e.fabric(ctx, q.Topology, q.Routing)
	if err != nil {
		return nil, err
	}
	id, err := resolve(q.Switch, "switch", len(f.graph.Switches), f.graph.SwitchByName)
	if err != nil {
		return nil, within("switch", err)
	}
	vcs := q.VCs
	vcs = cmp.Or(vcs, f.vcs)
	if vcs < 0 || vcs > weft.MaxVCs {
		return nil, within("vcs", fmt.Errorf("found %d, expected 1 to %d", vcs, weft.MaxVCs))
	}
	if q.VC < 0 || q.VC >= vcs {
		return nil, within("vc", fmt.Errorf("found %d, expected 0 to %d, of %d virtual channels", q.VC, vcs-1, vcs))
	}
	if q.Free < 0 || q.Free > weft.MaxBuffer {
		return nil, within("free", fmt.Errorf("found %d, expected 0 to %d", q.Free, weft.MaxBuffer))
	}
	s, err := f.stand(id, vcs)
	if err != nil {
		return nil, err
	}
	in, err := f.port(id, q.In)
	if err == nil && s.still.At.Roles[in] == weft.RoleNone {
		err = fmt.Errorf("port %d of %s leads nowhere: nothing comes in there", in, s.still.At.Name)
	}
	if err != nil {
		return nil, within("in_port", err)
	}
	hdr, err := f.packet(&q, id, in)
	if err != nil {
		return nil, err
	}
	if err := s.set(f, &q, id); err != nil {
		return nil, err
	}
	s.still.Channels = vcs
	at := switching.Arrival{Port: in, VC: hdr.VC, From: s.still.At.Roles[in]}
	asIs := hdr
	d, err := f.route(&hdr, at, &s.still)
	if err != nil {
		return nil, err
	}
	answer := f.decision(s, at, asIs, d, vcs)
	if hdr != asIs {
		answer.Problems = append(answer.Problems,
			"it changes the packet it is shown: a candidate's Fields are where changes go")
	}
	return answer, nil
}
