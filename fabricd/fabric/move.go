package fabric

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// EventMoved is the kind of the event that another host runs a switch.
const EventMoved = "moved"

// moves has switches go from one host to another: between hosts of the options, and to processes
// that join and leave. It owns the right to move a switch, which one caller has at a time. Any
// goroutine outside the loop may call what is exported.
type moves struct {
	*decisions
	attendance *attendance
	admissions *admissions
}

// Moved says what became of a move.
type Moved struct {
	Switch  string `json:"switch"`
	From    string `json:"from"`    // the host that ran it, "" is the leader's own process
	To      string `json:"to"`      // likewise
	Packets uint64 `json:"packets"` // that went along
	Changed bool   `json:"changed"` // false: it was there already
	Note    string `json:"note,omitempty"`
}

// Move has another host run a switch, under traffic: to is the name of a host of the fabric, "" is
// the host that it belongs to by the placement. A process that is the switch is told to end.
func (mo *moves) Move(ctx context.Context, sw, to string) (m Moved, err error) {
	s, err := mo.switchByName(sw)
	if err != nil {
		return m, err
	}
	if to == s.home.name {
		to = ""
	}
	if to != "" {
		if err := mo.canTake(to); err != nil {
			return m, err
		}
	}
	err = mo.whileMoving(ctx, s, func() (err error) {
		m, err = mo.moveToHost(s, to)
		return err
	})
	return m, err
}

// canTake says whether a host of that name may take a switch.
func (mo *moves) canTake(name string) error {
	h := mo.hostNamed(name)
	if h == nil {
		names := make([]string, len(mo.remote))
		for i, h := range mo.remote {
			names[i] = h.name
		}
		return fmt.Errorf("%w: %w", ErrUnknown, nearest.Unknown("host", name, names))
	}
	if h.suspect.Load() || h.failed.Load() {
		return fmt.Errorf("%v does not answer: nothing moves there", h)
	}
	return nil
}

// moveToHost moves a switch to a host of the options, by way of its home.
func (mo *moves) moveToHost(s *liveSwitch, to string) (m Moved, err error) {
	m = Moved{Switch: s.name, From: s.runsAt(), To: to}
	if to == "" {
		m.To = s.home.name
	}
	if m.From == m.To {
		return m, nil
	}
	if h := s.owned(); h != nil {
		o := h.owner.Load()
		if m.Packets, err = mo.moveTo(s, s.home); err != nil {
			return m, err
		}
		mo.endOwner(h, o, "switch "+s.name+" was moved")
	}
	if to != "" {
		h, err := mo.lend(s, to)
		if err != nil {
			return m, err
		}
		o := h.owner.Load()
		if m.Packets, err = mo.moveTo(s, h); err != nil {
			if !s.moved.Load() {
				mo.endOwner(h, o, "switch "+s.name+" does not come")
			}
			return m, err
		}
	}
	m.Changed = true
	mo.events.Publish(mo.Now(), Event{
		Kind: EventMoved, Switch: s.name,
		Detail: fmt.Sprintf("runs on %v now, packets that went along: %d", mo.hostOf(s.id.Node()), m.Packets),
	})
	return m, nil
}

// runsAt names the host of the options that runs the switch, or the process; empty: the leader's
// own.
func (s *liveSwitch) runsAt() string {
	if !s.moved.Load() {
		return s.home.name
	}
	switch o := s.own.Load().owner.Load(); {
	case o == nil:
		return "" // it has just ended
	case o.agent == "":
		return o.String()
	default:
		return o.agent
	}
}

// lend has an agent run a host of one switch alone, which does not run the switch yet.
func (mo *moves) lend(s *liveSwitch, agent string) (h *hostState, err error) {
	if mo.opts.Host == nil {
		return nil, errors.New("this fabric has no hosts to move a switch to")
	}
	mo.inLoop(func(l loop) {
		if _, err = mo.canJoin(l, s.name); err == nil {
			h = mo.attendance.ownOf(l, s)
		}
	})
	if err != nil {
		return nil, err
	}
	by, err := mo.admissions.admit(h)
	if err != nil {
		return nil, err
	}
	var c host.Spec
	mo.inLoop(func(l loop) { c, err = mo.attendance.specOf(l, h, by) })
	if err != nil {
		return nil, err
	}
	h.nextAdmission.CompareAndSwap(by, nil)
	o := mo.attendance.newOwner(&c, by.user)
	o.agent = agent
	try, cancel := context.WithTimeout(mo.ctx, hostTime)
	defer cancel()
	if err = mo.opts.Host(try, agent, c); err == nil {
		err = mo.install(h, o)
	}
	if err != nil {
		mo.endOwner(h, o, "switch "+s.name+" does not come") // the agent may have made it all the same
		mo.inLoop(func(loop) { mo.attendance.revokeOwner(o) })
		return nil, fmt.Errorf("host %s does not take switch %s: %w", agent, s.name, err)
	}
	return h, nil
}

// endOwner ends a host of one switch alone that does not run it; nil: it has ended by itself. The
// host stays until what it has counted last is kept: a leader that ends before leaves it to the
// next one.
func (mo *moves) endOwner(h *hostState, o *owner, why string) {
	if o == nil {
		return
	}
	end := func(stay bool) (host.Counters, error) {
		ctx, cancel := context.WithTimeout(mo.ctx, h.patience())
		defer cancel()
		return h.host.End(ctx, host.EndOrder{Number: o.number, Term: mo.opts.Term, Stay: stay, Why: why})
	}
	asked := mo.Now()
	s, err := end(true)
	if s.Asked, s.Final = asked, true; err == nil {
		err = h.storeCounters(s)
	}
	if err == nil {
		var checkpointed <-chan struct{}
		mo.inLoop(func(l loop) { checkpointed = l.checkpointNow() })
		awaitCheckpoint(mo.ctx, checkpointed)
		_, _ = end(false) // it ends by itself soon if it does not hear this
	}
	if mo.ctx.Err() != nil {
		return // who leads next ends it
	}
	mo.inLoop(func(l loop) {
		if h.ownedBy(o.number) {
			mo.attendance.drop(l, h, err == nil)
		}
	})
}

// whileMoving does what moves a switch while nobody else does. It returns before that is done when
// ctx ends.
func (mo *moves) whileMoving(ctx context.Context, s *liveSwitch, do func() error) error {
	select {
	case s.moving <- struct{}{}:
	case <-mo.ctx.Done():
		return errStopped
	case <-ctx.Done():
		return fmt.Errorf("switch %s is on its way to another host: %w", s.name, context.Cause(ctx))
	}
	done := make(chan error, 1)
	if !mo.spawn(func() {
		defer func() { <-s.moving }()
		done <- do()
	}) {
		<-s.moving
		return errStopped
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("switch %s is still on its way to another host: %w", s.name, context.Cause(ctx))
	}
}

// moveTo has to, the home or the own host of a switch, run it, and returns when its links are up
// there. What it holds goes along. An error means that it has not moved. It runs while nobody else
// moves the switch.
func (mo *moves) moveTo(s *liveSwitch, to *hostState) (packets uint64, err error) {
	from := mo.hostOf(s.id.Node())
	if from == to {
		return 0, nil
	}
	var m leader.Move
	var checkpointed <-chan struct{}
	if err = mo.emptyWires(s, from); err == nil {
		mo.lookAtHosts() // what they have counted by now is not the work of the move
		mo.inLoop(func(l loop) { m, checkpointed, err = mo.beginMove(l, s, from, to) })
	}
	if err != nil {
		mo.awaitSwitch(s, from, 0) // their packets wait no more
		return 0, err
	}
	mo.awaitDecision(s, from, checkpointed) // no host is told before
	mo.inLoop(func(l loop) { l.refuseBefore(s, m.Number) })
	return mo.finishMove(s, m)
}

// beginMove decides that to runs the switch, unless one of the two hosts is not there.
func (mo *moves) beginMove(l loop, s *liveSwitch, from, to *hostState) (m leader.Move, checkpointed <-chan struct{},
	err error,
) {
	if l.hasStopped() {
		return m, nil, errStopped
	}
	if l.hostOf(s.id.Node()) != from || to.sw != nil && to.owner.Load() == nil {
		return m, nil, fmt.Errorf("switch %s cannot move: its host is gone", s.name)
	}
	for _, h := range []*hostState{from, to} {
		if h.suspect.Load() || h.failed.Load() {
			return m, nil, fmt.Errorf("switch %s cannot move: %v does not answer", s.name, h)
		}
	}
	if n := len(s.allLives()); n >= maxLives {
		return m, nil,
			fmt.Errorf("switch %s cannot move: it has moved %d times, and hosts have not told what became of its packets: "+
				"wait until all hosts answer", s.name, n)
	}
	m = leader.Move{Switch: s.id, From: from.id, To: to.id, FromLife: from.incarnation(), ToLife: to.incarnation()}
	m.Number = s.addLife(m.ToLife)
	l.countNow()
	s.moved.Store(to.sw != nil)
	a := l.decide(leader.MoveBegins{Move: m, What: fmt.Sprintf("%s moves from %v to %v", s.name, from, to)})
	return m, a.checkpointed, nil
}

// finishMove has one host release a switch, and the other take it.
func (mo *moves) finishMove(s *liveSwitch, m leader.Move) (packets uint64, err error) {
	from, to := mo.hostNumbered(m.From), mo.hostNumbered(m.To)
	out, lost := host.Released{Number: uint64(m.Number)}, true
	release := host.Order{Release: []host.ReleaseOrder{{Switch: s.id, Number: uint64(m.Number), To: uint64(m.ToLife)}}}
	if a, ok := mo.insist(from, m.FromLife, release); ok && len(a.Released) == 1 {
		out, lost = a.Released[0], false
	}
	unheard := lost
	lost = lost || mo.crashOf(s) != 0
	taken := false
	if mo.ctx.Err() == nil {
		_, taken = mo.insist(to, m.ToLife, host.Order{Take: []host.TakeOrder{{
			Switch: s.id, From: uint64(m.FromLife), Above: m.Number, Released: out, Lost: lost,
		}}})
	}
	if mo.ctx.Err() != nil {
		return 0, errStopped // who leads next goes on with it
	}
	var a *action
	mo.inLoop(func(l loop) {
		l.countNow()
		if !taken && l.crashOf(s) == 0 && !s.moved.Load() {
			l.takeHome(s) // its home was made anew meanwhile
		}
		if a = l.decide(leader.MoveEnds{Switch: s.id}); unheard {
			from.stale.Store(true) // should it come back as it was, it is to release the switch
		}
	})
	if err := a.finish(mo.ctx); err != nil {
		mo.opts.Log.Warn("links of a switch that has moved", "switch", s.name, "err", err)
	}
	if !taken {
		return 0, fmt.Errorf("%v is gone: switch %s has lost what it held", to, s.name)
	}
	return out.Packets, nil
}

// insist has an incarnation of a host carry out an order that does no harm when it comes twice,
// with as many attempts as that takes. It reports false when the incarnation is gone.
func (mo *moves) insist(h *hostState, life ledger.Incarnation, o host.Order) (a host.OrderAnswer, ok bool) {
	for mo.ctx.Err() == nil && h.incarnation() == life && !h.failed.Load() {
		a, err := h.order(o)
		if err == nil {
			return a, true
		}
		// A host refuses an unusable hand-over once. What it held is then lost.
		mo.opts.Log.Debug("move of a switch", "host", h.name, "err", err)
		_ = mo.runtime.Pause(mo.ctx, mo.Now()+weft.FromDuration(readyEvery), nil)
	}
	return a, false
}

// resumeMoves goes on with the moves of the leader before, and ends the hosts of one switch alone
// that have no use any more.
func (mo *moves) resumeMoves(l loop) {
	for _, s := range l.switches {
		var m *leader.Move
		l.read(func(state *leader.State) {
			if on := state.Moving(s.id); on != nil {
				m = new(*on)
			}
		})
		if m == nil && (s.owned() == nil || s.moved.Load()) {
			continue
		}
		s.moving <- struct{}{} // nobody else moves it yet
		if !l.spawn(func() {
			defer func() { <-s.moving }()
			mo.resumeMove(s, m)
		}) {
			<-s.moving
		}
	}
}

// resumeMove goes on with the move of a switch; nil: with what its leader did not come to after it.
func (mo *moves) resumeMove(s *liveSwitch, m *leader.Move) {
	if m != nil {
		if _, err := mo.finishMove(s, *m); err != nil {
			mo.opts.Log.Warn("move of a switch", "switch", s.name, "err", err)
		}
	}
	if h := s.owned(); h != nil && !s.moved.Load() {
		mo.endOwner(h, h.owner.Load(), "switch "+s.name+" was moved")
	}
}
