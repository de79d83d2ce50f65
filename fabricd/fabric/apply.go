package fabric

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Outcome is what came of one order.
type Outcome struct {
	Do     fault.Verb    `json:"do"`
	Target string        `json:"target"`
	Fresh  bool          `json:"fresh"` // false: it was so already, nothing was done
	Fault  *fault.Report `json:"fault,omitempty"`
	Healed []string      `json:"healed,omitempty"` // of heal: what was repaired
	Note   string        `json:"note,omitempty"`   // what else there is to know
}

// activeFault is a fault in force.
type activeFault struct {
	spec     fault.Spec
	incident *incident
	link     *link       // nil: it is a crash
	sw       *liveSwitch // of a crash

	flapUp bool   // of a flap: the link is up for now
	ended  bool   // it has ended
	timer  func() // stops what would change it by itself; nil: nothing would
}

// markEnded notes that a has ended. The caller holds Fabric.mu.
func (a *activeFault) markEnded() {
	a.ended = true
	if a.timer != nil {
		a.timer()
	}
}

// errStopped refuses orders to a fabric that is being taken down.
var errStopped = errors.New("the fabric has been stopped")

// hasStopped reports whether the fabric is being taken down, or has been.
func (f *Fabric) hasStopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// seeTimeout bounds how long both ends may take to see a repair; only a fabric that is broken needs so long.
const seeTimeout = 10 * time.Second

// Apply does several things at one instant, all of them or, when one cannot be done, none: cuts act on all links before any
// end is told. It returns when the ends have acted on what they are told, when what was repaired is back, and when another leader
// would know of it all; where that takes too long, the outcomes say so. Repairs of what is sound, and faults that are in force
// already, do nothing.
func (f *Fabric) Apply(ctx context.Context, specs ...fault.Spec) ([]Outcome, error) {
	out, checkpointed, err := f.apply(ctx, specs)
	if err == nil && !awaitCheckpoint(ctx, checkpointed) {
		for i := range out {
			out[i].Note = strings.TrimPrefix(out[i].Note+"; "+notCheckpointed, "; ")
		}
	}
	return out, err
}

const notCheckpointed = "the store does not answer: who led the fabric from now on would not know of it"

func (f *Fabric) apply(ctx context.Context, specs []fault.Spec) (_ []Outcome, checkpointed <-chan struct{}, _ error) {
	f.lookAtHosts() // what they have counted by now is not the work of these orders
	b := batch{f: f}
	if err := b.begin(specs); err != nil {
		return nil, nil, err
	}
	err := b.finish(ctx)
	return b.outcomes(), b.checkpointed, err
}

// begin resolves the orders, plans them and has hosts act on them. An error means that nothing was done.
func (b *batch) begin(specs []fault.Spec) error {
	f := b.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return errStopped
	}
	var errs []error
	suffer := map[*link][2]fault.Impairment{} // what links suffer once the orders before are done
	for _, s := range specs {
		st, err := f.resolve(s, suffer)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s, err))
		}
		b.steps = append(b.steps, st)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i := range b.steps {
		b.plan(&b.steps[i])
	}
	b.act()
	return nil
}

// step is an order with its names resolved.
type step struct {
	spec      fault.Spec
	link      *link
	dirs      [2]bool
	sw        *liveSwitch
	incident  *incident   // of the fault it began
	ended     []*incident // of those it ended
	healed    []string
	fresh     bool
	note      string
	published *fault.Report // what was published of rec
}

func (f *Fabric) resolve(s fault.Spec, suffer map[*link][2]fault.Impairment) (st step, err error) {
	if err := s.Validate(); err != nil {
		return st, err
	}
	st = step{spec: s, dirs: both}
	switch s.Do {
	case fault.VerbHeal:
		return st, nil
	case fault.VerbCrash, fault.VerbRestart:
		st.sw, err = f.switchByName(s.A)
		return st, err
	case fault.VerbRestore:
		if s.B == "" {
			if st.sw, err = f.switchByName(s.A); err == nil || !strings.Contains(s.A, "-") {
				return st, err
			}
		}
	}
	if st.link, st.dirs, err = f.linkOf(s); err != nil {
		return st, err
	}
	if s.Do == fault.VerbImpair {
		now, ok := suffer[st.link]
		if !ok {
			now = st.link.suffers
		}
		for d, yes := range st.dirs {
			if yes && err == nil {
				before := now[d]
				now[d] = before.Merge(*s.Impair)
				err = f.checkImpairment(before, now[d])
			}
		}
		suffer[st.link] = now
	}
	return st, err
}

func (f *Fabric) switchByName(name string) (*liveSwitch, error) {
	id, err := f.graph.SwitchByName(name)
	if err != nil {
		return nil, err
	}
	return f.switches[id], nil
}

// linkOf finds the link that s names, and the directions it means.
func (f *Fabric) linkOf(s fault.Spec) (*link, [2]bool, error) {
	find := func() (id weft.LinkID, err error) {
		if s.B == "" {
			l, err := f.graph.LinkByName(s.A)
			return l.ID, err
		}
		l, err := f.graph.LinkBetween(s.A, s.B)
		return l.ID, err
	}
	id, err := find()
	if err != nil {
		return nil, both, err
	}
	l := f.links[id]
	first := l.dirs[0].From
	reversed := s.A != l.Name && s.A != first && !strings.HasPrefix(s.A, first+"-") && !strings.HasPrefix(s.A, first+":")
	return l, directions(s.Direction, reversed), nil
}

// batch is what an Apply does, collected before anything is done.
type batch struct {
	f            *Fabric
	steps        []step
	cut          []channelOf // nothing comes through from now on
	restored     []channelOf // and here again
	touched      []*link     // ends may gain or lose signal
	toggled      []weft.End  // told that nothing comes to them, while they may still speak
	impair       []channelOf // suffer something else now
	crash        []*liveSwitch
	restart      []*liveSwitch
	back         []*link // carry packets again
	checkpointed <-chan struct{}

	dispatched dispatched // to hosts
	err        error      // of the transport

	until weft.Time // a repair is waited for no longer than that
	timer func()    // stops what looks after it then
}

type channelOf struct {
	l *link
	d int
}

// plan works out what a step changes, and opens its report.
func (b *batch) plan(st *step) {
	switch st.spec.Do {
	case fault.VerbCut, fault.VerbFlap:
		b.planCut(st)
	case fault.VerbImpair:
		b.planImpair(st)
	case fault.VerbCrash:
		b.planCrash(st)
	case fault.VerbRestore, fault.VerbRestart:
		b.planRestore(st)
	case fault.VerbHeal:
		for _, l := range b.f.links {
			s := step{spec: st.spec, link: l, dirs: both}
			b.repairCuts(&s)
			b.repairImpair(&s)
			if s.fresh {
				st.healed = append(st.healed, l.Name)
			}
			st.ended = append(st.ended, s.ended...)
		}
		for _, sw := range b.f.switches {
			s := step{spec: st.spec, sw: sw}
			if b.repairCrash(&s); s.fresh {
				st.healed = append(st.healed, sw.name)
			}
			st.ended = append(st.ended, s.ended...)
		}
		st.fresh = len(st.healed) > 0
	}
}

func (b *batch) planCut(st *step) {
	l := st.link
	var dirs [2]bool
	for d := range dirs {
		if !st.dirs[d] {
			continue
		}
		if a := l.cut[d]; a != nil && a.spec.Do == fault.VerbFlap && st.spec.Do == fault.VerbCut {
			b.endCut(a, d, st) // a cut takes the place of a flap
		}
		dirs[d] = l.cut[d] == nil
	}
	if dirs == [2]bool{} {
		return
	}
	st.fresh = true
	st.incident = b.f.begin(b.f.reportOf(st.spec, l.Name, dirs), []*link{l}, nil, l.endsUp())
	a := &activeFault{spec: st.spec, incident: st.incident, link: l}
	for d, yes := range dirs {
		if yes {
			l.cut[d] = a
			b.cutNow(l, d, a)
		}
	}
	b.f.timeout(a)
}

// cutNow lets nothing through in direction d.
func (b *batch) cutNow(l *link, d int, a *activeFault) {
	b.cut = append(b.cut, channelOf{l, d})
	b.touched = append(b.touched, l)
	if !a.spec.Silent {
		b.toggled = append(b.toggled, l.ends()[1-d])
	}
}

func (b *batch) planImpair(st *step) {
	l := st.link
	var now [2]fault.Impairment
	for d, yes := range st.dirs {
		if yes {
			now[d] = l.suffers[d].Merge(*st.spec.Impair)
			st.fresh = st.fresh || !now[d].IsZero() || l.impaired[d] != nil
			if old := l.impaired[d]; old != nil {
				b.endImpair(old, d, st)
			}
		}
	}
	if st.fresh && (l.isCut(0) || l.isCut(1)) && now != [2]fault.Impairment{} {
		st.note = l.Name + " is cut: the impairment is kept and acts when the link is restored"
	}
	var a *activeFault
	for d, yes := range st.dirs {
		if !yes {
			continue
		}
		l.suffers[d] = now[d]
		b.impair = append(b.impair, channelOf{l, d})
		if now[d].IsZero() {
			continue
		}
		if a == nil {
			st.incident = b.f.begin(b.f.reportOf(st.spec, l.Name, st.dirs), []*link{l}, nil, l.endsUp())
			if sum := now[d].String(); sum != st.spec.Impair.String() {
				st.incident.report.What += " (now " + sum + ")" // with what it suffered already
			}
			a = &activeFault{spec: st.spec, incident: st.incident, link: l}
		}
		l.impaired[d] = a
	}
	if a != nil {
		b.f.timeout(a)
	}
}

func (b *batch) planCrash(st *step) {
	s := st.sw
	if s.crash != nil {
		return
	}
	st.fresh = true
	links := b.f.linksOf(s.id)
	var expect []weft.End
	for _, l := range links {
		for i, e := range l.ends() {
			if e.Node != s.id.Node() && l.up[i].Load() {
				expect = append(expect, e)
			}
		}
	}
	st.incident = b.f.begin(b.f.reportOf(st.spec, s.name, both), links, s, expect)
	s.crash = &activeFault{spec: st.spec, incident: st.incident, sw: s}
	b.crash = append(b.crash, s)
	b.touched = append(b.touched, links...)
	b.f.timeout(s.crash)
}

// planRestore brings a switch or a link back; a link that is only impaired is healed of that.
func (b *batch) planRestore(st *step) {
	if st.sw != nil {
		b.repairCrash(st)
		return
	}
	b.repairCuts(st)
	if s := st.link.suffers; st.fresh && s != [2]fault.Impairment{} {
		st.note = fmt.Sprintf("%s is still impaired: restore it once more, or heal all, to end that", st.link.Name)
	} else if !st.fresh {
		b.repairImpair(st)
	}
}

func (b *batch) repairCuts(st *step) {
	for d, a := range st.link.cut {
		if a != nil && st.dirs[d] {
			b.endCut(a, d, st)
			st.fresh = true
		}
	}
}

func (b *batch) repairImpair(st *step) {
	for d, a := range st.link.impaired {
		if a != nil && st.dirs[d] {
			b.endImpair(a, d, st)
			st.fresh = true
		}
	}
}

func (b *batch) repairCrash(st *step) {
	s := st.sw
	if h := s.home; h.failed.Load() {
		st.note = fmt.Sprintf("nobody answers for %v, which runs %s: it is down until its host makes it anew", h, s.name)
	}
	if s.crash == nil {
		return
	}
	st.fresh = true
	s.crash.markEnded()
	st.ended = append(st.ended, s.crash.incident)
	s.crash = nil
	b.f.takeBack(s)
	links := b.f.linksOf(s.id)
	b.touched, b.back, b.restart = append(b.touched, links...), append(b.back, links...), append(b.restart, s)
}

// endCut ends what a does to direction d, and a with its last direction.
func (b *batch) endCut(a *activeFault, d int, st *step) {
	l := a.link
	l.cut[d] = nil
	b.restored = append(b.restored, channelOf{l, d})
	b.touched, b.back = append(b.touched, l), append(b.back, l)
	if l.cut[1-d] != a {
		a.markEnded()
		st.ended = append(st.ended, a.incident)
	}
}

func (b *batch) endImpair(a *activeFault, d int, st *step) {
	l := a.link
	l.impaired[d], l.suffers[d] = nil, fault.Impairment{}
	b.impair = append(b.impair, channelOf{l, d})
	if l.impaired[1-d] != a {
		a.markEnded()
		st.ended = append(st.ended, a.incident)
	}
}

// outcomes tells what came of each step.
func (b *batch) outcomes() []Outcome {
	out := make([]Outcome, len(b.steps))
	for i, st := range b.steps {
		o := Outcome{Do: st.spec.Do, Fresh: st.fresh, Healed: st.healed, Note: st.note}
		switch {
		case st.link != nil:
			o.Target = st.link.Name
		case st.sw != nil:
			o.Target = st.sw.name
		}
		if st.published != nil {
			o.Fault = new(st.published.Clone())
		}
		out[i] = o
	}
	return out
}
