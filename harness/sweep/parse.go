package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
)

// Experiment is a checked experiment, ready to run.
type Experiment struct {
	File
	path        string
	full, quick plan
	nets        *nets
}

// kinds of what a run measures.
const (
	ofNetwork      = "network"
	ofConnectivity = "connectivity"
	ofLayers       = "layers"
	ofReroute      = "reroute"
	ofTolerate     = "tolerate"
)

// What means can leave out.
const (
	deadlocked   = "deadlocked"
	disconnected = "disconnected"
	unstable     = "unstable"
)

// Read reads and checks an experiment file, and every network that it asks for, in full and in
// quick form. Errors name file, line and what was expected, all of them at once.
func Read(ctx context.Context, path string) (*Experiment, error) {
	doc, f, err := document.Read[File](path)
	if err != nil {
		return nil, err
	}
	return parse(ctx, path, doc, f)
}

// parser collects the mistakes of one file.
type parser struct {
	doc  *document.Doc
	errs document.Errors
	seen map[string]bool // mistakes, so that a thousand points do not tell one a thousand times
}

func (p *parser) fail(path string, err error) {
	if err == nil {
		return
	}
	err = p.doc.Errorf(path, "%w", err)
	if text := err.Error(); !p.seen[text] {
		p.seen[text] = true
		p.errs.Add(err)
	}
}

func (p *parser) failf(path, format string, args ...any) { p.fail(path, fmt.Errorf(format, args...)) }

// word is what names of experiments, axes and plots are made of: they become file names and
// columns.
var word = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

func parse(ctx context.Context, path string, doc *document.Doc, f File) (*Experiment, error) {
	p := &parser{doc: doc, seen: map[string]bool{}}
	e := &Experiment{File: f, path: path, nets: &nets{}}
	e.Seed = cmp.Or(f.Seed, 1)
	e.Measure = cmp.Or(f.Measure, ofNetwork)
	p.head(e)
	p.full(e)
	p.quick(e)
	b := newBuilder(f.Loads, e.nets, e.Measure)
	if p.errs.Len() == 0 {
		p.points(ctx, b, e, &e.full)
		p.points(ctx, b, e, &e.quick)
		p.loads(e)
	}
	for i := range e.Plots {
		p.plot(e, i)
	}
	for i := range e.Checks {
		p.check(e, i)
	}
	err := p.errs.Err()
	switch {
	case err != nil && ctx.Err() != nil: // what is wrong may be that
		return nil, fmt.Errorf("%s is not read to its end: %w", path, context.Cause(ctx))
	case err != nil:
		return nil, err
	}
	return e, nil
}

func (p *parser) head(e *Experiment) {
	base := strings.TrimSuffix(filepath.Base(e.path), filepath.Ext(e.path))
	switch {
	case !word.MatchString(e.Name):
		p.failf("$.name", "the name is %q, expected lower-case letters, digits, - and _", e.Name)
	case e.Name != base:
		p.failf("$.name", "the name is %q, expected that of the file, %q: results are found by it", e.Name, base)
	}
	kinds := []string{ofNetwork, ofConnectivity, ofLayers, ofReroute, ofTolerate}
	if !slices.Contains(kinds, e.Measure) {
		p.fail("$.measure", document.Unknown("measure", e.Measure, kinds))
	}
	p.samples("$.samples", e.Samples)
	p.samples("$.quick.samples", e.Quick.Samples)
	for i, x := range e.Exclude {
		known := []string{deadlocked, disconnected, unstable}
		if !slices.Contains(known, x) {
			p.fail(fmt.Sprintf("$.exclude[%d]", i), document.Unknown("reason to exclude", x, known))
		}
	}
	if e.Exclude == nil {
		e.Exclude = []string{deadlocked, disconnected}
	}
	for i, l := range e.Loads {
		at := fmt.Sprintf("$.loads[%d]", i)
		if _, numeric := Value(l.Name).number(); numeric || l.Name == "" {
			p.failf(at+".name", "the name of a load is %q, expected a word", l.Name)
		}
		if !(l.Load > 0 && l.Load <= 1) {
			p.failf(at+".load",
				"a load of %v is impossible: it is the share of a link's capacity that each NIC offers, above 0 and at most 1",
				l.Load)
		}
		if slices.ContainsFunc(e.Loads[:i], func(o Load) bool { return o.hides(&l) }) {
			p.failf(at+".name", "load %s is never used: one of that name before it is for every network that this is for",
				l.Name)
		}
	}
}

func (p *parser) samples(path string, n int) {
	if n < 1 || n > maxSamples {
		p.failf(path, "%d samples, expected 1 to %d", n, maxSamples)
	}
}

func (p *parser) full(e *Experiment) {
	e.full.samples = e.Samples
	e.full.base.over(&e.Base, "$.base")
	for i, a := range e.Axes {
		x, ok := p.axis(fmt.Sprintf("$.axes[%d]", i), a)
		if e.full.index(a.Axis) >= 0 {
			p.failf(fmt.Sprintf("$.axes[%d].axis", i), "axis %s is there twice", a.Axis)
		}
		if ok {
			e.full.axes = append(e.full.axes, x)
		}
	}
}

func (p *parser) axis(at string, a Axis) (axis, bool) {
	x := axis{name: a.Axis, plain: slices.Contains(settingNames, a.Axis)}
	ranged := a.From != nil || a.To != nil || a.Step != nil
	given := 0
	for _, g := range []bool{a.Values != nil, ranged, a.Of != nil} {
		given += b2i(g)
	}
	switch {
	case given != 1:
		p.failf(at, "axis %s needs one of: values, from and to, of", a.Axis)
		return x, false
	case a.Of == nil && !x.plain:
		p.fail(at+".axis", document.Unknown("axis", a.Axis, settingNames))
		return x, false
	case a.Of != nil && (x.plain || !word.MatchString(a.Axis) || columnAt(a.Axis) >= 0 ||
		slices.Contains(ownColumns, a.Axis)):
		p.failf(at+".axis", "an axis of several fields needs a name of its own, found %q", a.Axis)
		return x, false
	}
	before := p.errs.Len()
	switch {
	case a.Of != nil:
		for i, v := range a.Of {
			x.values, x.sets = append(x.values, Value(v.Name)), append(x.sets, v.Settings)
			x.paths = append(x.paths, fmt.Sprintf("%s.of[%d]", at, i))
			if v.Name == "" {
				p.failf(x.paths[i]+".name", "the name is empty: give it one, as DDLR")
			}
		}
	case ranged:
		x.values = p.between(at, a)
	default:
		x.values = a.Values
	}
	seen := map[string]bool{}
	for i, v := range x.values {
		path := at
		if a.Of != nil {
			path = x.paths[i]
		} else {
			if a.Values != nil {
				path = fmt.Sprintf("%s.values[%d]", at, i)
			}
			var s Settings
			p.fail(path, s.set(a.Axis, v))
			x.sets, x.paths = append(x.sets, s), append(x.paths, path)
		}
		if seen[v.canonical()] {
			p.failf(path, "axis %s has %s twice", a.Axis, v)
		}
		seen[v.canonical()] = true
	}
	if len(x.values) == 0 && !ranged {
		p.failf(at, "axis %s is empty: give it values, or leave it out", a.Axis)
	}
	return x, p.errs.Len() == before
}

// between are the values of an axis from one to another.
func (p *parser) between(at string, a Axis) (list []Value) {
	if a.From == nil || a.To == nil {
		p.failf(at, "axis %s needs both from and to", a.Axis)
		return nil
	}
	step := 1.0
	if a.Step != nil {
		step = *a.Step
	}
	n := (*a.To-*a.From)/step + 1e-9
	if !(step > 0) || !(n >= 0) || n > maxPoints {
		p.failf(at, "axis %s goes from %v to %v by %v, expected a step above 0 and at most %d values", a.Axis, *a.From, *a.To,
			step, maxPoints)
		return nil
	}
	for i := range int(n) + 1 {
		x := *a.From + float64(i)*step
		list = append(list, Value(formatFloat(math.Round(x*1e9)/1e9)))
	}
	return list
}

// quick makes the quick plan of the full one.
func (p *parser) quick(e *Experiment) {
	q := &e.quick
	q.samples = e.Quick.Samples
	q.base = e.full.base.copied()
	q.base.over(&e.Quick.Base, "$.quick.base")
	for _, name := range slices.Sorted(maps.Keys(e.Quick.Axes)) {
		if e.full.index(name) < 0 {
			p.fail("$.quick.axes", unknownAxis(name, &e.full))
		}
	}
	for _, a := range e.full.axes {
		some, ok := e.Quick.Axes[a.name]
		if !ok {
			q.axes = append(q.axes, a)
			continue
		}
		less := axis{name: a.name, plain: a.plain}
		for _, v := range some {
			i := slices.IndexFunc(a.values, v.same)
			if i < 0 {
				p.fail("$.quick.axes."+a.name, unknownValue(a, v))
				continue
			}
			less.values, less.sets, less.paths = append(less.values, a.values[i]), append(less.sets, a.sets[i]),
				append(less.paths, a.paths[i])
		}
		q.axes = append(q.axes, less)
	}
}

func unknownAxis(name string, p *plan) error { return document.Unknown("axis", name, p.axisNames()) }

func unknownValue(a axis, v Value) error {
	var known []string
	for _, w := range a.values {
		known = append(known, string(w))
	}
	return document.Unknown("value of axis "+a.name, string(v), known)
}

// points makes and checks all points of a plan.
func (p *parser) points(ctx context.Context, b *builder, e *Experiment, pl *plan) {
	n := pl.count()
	if n > maxPoints || n*pl.samples > maxRuns {
		p.failf("$.axes",
			"the axes have %s points, with %d samples of each, expected at most %d points and %d runs: split the experiment",
			map[bool]string{true: "too many", false: strconv.Itoa(n)}[n > maxPoints], pl.samples, maxPoints, maxRuns)
		return
	}
	pl.multiply()
	for i := range pl.points {
		if p.errs.Full() {
			return
		}
		pt := &pl.points[i]
		c, wrong := b.config(ctx, &pt.set)
		for _, w := range wrong {
			path, ok := pt.set.from[w.field]
			if !ok {
				path = "$.base"
			}
			p.fail(path, w.err)
		}
		pt.config, pt.firmware = c, firmwareOf(get(pt.set.Routing))
		pt.files = b.files(&pt.set, pt.firmware)
		if len(wrong) > 0 || e.Measure != ofNetwork {
			continue
		}
		if pt.set.Load != nil {
			pt.load, _ = b.load(&pt.set) // checked just now
		}
		p.fail("$.base", b.runnable(ctx, pt))
	}
}

// loads checks that what the names of loads are for is there: of a slip nobody would see more than
// that another load was taken.
func (p *parser) loads(e *Experiment) {
	var topologies, traffics []string
	for i := range e.full.points {
		s := &e.full.points[i].set
		for _, k := range []struct {
			list *[]string
			word string
		}{{&topologies, get(s.Topology)}, {&traffics, s.pattern()}} {
			if !slices.Contains(*k.list, k.word) {
				*k.list = append(*k.list, k.word)
			}
		}
	}
	for i, l := range e.Loads {
		at := fmt.Sprintf("$.loads[%d]", i)
		if l.Topology != "" && !slices.Contains(topologies, l.Topology) {
			p.fail(at+".topology", document.Unknown("topology of this experiment", l.Topology, topologies))
		}
		if l.Traffic != "" && !slices.Contains(traffics, l.Traffic) {
			p.fail(at+".traffic", document.Unknown("traffic of this experiment", l.Traffic, traffics))
		}
	}
}

// where checks a choice of points.
func (p *parser) where(e *Experiment, path string, where map[string]Some) {
	for _, name := range slices.Sorted(maps.Keys(where)) {
		for _, v := range where[name] {
			p.coordinate(e, path, name, v)
		}
	}
}

func (p *parser) coordinate(e *Experiment, path, name string, v Value) {
	i := e.full.index(name)
	switch {
	case i < 0:
		p.fail(path, unknownAxis(name, &e.full))
	case !slices.ContainsFunc(e.full.axes[i].values, v.same):
		p.fail(path+"."+name, unknownValue(e.full.axes[i], v))
	}
}
