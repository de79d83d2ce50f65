package sweep

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
)

// builder turns settings into what is run, and remembers what many runs share.
type builder struct {
	loads  []Load
	nets   *nets
	kind   string // what is measured
	graphs map[string]*graph
	fits   map[string]error   // whether a routing runs on a topology: by all of them
	traces map[string]*traced // by file
	valid  map[string]error   // what measure says, by all settings but load and faults
}

type graph struct {
	*topology.Graph
	err           error
	digest        string // of the file it is from, if it is from one
	links, inside int    // links between switches, switches without NICs
	updown        error
}

func newBuilder(loads []Load, n *nets, kind string) *builder {
	return &builder{
		loads: loads, nets: n, kind: kind,
		graphs: map[string]*graph{}, fits: map[string]error{}, traces: map[string]*traced{}, valid: map[string]error{},
	}
}

// misfit is a mistake in one field.
type misfit struct {
	field string
	err   error
}

// bounds of what is written, chosen by us: anything larger is a slip.
const (
	maxDelay  = 1_000_000 // cycles
	maxCycles = 1_000_000_000
)

func (b *builder) graph(spec string) *graph {
	g := b.graphs[spec]
	if g != nil {
		return g
	}
	g = &graph{}
	if g.Graph, g.err = topology.Parse(spec); g.err == nil {
		withNIC := map[weft.SwitchID]bool{}
		for _, n := range g.NICs {
			s, _ := g.SwitchOf(n.ID)
			withNIC[s] = true
		}
		g.inside = len(g.Switches) - len(withNIC)
		for _, l := range g.Links {
			if l.BetweenSwitches() {
				g.links++
			}
		}
		_, g.updown = subnet.NewUpDownRoutes(g.Graph)
		g.digest = digest(spec)
	}
	b.graphs[spec] = g
	return g
}

// reader reads settings into a configuration, and keeps what is wrong with them.
type reader struct {
	*settled
	c     measure.Config
	wrong []misfit
}

func (r *reader) bad(field string, err error) {
	if err != nil {
		r.wrong = append(r.wrong, misfit{field, err})
	}
}

// delay reads a time in cycles, whose length has been read.
func (r *reader) delay(field string, v *float64) weft.Time {
	if v != nil && !(*v >= 0 && *v <= maxDelay) {
		r.bad(field, fmt.Errorf("%s is %v cycles, expected 0 to %d", field, *v, maxDelay))
		return 0
	}
	ps := math.Round(get(v) * float64(cmp.Or(r.c.Cycle, measure.DefaultCycle)))
	if ps > float64(weft.Second) {
		r.bad(field, fmt.Errorf("%s is %v cycles, which is more than a second", field, *v))
		return 0
	}
	return weft.Time(ps)
}

// config makes the configuration of a run, but for its seed, and finds all that is wrong with it.
func (b *builder) config(ctx context.Context, s *settled) (measure.Config, []misfit) {
	r := &reader{settled: s}
	r.links()
	r.buffers()
	r.times()
	r.c = r.c.Filled()
	b.network(ctx, s, &r.c, r.bad)
	s.manager(b.kind, &r.c, r.bad)
	s.tolerate(b.kind, &r.c, r.bad)
	s.everySet(b.kind, &r.c, r.bad)
	if b.kind == ofNetwork {
		b.traffic(s, &r.c, r.bad)
	}
	return r.c, r.wrong
}

// links reads what packets and links are.
func (r *reader) links() {
	s, c := r.settled, &r.c
	if s.CycleNS != nil && !(*s.CycleNS >= 0.001 && *s.CycleNS <= 1e9) {
		r.bad("cycle_ns", fmt.Errorf("a cycle of %v ns, expected 0.001 to 1e9", *s.CycleNS))
	} else {
		c.Cycle = weft.Time(math.Round(get(s.CycleNS) * float64(weft.Nanosecond)))
	}
	c.WireDelay = r.delay("wire_delay", s.WireDelay)
	c.RoutingDelay = r.delay("routing_delay", s.RoutingDelay)
	c.CrossbarDelay = r.delay("crossbar_delay", s.CrossbarDelay)
}

// buffers reads what switches and NICs hold, and in which order they let it go.
func (r *reader) buffers() {
	var all settings.Settings
	for _, name := range shared {
		if x := settings.Of(name); r.has(name) {
			r.bad(name, all.Set(x.Path, r.text(name)))
			if x.Most > 0 && !x.Within(all.Number(x.Path)) { // 0, too: it is given
				r.bad(name, fmt.Errorf("%s is %s, expected %s", name, r.text(name), x.Bounds()))
				continue
			}
			r.bad(name, x.Check(all))
		}
	}
	r.c.Switch, r.c.NIC = all.Switch, all.NIC
}

// times reads when what happens, and all whole numbers.
func (r *reader) times() {
	s, c := r.settled, &r.c
	for _, x := range c.Numbers() {
		if s.has(x.Name) {
			*x.Value = int(s.field(x.Name).Elem().Int())
			if !x.Within(*x.Value) { // 0, too: it is given
				r.bad(x.Name, fmt.Errorf("%s is %d, expected %d to %d", x.Name, *x.Value, x.Least, x.Most))
			}
		}
	}
	c.FaultsBefore, c.Hunt, c.StopWhenSafe = get(s.FaultsBefore), get(s.Hunt), get(s.StopWhenSafe)
	c.Warmup.Skip = get(s.WarmupSkip)
	if s.RegisterExpire != nil && *s.RegisterExpire == 0 {
		r.bad("register_expire",
			fmt.Errorf("register_expire is 0, expected %d for never, or from 1 on: leave it out for what the routing says",
				measure.NeverExpire))
	}
	c.BypassPlanes, c.FaultKind = get(s.BypassPlanes), get(s.FaultKind)
	if t := s.WarmupTolerance; t != nil && !(*t > 0 && *t < 1) {
		r.bad("warmup_tolerance", fmt.Errorf("a tolerance of %v, expected a share above 0 and below 1", *t))
	}
	c.Warmup.Tolerance = get(s.WarmupTolerance)
	if c.Hunt && c.MostCycles == 0 && s.MostCycles == nil {
		r.bad("hunt", fmt.Errorf("a hunt for deadlocks lasts most_cycles: give them"))
	}
	if c.StopWhenSafe && !c.Hunt {
		r.bad("stop_when_safe", fmt.Errorf("only a hunt for deadlocks stops when there can be none: give hunt: true, too"))
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// network checks topology, routing and faults, which hang together.
func (b *builder) network(ctx context.Context, s *settled, c *measure.Config, bad func(string, error)) {
	missing := false
	for _, name := range []string{"topology", "routing"} {
		if !s.has(name) && (name == "topology" || b.kind != ofTolerate) {
			bad(name, fmt.Errorf("there is no %s: give it in base, or by an axis", name))
			missing = true
		}
	}
	kinds := []string{measure.LinkFaults, measure.SwitchFaults}
	if s.FaultKind != nil && !slices.Contains(kinds, *s.FaultKind) {
		bad("fault_kind", document.Unknown("kind of faults", *s.FaultKind, kinds))
	}
	if missing {
		return
	}
	s.unused(bad)
	spec, err := s.filled(*s.Topology, 0)
	if err != nil {
		bad("topology", err)
		return
	}
	g := b.graph(spec)
	if g.err != nil {
		bad("topology", g.err)
		return
	}
	c.Topology = g.Graph
	if b.kind != ofTolerate {
		b.routing(ctx, s, c, g, spec, bad)
	}
	most, what := g.links, "links between switches"
	if c.FaultKind == measure.SwitchFaults {
		most, what = g.inside, "switches without NICs"
	}
	c.FaultCount = get(s.Faults)
	switch {
	case c.FaultCount < 0:
		bad("faults", fmt.Errorf("%d faults, expected 0 or more", c.FaultCount))
	case c.FaultCount > most:
		bad("faults", fmt.Errorf("%d faults, and %s has %d %s", c.FaultCount, *s.Topology, most, what))
	case c.FaultSpacing > 0 && c.FaultCount > maxCycles/c.FaultSpacing:
		bad("fault_spacing", fmt.Errorf("%d faults, each %d cycles after the one before: expected at most %d cycles in all",
			c.FaultCount, c.FaultSpacing, maxCycles))
	}
}

// routing checks the routing on the graph of the first sample, and gives c what is computed of it.
func (b *builder) routing(
	ctx context.Context, s *settled, c *measure.Config, g *graph, spec string, bad func(string, error),
) {
	name, err := s.filled(*s.Routing, 0)
	if err != nil {
		bad("routing", err)
		return
	}
	if s.LayersOf != nil {
		if err := s.layersOf(name); err != nil {
			bad("layers_of", err)
			return
		}
	}
	if b.kind == ofLayers || b.kind == ofReroute {
		c.Routing = name
		bad("routing", computes(name))
		return
	}
	layers, err := b.nets.fill(ctx, c, &s.Settings, 0, b.kind)
	switch {
	case err != nil:
		bad("routing", err)
	case c.Switch.VCs < layers:
		bad("vcs", fmt.Errorf("%s needs at least %d virtual channels on %s, found %d", c.Routing, layers, spec, c.Switch.VCs))
	case layers == 0:
		bad("routing", b.runs(ctx, g, spec, c.Routing, get(s.VCs)))
	}
}

// layersOf checks what the layers of a routing are to be taken of.
func (s *settled) layersOf(routing string) error {
	of, err := s.filled(*s.LayersOf, 0)
	if err == nil {
		err = computes(of)
	}
	switch {
	case err != nil:
		return err
	case computes(routing) != nil:
		return fmt.Errorf("layers are added to the name of a routing that has a number of them, as updn, not to %s", routing)
	case strings.Contains(routing, "layers="):
		return fmt.Errorf("%s says how many layers it has: leave out that or layers_of", routing)
	}
	return nil
}

// runs reports why a routing does not run on a topology.
func (b *builder) runs(ctx context.Context, g *graph, spec, routing string, vcs int) error {
	key := fmt.Sprintf("%s %s %d", spec, routing, vcs)
	err, known := b.fits[key]
	if !known {
		err = runs(ctx, g, routing, vcs)
		b.fits[key] = err
	}
	return err
}

func runs(ctx context.Context, g *graph, routing string, vcs int) error {
	if routing == measure.DDRC {
		return g.updown
	}
	e, err := routingOf(routing)
	if err != nil {
		return err
	}
	fw, least, err := e.New(ctx, g.Graph)
	if err != nil {
		return err
	}
	if vcs > 0 && vcs < least {
		return fmt.Errorf("%s needs at least %d virtual channels, found %d", routing, least, vcs)
	}
	for _, s := range g.Switches {
		if err := fw.Fits(g.Place(s.ID), max(vcs, least)); err != nil {
			return err
		}
	}
	return nil
}

// runnable is what package measure finds wrong with a point in which nothing else is wrong. Loads
// and faults were looked at one by one, so points that differ in them only are one.
func (b *builder) runnable(ctx context.Context, pt *point) error {
	var key strings.Builder
	for _, name := range settingNames {
		if name != "load" && name != "faults" {
			key.WriteString(pt.set.text(name) + "\n")
		}
	}
	err, known := b.valid[key.String()]
	if !known {
		err = pt.config.Validate(ctx)
		b.valid[key.String()] = err
	}
	return err
}
