package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// act does what has been planned. Frames stop before any end is told; ends are told before any repair is awaited. The caller
// holds mu.
func (b *batch) act() error {
	f := b.f
	b.kept = f.keepNow()
	cut := slices.DeleteFunc(b.cut, func(c channelOf) bool { return slices.Contains(b.mended, c) && !c.l.isCut(c.d) })
	err := f.world.Cut(from(cut))
	if err != nil {
		err = fmt.Errorf("cut: %w", err)
	}
	mended := slices.DeleteFunc(b.mended, func(c channelOf) bool { return c.l.isCut(c.d) })
	if e := f.world.Restore(from(mended)); e != nil && err == nil {
		err = fmt.Errorf("restore: %w", e)
	}
	given := f.give(func(o *orders) {
		o.cut(cut, mended)
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
			o.align(l)
		}
		for _, e := range b.bounced {
			o.bounce(e)
		}
	})
	f.noteStanding() // before anybody waits for a repair
	b.tell()
	f.keepSoon()
	return errors.Join(err, given)
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
	f.noteSeen()
	for i := range b.steps {
		st := &b.steps[i]
		if st.rec == nil {
			continue
		}
		f.refresh(st.rec)
		st.told = new(st.rec.report.Clone())
		e := Event{Kind: string(st.spec.Do), Fault: st.told, Detail: st.note}
		if st.link != nil {
			e.Link = st.link.Name
		} else {
			e.Switch = st.sw.name
		}
		f.events.Publish(f.Now(), e)
	}
}

// wait returns when what was repaired is back, and publishes that. The caller holds mu.
func (b *batch) wait(ctx context.Context) error {
	f := b.f
	ctx, cancel := f.WithTimeout(ctx, seeTimeout)
	defer cancel()
	b.back = slices.DeleteFunc(b.back, func(l *link) bool { return !f.usable(l) })
	err := f.waitLinks(ctx, b.back)
	if err != nil {
		err = fmt.Errorf("restore: %w", err)
	}
	repaired := false
	now := f.Now()
	for i := range b.steps {
		st := &b.steps[i]
		for _, r := range st.ended {
			f.repaired(r, now)
			repaired = true
		}
		if !st.fresh || st.rec != nil {
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
		f.nextEra()
	}
	return err
}

func (f *Fabric) publishRepair(now weft.Time, name string) {
	if _, err := f.graph.SwitchByName(name); err == nil {
		f.events.Publish(now, Event{Kind: EventRestart, Switch: name})
		return
	}
	f.events.Publish(now, Event{Kind: EventRestore, Link: name})
}

// timeout ends a by itself when it should, and moves a flap. The caller holds mu.
func (f *Fabric) timeout(a *active) {
	switch {
	case a.spec.Do == fault.VerbFlap:
		draws := weft.Stream(f.opts.Seed, weft.StreamFlap, uint64(a.rec.report.ID), 0)
		f.flap(a, f.Now(), a.spec.Flap.Changes(draws.Uint64))
	case a.spec.For > 0:
		f.when(a, f.Now()+weft.FromDuration(time.Duration(a.spec.For)), func() { f.end(a) })
	}
}

// when does something at a time with mu, if a is in force and the fabric runs. The caller holds mu.
func (f *Fabric) when(a *active, t weft.Time, do func()) {
	if f.stopped {
		return
	}
	a.timer = f.world.At(t, func() {
		f.mu.do(func() {
			if !a.isOver && !f.stopped {
				do()
			}
		})
	})
}

// flap has a's link go down and up as changes says, of a flap that began at start. The first change is done by Apply.
func (f *Fabric) flap(a *active, start weft.Time, changes func() (fault.Edge, bool)) {
	end := weft.Never
	if a.spec.For > 0 {
		end = start + weft.FromDuration(time.Duration(a.spec.For))
	}
	e, more := changes()
	at := start + weft.FromDuration(e.At)
	switch {
	case !more:
		f.end(a)
	case at > end:
		f.when(a, end, func() { f.end(a) })
	default:
		f.when(a, at, func() {
			f.swing(a, !e.Down)
			f.flap(a, start, changes)
		})
	}
}

// swing takes the link of a flap down, or lets it rest. The caller holds mu.
func (f *Fabric) swing(a *active, resting bool) {
	if a.resting == resting {
		return
	}
	a.resting = resting
	b := batch{f: f}
	for d := range a.link.cut {
		if a.link.cut[d] != a {
			continue
		}
		if resting {
			b.mended = append(b.mended, channelOf{a.link, d})
			b.touched = append(b.touched, a.link)
		} else {
			b.cutNow(a.link, d, a)
		}
	}
	if err := b.act(); err != nil {
		f.opts.Log.Error("flap", "link", a.link.Name, "err", err)
	}
}

// end repairs what a does, by itself. The caller holds mu.
func (f *Fabric) end(a *active) {
	b := batch{f: f, steps: []step{{spec: fault.Spec{Do: fault.VerbRestore}, link: a.link, sw: a.sw, dirs: both}}}
	st := &b.steps[0]
	if a.sw != nil {
		b.mendCrash(st)
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
	err := b.act()
	if err == nil {
		err = b.wait(f.ctx)
	}
	if err != nil {
		f.opts.Log.Error("repair", "target", a.rec.report.Target, "err", err)
	}
}
