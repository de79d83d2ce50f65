package leader

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Kinds of what is published that is no fault by its verb.
const (
	EventRestore = "restore" // a link was repaired; both ends have seen it
	EventRestart = "restart" // a switch was started again
	EventReport  = "report"  // the report of a fault is complete
)

// act does what has been planned, and returns the number of the action. Frames stop before any end
// is told; ends are told before any repair is awaited.
func (s *State) act(a *action) int {
	s.do(Checkpoint{})
	a.cut = slices.DeleteFunc(a.cut,
		func(d Direction) bool { return slices.Contains(a.restored, d) && !s.IsCut(d.Link, d.side()) })
	if len(a.cut) > 0 {
		s.do(Cut{a.cut})
	}
	a.restored = slices.DeleteFunc(a.restored, func(d Direction) bool { return s.IsCut(d.Link, d.side()) })
	if len(a.restored) > 0 {
		s.do(Restore{a.restored})
	}
	s.order(func(o *orders) {
		o.cut(a.cut, a.restored)
		for _, d := range a.impair {
			o.impair(d)
		}
		for _, id := range a.crash {
			to := o.to(s.runner(id.Node()))
			to.Crash = append(to.Crash, id)
		}
		for _, id := range a.restart {
			to := o.to(s.runner(id.Node()))
			to.Restart = append(to.Restart, id)
		}
		for _, id := range a.touched {
			o.sync(id)
		}
		for _, e := range a.toggled {
			o.toggle(e)
		}
	})
	s.do(Changed{})
	s.action++
	s.actions[s.action] = a
	return s.action
}

// acted publishes what an action has begun. Its repairs are published when they are seen, see
// finished.
func (s *State) acted(id int) {
	s.noteSeen()
	a := s.actions[id]
	if a == nil {
		return
	}
	if len(a.steps) == 0 {
		delete(s.actions, id)
	}
	for i := range a.steps {
		st := &a.steps[i]
		if st.begun == nil {
			continue
		}
		s.refresh(st.begun)
		st.report = new(st.begun.Report.Clone())
		p := Published{Kind: string(st.spec.Do), Fault: st.report, Detail: st.note}
		if st.onLink {
			p.Link = s.target(st)
		} else {
			p.Switch = s.target(st)
		}
		s.publish(p)
	}
}

// finished ends what an action has repaired, publishes it, and begins a new fault generation if
// there is reason to.
func (s *State) finished(e Finished) {
	a := s.actions[e.Action]
	if a == nil {
		return
	}
	repaired := false
	for i := range a.steps {
		st := &a.steps[i]
		for _, n := range st.ended {
			s.repaired(n)
			repaired = true
		}
		if !st.changed || st.begun != nil {
			continue
		}
		names := st.healed
		if st.spec.Do != fault.VerbHeal {
			names = []string{s.target(st)}
		}
		for _, name := range names {
			s.publishRepair(name)
		}
		for _, id := range e.Damped {
			if !st.onLink || st.link == id {
				st.note = s.link(id).Name + " has flapped: damping keeps it down for now"
			}
		}
	}
	if repaired {
		s.nextGeneration()
	}
}

func (s *State) publishRepair(name string) {
	if _, err := s.cfg.Graph.SwitchByName(name); err == nil {
		s.publish(Published{Kind: EventRestart, Switch: name})
		return
	}
	s.publish(Published{Kind: EventRestore, Link: name})
}

// nextGeneration begins a new fault generation at all NICs.
func (s *State) nextGeneration() {
	if s.Generation < ^uint16(0) {
		s.Generation++
	}
	s.orderAll(func(o *Order) { o.Generation = new(s.Generation) })
}

// timeout ends a fault by itself when it should, and moves a flap.
func (s *State) timeout(f *Fault) {
	switch {
	case f.Spec.Do == fault.VerbFlap:
		f.start, f.next = s.now, s.changes(f)
		if id := s.flap(f); id != 0 {
			s.do(Attend{id})
		}
	case f.Spec.For > 0:
		s.endAt(f, s.now+length(f))
	}
}

// length is how long a fault lasts.
func length(f *Fault) weft.Time { return weft.FromDuration(time.Duration(f.Spec.For)) }

// changes are those of the link of a flap.
func (s *State) changes(f *Fault) func() (fault.Edge, bool) {
	return f.Spec.Flap.Changes(weft.Stream(s.cfg.Seed, weft.StreamFlap, uint64(f.ID), 0).Uint64)
}

func (s *State) endAt(f *Fault, t weft.Time) {
	f.ends = true
	s.do(SetTimer{f.ID, t})
}

// flap has the timer of a flap due at the next change. The first change was made when it began.
// What it returns is the action that ends the flap; 0: it goes on.
func (s *State) flap(f *Fault) int {
	end := weft.Never
	if f.Spec.For > 0 {
		end = f.start + length(f)
	}
	e, more := f.next()
	at := f.start + weft.FromDuration(e.At)
	switch {
	case !more:
		return s.end(f)
	case at > end:
		s.endAt(f, end)
	default:
		f.down = e.Down
		s.do(SetTimer{f.ID, at})
	}
	return 0
}

func (s *State) timerDue(e TimerDue) {
	if e.Fault == ofHold {
		s.holdDue(e.At)
		return
	}
	f := s.faults[e.Fault]
	if f == nil {
		return
	}
	if f.ends {
		s.do(Attend{s.end(f)})
		return
	}
	act := s.setFlapPhase(f, !f.down)
	if end := s.flap(f); end != 0 {
		delete(s.actions, act)
		act = end
	}
	if act != 0 {
		s.do(Attend{act})
	}
}

// setFlapPhase takes the link of a flap down, or lets it rest; 0: it does already.
func (s *State) setFlapPhase(f *Fault, flapUp bool) int {
	if f.FlapUp == flapUp {
		return 0
	}
	f.FlapUp = flapUp
	a := &action{}
	for d, by := range s.Links[f.Link].Cut {
		switch {
		case by != f.ID:
		case flapUp:
			a.restored = append(a.restored, direction(f.Link, d))
			a.touched = append(a.touched, f.Link)
		default:
			s.cutNow(a, f, d)
		}
	}
	return s.act(a)
}

// end repairs what a fault does, by itself.
func (s *State) end(f *Fault) int {
	a := &action{steps: []step{{
		spec: fault.Spec{Do: fault.VerbRestore}, link: f.Link, sw: f.Switch, onLink: !f.Crash, onSwitch: f.Crash, dirs: both,
	}}}
	st := &a.steps[0]
	if f.Crash {
		s.repairCrash(a, st)
		return s.act(a)
	}
	for d := range both {
		if s.Links[f.Link].Cut[d] == f.ID {
			s.endCut(a, f, d, st)
		}
		if s.Links[f.Link].Impaired[d] == f.ID {
			s.endImpair(a, f, d, st)
		}
	}
	st.changed = true
	return s.act(a)
}
