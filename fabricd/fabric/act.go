package fabric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// act does what has been planned, and has hosts do it. Frames stop before any end is told; ends are told before any repair is awaited.
// The caller holds mu.
func (b *batch) act() {
	f := b.f
	b.checkpointed = f.checkpointNow()
	cut := slices.DeleteFunc(b.cut, func(c channelOf) bool { return slices.Contains(b.restored, c) && !c.l.isCut(c.d) })
	if err := f.runtime.Cut(from(cut)); err != nil {
		b.err = fmt.Errorf("cut: %w", err)
	}
	restored := slices.DeleteFunc(b.restored, func(c channelOf) bool { return c.l.isCut(c.d) })
	if err := f.runtime.Restore(from(restored)); err != nil && b.err == nil {
		b.err = fmt.Errorf("restore: %w", err)
	}
	b.dispatched = f.dispatch(func(o *orders) {
		o.cut(cut, restored)
		for _, c := range b.impair {
			o.impair(c.l, c.d)
		}
		for _, s := range b.crash {
			o.crash(s)
		}
		for _, s := range b.restart {
			o.restart(s)
		}
		for _, l := range b.touched {
			o.sync(l)
		}
		for _, e := range b.toggled {
			o.toggle(e)
		}
	})
	f.checkpointSoon()
}

// finish waits until hosts have acted and what was repaired is back, and tells what has been done. The caller does not hold mu.
func (b *batch) finish(ctx context.Context) error {
	if err := b.acted(); err != nil || len(b.steps) == 0 {
		return err
	}
	return b.wait(ctx)
}

// acted waits until hosts have acted, and tells what has been done.
func (b *batch) acted() error {
	err := errors.Join(b.err, b.dispatched.wait())
	b.f.lookAtHosts()
	b.tell()
	return err
}

// from are the sending ends of directions.
func from(list []channelOf) []weft.End {
	ends := make([]weft.End, len(list))
	for i, c := range list {
		ends[i] = c.l.ends()[c.d]
	}
	return ends
}

// tell publishes what has been done. Repairs are told when they are seen, see wait.
func (b *batch) tell() {
	f := b.f
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noteSeen()
	for i := range b.steps {
		st := &b.steps[i]
		if st.incident == nil {
			continue
		}
		f.refresh(st.incident)
		st.published = new(st.incident.report.Clone())
		e := Event{Kind: string(st.spec.Do), Fault: st.published, Detail: st.note}
		if st.link != nil {
			e.Link = st.link.Name
		} else {
			e.Switch = st.sw.name
		}
		f.events.Publish(f.Now(), e)
	}
}

// wait returns when what was repaired is back, and publishes that.
func (b *batch) wait(ctx context.Context) error {
	f := b.f
	ctx, cancel := f.WithTimeout(ctx, seeTimeout)
	defer cancel()
	f.mu.Lock()
	b.back = slices.DeleteFunc(b.back, func(l *link) bool { return !f.usable(l) })
	f.mu.Unlock()
	err := f.waitLinks(ctx, b.back)
	if err != nil {
		err = fmt.Errorf("restore: %w", err)
	}
	_ = b.repaired().wait() // a host that does not answer is told of the era when it does
	return err
}

// repaired closes what the batch has ended, publishes it, and begins a new era if there is reason to.
func (b *batch) repaired() dispatched {
	f := b.f
	f.mu.Lock()
	defer f.mu.Unlock()
	repaired := false
	now := f.Now()
	for i := range b.steps {
		st := &b.steps[i]
		for _, r := range st.ended {
			f.repaired(r, now)
			repaired = true
		}
		if !st.fresh || st.incident != nil {
			continue
		}
		switch {
		case st.spec.Do == fault.VerbHeal:
			for _, name := range st.healed {
				f.publishRepair(now, name)
			}
		case st.link != nil:
			f.publishRepair(now, st.link.Name)
		default:
			f.publishRepair(now, st.sw.name)
		}
		for _, l := range b.back {
			if (st.link == nil || st.link == l) && f.held(l) {
				st.note = l.Name + " has flapped: damping keeps it down for now"
			}
		}
	}
	if repaired {
		return f.nextEra()
	}
	return nil
}

func (f *Fabric) publishRepair(now weft.Time, name string) {
	if _, err := f.graph.SwitchByName(name); err == nil {
		f.events.Publish(now, Event{Kind: EventRestart, Switch: name})
		return
	}
	f.events.Publish(now, Event{Kind: EventRestore, Link: name})
}

// timeout ends a by itself when it should, and moves a flap. The caller holds mu.
func (f *Fabric) timeout(a *activeFault) {
	switch {
	case a.spec.Do == fault.VerbFlap:
		draws := weft.Stream(f.opts.Seed, weft.StreamFlap, uint64(a.incident.report.ID), 0)
		f.finishSoon(f.flap(a, f.Now(), a.spec.Flap.Changes(draws.Uint64)))
	case a.spec.For > 0:
		f.when(a, f.Now()+weft.FromDuration(time.Duration(a.spec.For)), func() *batch { return f.end(a) })
	}
}

// when does something at a time with mu, if a is in force and the fabric runs, and then waits for what it began, if anything. The
// caller holds mu.
func (f *Fabric) when(a *activeFault, t weft.Time, do func() *batch) {
	if f.stopped {
		return
	}
	a.timer = f.runtime.At(t, func() {
		f.mu.Lock()
		var b *batch
		if !a.ended && !f.stopped {
			b = do()
		}
		f.mu.Unlock()
		f.finishNow(b)
	})
}

// flap has a's link go down and up as changes says, of a flap that began at start. The first change is done by Apply. What it returns
// is to be finished; nil: the flap goes on.
func (f *Fabric) flap(a *activeFault, start weft.Time, changes func() (fault.Edge, bool)) *batch {
	end := weft.Never
	if a.spec.For > 0 {
		end = start + weft.FromDuration(time.Duration(a.spec.For))
	}
	e, more := changes()
	at := start + weft.FromDuration(e.At)
	switch {
	case !more:
		return f.end(a)
	case at > end:
		f.when(a, end, func() *batch { return f.end(a) })
	default:
		f.when(a, at, func() *batch {
			b := f.setFlapPhase(a, !e.Down)
			return cmp.Or(f.flap(a, start, changes), b)
		})
	}
	return nil
}

// setFlapPhase takes the link of a flap down, or lets it rest. The caller holds mu.
func (f *Fabric) setFlapPhase(a *activeFault, resting bool) *batch {
	if a.flapUp == resting {
		return nil
	}
	a.flapUp = resting
	b := &batch{f: f}
	for d := range a.link.cut {
		if a.link.cut[d] != a {
			continue
		}
		if resting {
			b.restored = append(b.restored, channelOf{a.link, d})
			b.touched = append(b.touched, a.link)
		} else {
			b.cutNow(a.link, d, a)
		}
	}
	b.act()
	return b
}

// end repairs what a does, by itself. The caller holds mu.
func (f *Fabric) end(a *activeFault) *batch {
	b := &batch{f: f, steps: []step{{spec: fault.Spec{Do: fault.VerbRestore}, link: a.link, sw: a.sw, dirs: both}}}
	st := &b.steps[0]
	if a.sw != nil {
		b.repairCrash(st)
	} else {
		for d := range both {
			if a.link.cut[d] == a {
				b.endCut(a, d, st)
			}
			if a.link.impaired[d] == a {
				b.endImpair(a, d, st)
			}
		}
		st.fresh = true
	}
	b.act()
	return b
}
