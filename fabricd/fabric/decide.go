package fabric

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// action is what has been decided and hosts are carrying out.
type action struct {
	d            *decisions
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
	a := &action{d: l.decisions}
	for _, e := range l.step(ev) {
		l.carryOut(a, e)
	}
	l.leading.awaits.Store(true)
	return a
}

// carryOut does one thing that was asked for.
func (l loop) carryOut(a *action, e leader.Effect) {
	d := l.decisions
	switch e := e.(type) {
	case leader.Cut:
		a.tellTransport("cut", func() error { return d.runtime.Cut(d.from(e.Directions)) })
	case leader.Restore:
		a.tellTransport("restore", func() error { return d.runtime.Restore(d.from(e.Directions)) })
	case leader.Orders:
		a.dispatched = append(a.dispatched, l.dispatch(e.List, a.cut)...)
	case leader.Checkpoint:
		a.checkpointed = l.checkpointNow()
	case leader.CheckpointSoon:
		d.checkpointSoon()
	case leader.Changed:
		d.checkpointSoon()
		d.portsChanged() // nobody waits any more for a link that this has taken
	case leader.Publish:
		d.events.Publish(d.Now(), Event{
			Kind: e.Event.Kind, Link: e.Event.Link, Switch: e.Event.Switch, Node: e.Event.Node,
			Detail: e.Event.Detail, Fault: e.Event.Fault,
		})
	case leader.TakeBack:
		l.takeBack(a, d.switches[e.Switch])
	case leader.Notice:
		d.leading.wake.wake()
	case leader.SetTimer, leader.StopTimer, leader.Scatter:
		l.time(e)
	default:
		a.answer(e)
	}
}

// tellTransport has the transport do something before the orders that follow are sent.
func (a *action) tellTransport(what string, do func() error) {
	a.cut = a.d.enqueueCall(&a.d.transport, what, do)
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
	d := l.decisions
	if d.hasStopped() {
		return
	}
	switch e := e.(type) {
	case leader.SetTimer:
		l.time(leader.StopTimer{Fault: e.Fault})
		d.timers[e.Fault] = d.runtime.At(e.At, func() { d.timerDue(leader.TimerDue(e)) })
	case leader.StopTimer:
		if stop := d.timers[e.Fault]; stop != nil {
			stop()
			delete(d.timers, e.Fault)
		}
	case leader.Scatter:
		by := d.runtime.(Scattered).Scatter()
		d.runtime.At(d.Now()+by, func() {
			d.inLoop(func(l loop) {
				if !l.hasStopped() {
					l.decide(leader.CarrierDue(e))
				}
			})
		})
	}
}

// timerDue changes or ends a fault or a hold by itself, and waits for what that began.
func (d *decisions) timerDue(e leader.TimerDue) {
	var list []*action
	d.inLoop(func(l loop) {
		if !l.hasStopped() {
			list = l.decide(e).attended()
		}
	})
	for _, a := range list {
		d.finishNow(a)
	}
}

// attended are the actions that began by themselves.
func (a *action) attended() (list []*action) {
	for _, number := range a.attend {
		list = append(list, &action{d: a.d, number: number, dispatched: a.dispatched})
	}
	return list
}

// decided is h as decisions have it.
func (h *hostState) decided() leader.Host {
	d := leader.Host{
		ID: h.id, Name: h.name, Label: h.String(), Remote: h.name != "",
		Inside: idsOf(h.inside), Border: idsOf(h.border),
	}
	if h.sw != nil {
		d.Process, d.Switch = true, h.sw.id
	}
	return d
}

// noteAnswers has the state know whether h answers.
func (h *hostState) noteAnswers() {
	h.site.stepState(leader.HostAnswers{Host: h.id, Suspect: h.suspect.Load(), Failed: h.failed.Load()})
}
