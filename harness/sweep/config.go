package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// builder turns settings into what is run, and remembers what many runs share.
type builder struct {
	loads  []Load
	graphs map[string]*graph
	fits   map[string]error // whether a routing runs on a topology: by all of them
}

type graph struct {
	*topology.Graph
	err           error
	links, inside int // links between switches, switches without NICs
	updown        error
}

// misfit is a mistake in one field.
type misfit struct {
	field string
	err   error
}

// bounds of what is written, chosen by us: anything larger is a slip.
const (
	maxDelay  = 1e6 // cycles
	maxCycles = 1 << 40
	maxQueue  = 1 << 32 // bytes
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
	}
	b.graphs[spec] = g
	return g
}

// config makes the configuration of a run, but for its seed, and finds all that is wrong with it.
func (b *builder) config(s *settled, traffic bool) (c measure.Config, wrong []misfit) {
	bad := func(field string, err error) {
		if err != nil {
			wrong = append(wrong, misfit{field, err})
		}
	}
	within := func(field string, v *int, least, most int) int {
		if v != nil && (*v < least || *v > most) {
			bad(field, fmt.Errorf("%s is %d, expected %d to %d", field, *v, least, most))
		}
		return get(v)
	}
	delay := func(field string, v *float64) weft.Time {
		if v != nil && !(*v >= 0 && *v <= maxDelay) {
			bad(field, fmt.Errorf("%s is %v cycles, expected 0 to %d", field, *v, int(maxDelay)))
			return 0
		}
		cycle := 512.0
		if s.CycleNS != nil {
			cycle = *s.CycleNS
		}
		return weft.Time(math.Round(get(v) * cycle * float64(weft.Nanosecond)))
	}

	c.VCs = within("vcs", s.VCs, 1, weft.MaxVCs)
	c.InputBuffer = within("input_buffer", s.InputBuffer, 1, weft.MaxBuffer)
	c.OutputBuffer = within("output_buffer", s.OutputBuffer, 1, weft.MaxBuffer)
	c.PacketBytes = within("packet_bytes", s.PacketBytes, 1, weft.MaxPacket)
	c.QueueBytes = within("queue_bytes", s.QueueBytes, 1, maxQueue)
	c.BytesPerCycle = within("bytes_per_cycle", s.BytesPerCycle, 1, weft.MaxPacket)
	if packet := max(c.PacketBytes, 256*b2i(c.PacketBytes == 0)); c.QueueBytes > 0 && c.QueueBytes < packet {
		bad("queue_bytes", fmt.Errorf("a send queue of %d bytes cannot hold a packet of %d", c.QueueBytes, packet))
	}
	if s.CycleNS != nil && !(*s.CycleNS >= 0.001 && *s.CycleNS <= 1e9) {
		bad("cycle_ns", fmt.Errorf("a cycle of %v ns, expected 0.001 to 1e9", *s.CycleNS))
		return c, wrong
	}
	c.Cycle = weft.Time(math.Round(get(s.CycleNS) * float64(weft.Nanosecond)))
	c.WireDelay, c.RoutingDelay, c.CrossbarDelay = delay("wire_delay", s.WireDelay), delay("routing_delay", s.RoutingDelay), delay("crossbar_delay", s.CrossbarDelay)
	c.EagerCredits, c.FaultsBefore, c.Hunt, c.Warmup.Skip = get(s.EagerCredits), get(s.FaultsBefore), get(s.Hunt), get(s.WarmupSkip)
	c.RegisterExpire = within("register_expire", s.RegisterExpire, measure.NeverExpire, maxCycles)
	c.FaultSpacing = within("fault_spacing", s.FaultSpacing, 1, maxCycles)
	c.ReconfigureAfter = within("reconfigure_after", s.Reconfigure, 0, maxCycles)
	c.Warmup.Batch = within("warmup_batch", s.WarmupBatch, 1, maxCycles)
	c.Warmup.Batches = within("warmup_batches", s.WarmupBatches, 1, 1000)
	c.Warmup.Most = within("warmup_most", s.WarmupMost, 1, maxCycles)
	if t := s.WarmupTolerance; t != nil && !(*t > 0 && *t < 1) {
		bad("warmup_tolerance", fmt.Errorf("a tolerance of %v, expected a share above 0 and below 1", *t))
	}
	c.Warmup.Tolerance = get(s.WarmupTolerance)
	c.Window = within("window", s.Window, 1, maxCycles)
	c.MostCycles = within("most_cycles", s.MostCycles, 1, maxCycles)
	if c.Hunt && c.MostCycles == 0 && s.MostCycles == nil {
		bad("hunt", fmt.Errorf("a hunt for deadlocks lasts most_cycles: give them"))
	}
	bad("queueing", pick(s.Queueing, &c.Queueing, "queueing", []string{"virtual-output", "fifo"}, []switching.Queueing{switching.VirtualOutput, switching.FIFO}))
	bad("selection", pick(s.Selection, &c.Selection, "selection", []string{"most-credits", "random", "round-robin"},
		[]switching.Selection{switching.MostCredits, switching.Random, switching.RoundRobin}))
	b.network(s, &c, bad)
	if traffic {
		b.traffic(s, &c, bad)
	}
	return c, wrong
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func pick[T any](word *string, to *T, kind string, words []string, values []T) error {
	if word == nil {
		return nil
	}
	i := slices.Index(words, *word)
	if i < 0 {
		return document.Unknown(kind, *word, words)
	}
	*to = values[i]
	return nil
}

// network checks topology, routing and faults, which hang together.
func (b *builder) network(s *settled, c *measure.Config, bad func(string, error)) {
	missing := false
	for _, name := range []string{"topology", "routing"} {
		if !s.has(name) {
			bad(name, fmt.Errorf("there is no %s: give it in base, or by an axis", name))
			missing = true
		}
	}
	kinds := []string{measure.LinkFaults, measure.SwitchFaults}
	if s.FaultKind != nil && !slices.Contains(kinds, *s.FaultKind) {
		bad("fault_kind", document.Unknown("kind of faults", *s.FaultKind, kinds))
	}
	c.FaultKind = get(s.FaultKind)
	if missing {
		return
	}
	g := b.graph(*s.Topology)
	if g.err != nil {
		bad("topology", g.err)
		return
	}
	c.Topology, c.Routing = g.Graph, *s.Routing
	bad("routing", b.runs(g, *s.Topology, *s.Routing, get(s.VCs)))
	most, what := g.links, "links between switches"
	if c.FaultKind == measure.SwitchFaults {
		most, what = g.inside, "switches without NICs"
	}
	c.FaultCount = get(s.Faults)
	if c.FaultCount < 0 || c.FaultCount > most {
		bad("faults", fmt.Errorf("%d faults, and %s has %d %s", c.FaultCount, *s.Topology, most, what))
	}
}

// runs reports why a routing does not run on a topology.
func (b *builder) runs(g *graph, spec, routing string, vcs int) error {
	key := fmt.Sprintf("%s %s %d", spec, routing, vcs)
	err, known := b.fits[key]
	if !known {
		err = runs(g, routing, vcs)
		b.fits[key] = err
	}
	return err
}

func runs(g *graph, routing string, vcs int) error {
	if routing == measure.DDRC {
		return g.updown
	}
	e, err := subnet.ByName(routing)
	if err != nil {
		return document.Unknown("routing", routing, append(subnet.Names(), measure.DDRC))
	}
	fw, least, err := e.New(g.Graph)
	if err != nil {
		return err
	}
	if vcs > 0 && vcs < least {
		return fmt.Errorf("%s needs at least %d virtual channels, found %d", routing, least, vcs)
	}
	if f, ok := fw.(firmware.Checker); ok {
		for _, s := range g.Switches {
			if err := f.Check(g.Place(s.ID), max(vcs, least)); err != nil {
				return err
			}
		}
	}
	return nil
}

// traffic checks load and pattern.
func (b *builder) traffic(s *settled, c *measure.Config, bad func(string, error)) {
	if s.Load == nil {
		bad("load", fmt.Errorf("there is no load: give it in base, or by an axis"))
		return
	}
	load, err := b.load(s)
	if err != nil {
		bad("load", err)
		return
	}
	if !(load > 0 && load <= 1) {
		bad("load", fmt.Errorf("a load of %v is impossible: it is the share of a link's capacity that each NIC offers, above 0 and at most 1", *s.Load))
		return
	}
	pattern, options, more := strings.Cut(s.pattern(), ",")
	text := pattern + ":" + formatFloat(load)
	if more {
		text += "," + options
	}
	c.Traffic, err = nic.ParseTraffic(text)
	if err == nil && c.Traffic.Idle() {
		err = fmt.Errorf("%q is no traffic, so there is nothing to measure", s.pattern())
	}
	bad("traffic", err)
}

// pattern is the traffic without its load.
func (s *settled) pattern() string {
	if s.Traffic == nil {
		return "uniform"
	}
	return *s.Traffic
}

// load is the load as a number.
func (b *builder) load(s *settled) (float64, error) {
	if x, ok := s.Load.number(); ok {
		return x, nil
	}
	var names []string
	for _, l := range b.loads {
		if l.Name == string(*s.Load) && (l.Topology == "" || l.Topology == get(s.Topology)) && (l.Traffic == "" || l.Traffic == s.pattern()) {
			return l.Load, nil
		}
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
	}
	if slices.Contains(names, string(*s.Load)) {
		return 0, fmt.Errorf("loads has no %s for %s with traffic %s: add it", *s.Load, get(s.Topology), s.pattern())
	}
	return 0, document.Unknown("load", string(*s.Load), names)
}
