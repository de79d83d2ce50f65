package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// action is what has been decided and hosts are carrying out.
type action struct {
	f            *Fabric
	number       int // 0: there is nothing to wait for but the hosts
	attend       []int
	dispatched   dispatched
	cut          *sent // what the transport was told last, which the orders that follow come after; nil: nothing
	checkpointed <-chan struct{}
	refused      error // nothing was done

	incident        int
	order           leader.Order
	reconfiguration fault.Reconfiguration

	back  []*link   // of a repair that nobody waits for, see repairs
	until weft.Time // it is waited for no longer than that
	stop  func()    // stops what looks after it then
}

// decide steps the state and does what it asks for.
func (l loop) decide(ev leader.Event) *action {
	a := &action{f: l.Fabric}
	for _, e := range l.step(ev) {
		l.do(a, e)
	}
	l.leading.awaits.Store(true)
	return a
}

// do does one thing that was asked for.
func (l loop) do(a *action, e leader.Effect) {
	f := l.Fabric
	switch e := e.(type) {
	case leader.Cut:
		a.tellTransport("cut", func() error { return f.runtime.Cut(f.from(e.Directions)) })
	case leader.Restore:
		a.tellTransport("restore", func() error { return f.runtime.Restore(f.from(e.Directions)) })
	case leader.Orders:
		a.dispatched = append(a.dispatched, l.dispatch(e.List, a.cut)...)
	case leader.Checkpoint:
		a.checkpointed = l.checkpointNow()
	case leader.CheckpointSoon:
		f.checkpointSoon()
	case leader.Changed:
		f.checkpointSoon()
		f.portsChanged() // nobody waits any more for a link that this has taken
	case leader.Publish:
		f.events.Publish(f.Now(), Event{
			Kind: e.Event.Kind, Link: e.Event.Link, Switch: e.Event.Switch, Node: e.Event.Node, Detail: e.Event.Detail, Fault: e.Event.Fault,
		})
	case leader.TakeBack:
		l.takeBack(a, f.switches[e.Switch])
	case leader.Notice:
		f.leading.wake.wake()
	case leader.SetTimer, leader.StopTimer, leader.Scatter:
		l.time(e)
	default:
		a.answer(e)
	}
}

// tellTransport has the transport do something before the orders that follow are sent.
func (a *action) tellTransport(what string, do func() error) {
	a.cut = a.f.enqueueCall(&a.f.transport, what, do)
	a.dispatched = append(a.dispatched, a.cut)
}

// answer keeps what was answered.
func (a *action) answer(e leader.Effect) {
	switch e := e.(type) {
	case leader.Begun:
		a.number = e.Action
	case leader.Attend:
		a.attend = append(a.attend, e.Action)
	case leader.Refused:
		a.refused = e.Err
	case leader.Concerns:
		a.incident = e.Incident
	case leader.ResyncOrder:
		a.order = e.Order
	case leader.Reconfigured:
		a.reconfiguration = e.Reconfiguration
	}
}

// time sets and stops timers.
func (l loop) time(e leader.Effect) {
	f := l.Fabric
	if f.hasStopped() {
		return
	}
	switch e := e.(type) {
	case leader.SetTimer:
		l.time(leader.StopTimer{Fault: e.Fault})
		f.timers[e.Fault] = f.runtime.At(e.At, func() { f.timerDue(leader.TimerDue(e)) })
	case leader.StopTimer:
		if stop := f.timers[e.Fault]; stop != nil {
			stop()
			delete(f.timers, e.Fault)
		}
	case leader.Scatter:
		by := f.runtime.(Scattered).Scatter()
		f.runtime.At(f.Now()+by, func() {
			f.inLoop(func(l loop) {
				if !l.hasStopped() {
					l.decide(leader.CarrierDue(e))
				}
			})
		})
	}
}

// timerDue changes or ends a fault or a hold by itself, and waits for what that began.
func (f *Fabric) timerDue(e leader.TimerDue) {
	var list []*action
	f.inLoop(func(l loop) {
		if !l.hasStopped() {
			list = l.decide(e).attended()
		}
	})
	for _, a := range list {
		f.finishNow(a)
	}
}

// attended are the actions that began by themselves.
func (a *action) attended() (list []*action) {
	for _, number := range a.attend {
		list = append(list, &action{f: a.f, number: number, dispatched: a.dispatched})
	}
	return list
}

// decided is h as decisions have it.
func (h *hostState) decided() leader.Host {
	d := leader.Host{ID: h.id, Name: h.name, Label: h.String(), Remote: h.name != "", Inside: idsOf(h.inside), Border: idsOf(h.border)}
	if h.sw != nil {
		d.Process, d.Switch = true, h.sw.id
	}
	return d
}

// noteAnswers has the state know whether h answers.
func (h *hostState) noteAnswers() {
	si := h.site
	si.read(func(s *leader.State) {
		s.Step(si.Now(), leader.HostAnswers{Host: h.id, Suspect: h.suspect.Load(), Failed: h.failed.Load()})
	})
}
