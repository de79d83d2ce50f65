package harness

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/virtual/world"
	"github.com/weft-fabric/weft/nic/netstack"
	"github.com/weft-fabric/weft/switch/wire"
)

var seedFlag = flag.Uint64("weft.seed", 0, "seed of the random draws of harness fabrics; 0 draws one")

// Harness is a live fabric for one test. Its methods fail the test when they cannot do what they
// say; call them from the test's own goroutine. Any number of tests may have one each at the same
// time.
type Harness struct {
	t      testing.TB
	name   string // of the test to run again
	cfg    config
	fabric *fabric.Fabric
	record *recorder
	stacks map[weft.NICID]*netstack.Stack // of the NICs that Net was called for

	unmanage func() // ends its subnet manager; nil: it has none
	told     bool   // the way to run the test again has been printed
}

// New starts a fabric and stops it when the test ends. The topology is given as [topology.Parse]
// takes it: "kary-ntree:4,3", or the path of a file. All links are up when New returns. A topology
// or an option that is not usable fails the test.
func New(t testing.TB, spec string, options ...Option) *Harness {
	t.Helper()
	p := newPlan(t, spec, options)
	h := p.start(t, p.config)
	t.Cleanup(h.stop)
	return h
}

// plan is what all fabrics of a test have in common.
type plan struct {
	graph  *topology.Graph
	config config
}

func newPlan(t testing.TB, spec string, options []Option) plan {
	t.Helper()
	c := defaults()
	for _, o := range options {
		o(&c)
	}
	g, err := topology.Parse(spec)
	if err = errors.Join(c.err, err); err != nil {
		t.Fatalf("harness: %v", err)
	}
	if c.byName.New != nil {
		if c.opts.Firmware, _, err = c.byName.New(t.Context(), g); err != nil {
			t.Fatalf("harness: %v", err)
		}
	}
	if c.opts.Switch.VCs == 0 {
		// with none the fabric says what else is lacking
		c.opts.Switch.VCs = c.method.VCs(cmp.Or(subnet.LeastVCs(c.opts.Firmware, g), weft.MaxVCs))
	}
	if l := c.opts.Liveness; l.Interval == "" && l.Multiplier == 0 {
		Liveness(patientInterval, patientMultiplier)(&c)
	}
	switch {
	case c.virtual && c.transport != nil:
		t.Fatalf("harness: Virtual with OverNATS: a broker lives by the clock on the wall: leave one of them out")
	case c.transport == nil:
		c.transport = inMemory
	}
	return plan{g, c}
}

// start starts one fabric.
func (p plan) start(t testing.TB, c config) *Harness {
	t.Helper()
	if *seedFlag != 0 {
		c.opts.Seed = *seedFlag
	}
	if c.opts.Seed == 0 {
		c.opts.Seed = rand.Uint64()
	}
	h := &Harness{t: t, name: t.Name(), record: newRecorder(p.graph)}
	c.opts.Topology, c.opts.Record, c.opts.Panicked = p.graph, h.record, h.record.panicked
	c.opts.TransportEvent = func(e wire.Event) {
		// a frame that the broker refuses, as at a cut: it is lost like the others there
		if e.Kind != wire.EventConnError && e.Kind != wire.EventUnauthorized {
			h.record.trouble(e.String())
		}
	}
	if c.virtual {
		c.opts.Runtime = world.New()
	} else {
		c.opts.Transport = c.transport(t)
	}
	h.cfg = c
	for _, change := range c.changes {
		change(&c.opts)
	}
	var err error
	if h.fabric, err = fabric.New(c.opts); err != nil {
		t.Fatalf("harness: %v", err)
	}
	ctx, cancel := h.fabric.WithTimeout(context.Background(), max(c.patience, DefaultPatience))
	defer cancel()
	if err := h.fabric.Start(ctx); err != nil {
		t.Fatalf("harness: %v", err)
	}
	if c.method.On() {
		stop, err := manager.Attach(h.fabric, c.byName.Name, c.method, c.opts.Switch.VCs, c.delays)
		if err != nil {
			h.fabric.Stop()
			t.Fatalf("harness: %v", err)
		}
		h.unmanage = stop
	}
	return h
}

// inMemory carries the links of a fabric unless an option says otherwise, until the test ends.
func inMemory(t testing.TB) wire.Transport {
	m := wire.NewMemory()
	t.Cleanup(func() { _ = m.Close() }) // cannot fail
	return m
}

// stop ends the fabric. A test that failed by other means than ours is told how to run it again.
func (h *Harness) stop() {
	for _, s := range h.stacks {
		s.Close()
	}
	if h.unmanage != nil {
		h.unmanage()
	}
	h.fabric.Stop()
	if panics := h.record.takePanics(); panics != "" {
		h.t.Errorf("%s", strings.TrimSuffix(panics, "\n"))
	}
	for _, e := range h.record.linkErrors() {
		h.t.Errorf("harness: links: %s", e)
	}
	if h.t.Failed() && !h.told {
		h.t.Log(h.replay())
	}
}

// Fabric is the fabric under test, for what the harness has no call for. Its API may change, see
// docs/api.md.
func (h *Harness) Fabric() *fabric.Fabric { return h.fabric }

// Topology is the graph of the fabric.
func (h *Harness) Topology() *topology.Graph { return h.fabric.Topology() }

// T is the test that the harness belongs to, which in [Seeds] is not the one that called it.
func (h *Harness) T() testing.TB { return h.t }

// Seed is the seed of the random draws; -weft.seed takes it to run the test again.
func (h *Harness) Seed() uint64 { return h.cfg.opts.Seed }
