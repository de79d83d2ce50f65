package fabric

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// act does what has been planned. Frames stop before any end is told; ends are told before any repair is awaited. The caller
// holds mu.
func (b *batch) act() error {
	f := b.f
	cut := slices.DeleteFunc(b.cut, func(d bus.Direction) bool { return slices.Contains(b.mended, d) && !f.isCut(d) })
	err := f.opts.Transport.Cut(cut...)
	if err != nil {
		err = fmt.Errorf("cut: %w", err)
	}
	mended := slices.DeleteFunc(b.mended, f.isCut)
	if e := f.opts.Transport.Restore(mended...); e != nil && err == nil {
		err = fmt.Errorf("restore: %w", e)
	}
	for _, c := range b.impair {
		f.impair(c.l, c.d)
	}
	for _, s := range b.crash {
		s.Do(func(now weft.Time, out *weft.Actions) { s.core.Crash(now, out) })
	}
	for _, l := range b.touched {
		f.align(l)
	}
	for _, e := range b.bounced {
		f.bounce(e)
	}
	b.tell()
	return err
}

// isCut reports whether direction d is cut now.
func (f *Fabric) isCut(d bus.Direction) bool {
	for _, l := range f.links {
		for i := range l.dirs {
			if l.dirs[i] == d {
				return l.isCut(i)
			}
		}
	}
	return false
}

// align gives the ends of l the signal they should have; those that have it already say hello at once, since something has
// changed. The caller holds mu.
func (f *Fabric) align(l *link) {
	want := f.signals(l)
	for i, e := range l.ends() {
		if want[i] || l.lit[i] {
			f.signal(e, want[i])
		}
		l.lit[i] = want[i]
	}
}

// bounce tells an end that nothing comes to it any more. It starts anew, and its hello tells its neighbour.
func (f *Fabric) bounce(e weft.End) {
	_, id, _ := f.graph.Peer(e)
	if l := f.links[id]; l.lit[0] && l.lit[1] {
		f.signal(e, false)
		f.signal(e, true)
	}
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
		e := Event{Kind: string(st.spec.Do), Fault: new(st.rec.report.Clone()), Detail: st.note}
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
	ctx, cancel := context.WithTimeout(ctx, seeTimeout)
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
			if f.damped(l) {
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
		draws := rand.NewPCG(f.opts.Seed, 1<<34+uint64(a.rec.report.ID))
		f.running.Go(func() { f.flap(a, draws) })
	case a.spec.For > 0:
		f.running.Go(func() {
			if f.sleep(a, time.Now().Add(time.Duration(a.spec.For))) {
				f.end(a)
			}
		})
	}
}

// sleep waits until t, and reports whether a is still in force and the fabric runs.
func (f *Fabric) sleep(a *active, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.over:
	case <-f.ctx.Done():
	}
	return false
}

// flap takes a's link down and up. The first edge has been done by Apply.
func (f *Fabric) flap(a *active, draws *rand.PCG) {
	start := time.Now()
	end := start.Add(1 << 62)
	if a.spec.For > 0 {
		end = start.Add(time.Duration(a.spec.For))
	}
	for e := range a.spec.Flap.Edges(draws.Uint64) {
		at := start.Add(e.At)
		if at.After(end) {
			if !f.sleep(a, end) {
				return
			}
			break
		}
		if !f.sleep(a, at) {
			return
		}
		f.mu.Lock()
		f.swing(a, !e.Down)
		f.mu.Unlock()
	}
	f.end(a)
}

// swing takes the link of a flap down, or lets it rest. The caller holds mu.
func (f *Fabric) swing(a *active, resting bool) {
	if a.resting == resting {
		return
	}
	select {
	case <-a.over:
		return
	default:
	}
	a.resting = resting
	b := batch{f: f}
	for d := range a.link.cut {
		if a.link.cut[d] != a {
			continue
		}
		if resting {
			b.mended = append(b.mended, a.link.dirs[d])
			b.touched = append(b.touched, a.link)
		} else {
			b.cutNow(a.link, d, a)
		}
	}
	if err := b.act(); err != nil {
		f.opts.Log.Error("flap", "link", a.link.Name, "err", err)
	}
}

// end repairs what a does, by itself.
func (f *Fabric) end(a *active) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-a.over:
		return
	default:
	}
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
