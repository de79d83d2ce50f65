package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// network is one of the comparison, as both run it.
type network struct {
	name, title, spec, routing string // without a title it is not drawn
	pattern                    string // of its traffic
	window                     int    // cycles, and at most as many to warm up
	variants                   []variant
}

// variant is one way to model a switch. It is measured at the loads of BookSim2's variant of the
// same name, or at one load.
type variant struct {
	name string
	at   float64 // 0: where theirs is
	do   []change
}

// change is one thing that a variant does differently.
type change func(c *measure.Config)

func fifo(c *measure.Config)    { c.Switch.Queueing = "fifo" }
func upDrawn(c *measure.Config) { c.Firmware = firmware.UpDown{Up: drawnUp}.Firmware() }
func input(packets int) change  { return func(c *measure.Config) { c.Switch.InputBuffer = packets } }

func output(packets int) change { return func(c *measure.Config) { c.Switch.OutputBuffer = packets } }

// causes are one change each, and then one after the other up to that which is nearest to
// BookSim2's "match".
func causes(load float64, first ...change) []variant {
	with := func(more ...change) []change { return append(slices.Clone(first), more...) }
	list := []variant{
		{"fifo", load, []change{fifo}},
		{"input-3", load, []change{input(3)}},
		{"input-4", load, []change{input(4)}},
		{"input-8", load, []change{input(8)}},
		{"output-1", load, []change{output(1)}},
		{"output-4", load, []change{output(4)}},
		{"match", 0, with(fifo, input(4), output(1))},
		{"match-3", load, with(fifo, input(3), output(1))},
		{"match-no-fifo", load, with(input(4), output(1))},
		{"match-output-2", load, with(fifo, input(4))},
	}
	if len(first) > 0 {
		list = append(list, variant{"up-drawn", load, first},
			variant{"match-no-draw", load, []change{fifo, input(4), output(1)}})
	}
	return list
}

var networks = []network{
	{"pair2", "", "mesh:2", "dimension-order", "pairwise", 10_000, []variant{
		{"one", 0, []change{input(1)}},
		{"two", 1, []change{input(2)}},
		{"three", 1, []change{input(3)}},
	}},
	{"fattree64", "4-ary 3-tree, 64 NICs", "kary-ntree:4,3", "updown", "uniform", 10_000, causes(0.9, upDrawn)},
	{"mesh64", "8x8 mesh, dimension order", "mesh:8x8", "dimension-order", "uniform", 10_000, causes(0.5)},
	{"torus512", "8x8x8 torus, dimension order", "torus:8x8x8", "dimension-order", "uniform", 3000, []variant{
		{"fifo", 0.8, []change{fifo}},
		{"input-4", 0.8, []change{input(4)}},
		{"output-1", 0.8, []change{output(1)}},
		{"match", 0, []change{fifo, input(4), output(1)}},
		{"match-3", 0.8, []change{fifo, input(3), output(1)}},
	}},
}

// plain is the variant without changes, on either side.
const plain = "plain"

// drawnUp is an up port that is drawn for each packet at each switch, as BookSim2 does. The draw is
// of what the packet is, so that it stays the same when the packet has to wait.
func drawnUp(sw switching.View, h *weft.Header) int {
	t := sw.Place().Tree
	x := uint64(h.Src)<<32 | uint64(h.Dst)
	// the finalizer of splitmix64: the draws of two tiers must not depend
	for _, salt := range [...]uint64{h.Seq, uint64(t.Tier)} {
		x += (salt + 1) * 0x9E3779B97F4A7C15
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		x ^= x >> 31
	}
	return int(x % uint64(t.Ups()))
}

// cycle is that of the papers: 128 bytes of a link.
const cycle = 512 * weft.Nanosecond

// config of one run.
func (n *network) config(g *topology.Graph, v variant, load float64, seed uint64) measure.Config {
	c := measure.Config{
		Topology: g, Routing: n.routing, Switch: settings.Switch{EagerCredits: true},
		Seed: seed, Window: n.window, Warmup: measure.Warmup{Most: n.window},
		Traffic: nic.Traffic{Pattern: n.pattern, Load: load},
		Cycle:   cycle, WireDelay: cycle, RoutingDelay: cycle, CrossbarDelay: cycle,
	}
	for _, change := range v.do {
		change(&c)
	}
	return c
}

// measure runs all that theirs asks for and that before does not hold, and hands the runs over one
// by one.
func (n *network) measure(ctx context.Context, theirs, before booksimTable, done func(booksimRun) error) (booksimTable,
	error,
) {
	g, err := topology.Parse(n.spec)
	if err != nil {
		return nil, err
	}
	todo, variants := n.plan(theirs)
	for i := range todo {
		r := &todo[i]
		if old, ok := before.find(*r); ok {
			*r = old
			continue
		}
		m, err := measure.Run(ctx, n.config(g, variants[i], r.load, r.seed))
		if err != nil {
			return nil, fmt.Errorf("%s, %s at load %v: %w", n.name, r.variant, r.load, err)
		}
		if m.Deadlocked { // it has no throughput that could be compared
			return nil, fmt.Errorf("%s, %s at load %v, seed %d: deadlock after %d cycles: %s: compare a routing that has none",
				n.name, r.variant, r.load, r.seed, m.DeadlockAt, m.Cycle)
		}
		r.accepted, r.latency, r.hops = m.Accepted, m.LatencyMean, m.HopsMean
		if err := done(*r); err != nil {
			return nil, err
		}
	}
	return todo, nil
}

// plan says what is to be measured: the variants beside theirs of the same name, the others at
// their own load with the same seeds.
func (n *network) plan(theirs booksimTable) (todo booksimTable, variants []variant) {
	var seeds []uint64
	for _, t := range theirs {
		if !slices.Contains(seeds, t.seed) {
			seeds = append(seeds, t.seed)
		}
	}
	add := func(v variant, load float64, seed uint64) {
		todo = append(todo, booksimRun{network: n.name, variant: v.name, load: load, seed: seed})
		variants = append(variants, v)
	}
	for _, v := range append([]variant{{name: plain}}, n.variants...) {
		if v.at > 0 {
			for _, seed := range seeds {
				add(v, v.at, seed)
			}
			continue
		}
		for _, t := range theirs.variant(v.name) {
			add(v, t.load, t.seed)
		}
	}
	return todo, variants
}
