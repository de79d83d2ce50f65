package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// EventMoved is the kind of the event that another host runs a switch.
const EventMoved = "moved"

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
func (f *Fabric) Move(ctx context.Context, sw, to string) (m Moved, err error) {
	s, err := f.switchByName(sw)
	if err != nil {
		return m, err
	}
	if to == s.home.name {
		to = ""
	}
	if to != "" {
		if err := f.canTake(to); err != nil {
			return m, err
		}
	}
	err = f.whileMoving(ctx, s, func() (err error) {
		m, err = f.moveToHost(s, to)
		return err
	})
	return m, err
}

// canTake says whether a host of that name may take a switch.
func (f *Fabric) canTake(name string) error {
	h := f.hostNamed(name)
	if h == nil {
		names := make([]string, len(f.remote))
		for i, h := range f.remote {
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
func (f *Fabric) moveToHost(s *liveSwitch, to string) (m Moved, err error) {
	m = Moved{Switch: s.name, From: s.runsAt(), To: to}
	if to == "" {
		m.To = s.home.name
	}
	if m.From == m.To {
		return m, nil
	}
	if h := s.owned(); h != nil {
		o := h.owner.Load()
		if m.Packets, err = f.moveTo(s, s.home); err != nil {
			return m, err
		}
		f.endOwner(h, o, "switch "+s.name+" was moved")
	}
	if to != "" {
		h, err := f.lend(s, to)
		if err != nil {
			return m, err
		}
		o := h.owner.Load()
		if m.Packets, err = f.moveTo(s, h); err != nil {
			if !s.moved.Load() {
				f.endOwner(h, o, "switch "+s.name+" does not come")
			}
			return m, err
		}
	}
	m.Changed = true
	f.events.Publish(f.Now(), Event{
		Kind: EventMoved, Switch: s.name,
		Detail: fmt.Sprintf("runs on %v now, packets that went along: %d", f.hostOf(s.id.Node()), m.Packets),
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
func (f *Fabric) lend(s *liveSwitch, agent string) (h *hostState, err error) {
	if f.opts.Host == nil {
		return nil, errors.New("this fabric has no hosts to move a switch to")
	}
	f.inLoop(func(l loop) {
		if _, err = f.canJoin(l, s.name); err == nil {
			h = f.ownOf(l, s)
		}
	})
	if err != nil {
		return nil, err
	}
	by, err := f.admit(h)
	if err != nil {
		return nil, err
	}
	var c host.Spec
	f.inLoop(func(l loop) { c, err = f.specOf(l, h, by) })
	if err != nil {
		return nil, err
	}
	h.nextAdmission.CompareAndSwap(by, nil)
	o := f.newOwner(&c, by.user)
	o.agent = agent
	try, cancel := context.WithTimeout(f.ctx, hostTime)
	defer cancel()
	if err = f.opts.Host(try, agent, c); err == nil {
		err = f.install(h, o)
	}
	if err != nil {
		f.endOwner(h, o, "switch "+s.name+" does not come") // the agent may have made it all the same
		f.inLoop(func(l loop) { f.revokeOwner(o) })
		return nil, fmt.Errorf("host %s does not take switch %s: %w", agent, s.name, err)
	}
	return h, nil
}

// endOwner ends a host of one switch alone that does not run it; nil: it has ended by itself.
func (f *Fabric) endOwner(h *hostState, o *owner, why string) {
	if o == nil {
		return
	}
	ctx, cancel := context.WithTimeout(f.ctx, h.patience())
	defer cancel()
	asked := f.Now()
	s, err := h.host.End(ctx, host.EndOrder{Number: o.number, Term: f.opts.Term, Why: why})
	if f.ctx.Err() != nil {
		return // who leads next ends it
	}
	if s.Asked, s.Final = asked, true; err == nil {
		err = h.storeCounters(s)
	}
	f.inLoop(func(l loop) {
		if h.ownedBy(o.number) {
			f.drop(l, h, err == nil)
		}
	})
}

// whileMoving does what moves a switch while nobody else does. It returns before that is done when
// ctx ends.
func (f *Fabric) whileMoving(ctx context.Context, s *liveSwitch, do func() error) error {
	select {
	case s.moving <- struct{}{}:
	case <-f.ctx.Done():
		return errStopped
	case <-ctx.Done():
		return fmt.Errorf("switch %s is on its way to another host: %w", s.name, context.Cause(ctx))
	}
	done := make(chan error, 1)
	if !f.spawn(func() {
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
func (f *Fabric) moveTo(s *liveSwitch, to *hostState) (packets uint64, err error) {
	from := f.hostOf(s.id.Node())
	if from == to {
		return 0, nil
	}
	f.emptyWires(s, from)
	f.lookAtHosts() // what they have counted by now is not the work of the move
	var m leader.Move
	var checkpointed <-chan struct{}
	f.inLoop(func(l loop) { m, checkpointed, err = f.beginMove(l, s, from, to) })
	if err != nil {
		f.awaitSwitch(s, from, 0) // their packets wait no more
		return 0, err
	}
	f.awaitDecision(s, from, checkpointed) // no host is told before
	f.inLoop(func(l loop) { l.refuseBefore(s, m.Number) })
	return f.finishMove(s, m)
}

// awaitDecision returns when the next leader would know of a move. If that takes long, neighbours
// send again meanwhile.
func (f *Fabric) awaitDecision(s *liveSwitch, from *hostState, checkpointed <-chan struct{}) {
	try, cancel := context.WithTimeout(f.ctx, moveCheckpointTime)
	defer cancel()
	if awaitCheckpoint(try, checkpointed) {
		return
	}
	select {
	case <-checkpointed:
		f.emptyWires(s, from)
	case <-f.ctx.Done():
	}
}

// moveCheckpointTime is how long neighbours hold their packets back meanwhile. Chosen by us: less
// than awaitTime.
const moveCheckpointTime = 2 * time.Second

// awaitTime is how long the ends of the links of a switch that moves hold their packets back, at
// most. Chosen by us: a move takes some milliseconds.
const awaitTime = 5 * time.Second

// emptyWires has nothing sent on the links of a switch that from still runs. It returns when nothing
// is on their wires, or that takes too long.
func (f *Fabric) emptyWires(s *liveSwitch, from *hostState) {
	links, most := f.linksOf(s.id), moveWireTime
	for _, l := range links {
		for _, suffers := range f.view(l).Suffers {
			most = max(most, moveWireTime+2*(suffers.Delay+suffers.Jitter))
		}
	}
	_ = f.awaitSwitch(s, from, awaitTime).wait() // what one that does not answer sends may be lost
	end := f.Now() + weft.FromDuration(min(most+2*f.opts.Link.Delay, awaitTime/2))
	for f.wiresHold(s, from, links) && f.Now() < end {
		if f.runtime.Pause(f.ctx, f.Now()+weft.Millisecond, nil) != nil {
			return
		}
	}
}

// awaitSwitch has the ends of the links of a switch send nothing until it has moved, at most for a
// time; 0: they send again.
func (f *Fabric) awaitSwitch(s *liveSwitch, from *hostState, most time.Duration) (awaiting dispatched) {
	orders := map[*hostState]*host.Order{}
	for _, l := range f.linksOf(s.id) {
		for _, e := range l.ends() {
			h := f.hostBefore(s, from, e.Node)
			if orders[h] == nil {
				orders[h] = &host.Order{}
			}
			wait := host.AwaitOrder{End: host.EndOf(e), Most: weft.FromDuration(most)}
			orders[h].Await = append(orders[h].Await, wait)
		}
	}
	for h, o := range orders {
		awaiting = append(awaiting, h.send(*o))
	}
	return awaiting
}

// moveWireTime is how long a move waits for what is on wires without delay. Chosen by us.
const moveWireTime = time.Second

// wiresHold reports whether packets are on the wires of links that are up.
func (f *Fabric) wiresHold(s *liveSwitch, from *hostState, links []*link) bool {
	switches, nics := map[*hostState][]weft.SwitchID{}, map[*hostState][]weft.NICID{}
	for _, l := range links {
		for _, e := range l.ends() {
			h := f.hostBefore(s, from, e.Node)
			if id := weft.SwitchID(e.Node.Index); !e.Node.IsSwitch() {
				nics[h] = append(nics[h], weft.NICID(e.Node.Index))
			} else if !slices.Contains(switches[h], id) {
				switches[h] = append(switches[h], id)
			}
			if switches[h] == nil {
				switches[h] = []weft.SwitchID{}
			}
		}
	}
	flows := map[weft.End]linkend.Flow{}
	for h, ids := range switches {
		a := h.nodes(ids, nics[h])
		for i := range a.Flows {
			for p := range a.Flows[i] {
				flows[weft.End{Node: a.Switches[i].Switch.Node(), Port: weft.PortID(p)}] = a.Flows[i][p]
			}
		}
		for i := range a.NICs {
			flows[weft.End{Node: a.NICs[i].NIC.Node()}] = a.NICs[i].Flow
		}
	}
	return slices.ContainsFunc(links, func(l *link) bool {
		a, okA := flows[l.A]
		b, okB := flows[l.B]
		there, _ := linkend.OnWire(a, b)
		back, _ := linkend.OnWire(b, a)
		return okA && okB && there+back > 0
	})
}

// beginMove decides that to runs the switch, unless one of the two hosts is not there.
func (f *Fabric) beginMove(l loop, s *liveSwitch, from, to *hostState) (m leader.Move, checkpointed <-chan struct{}, err error) {
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
		return m, nil, fmt.Errorf("switch %s cannot move: it has moved %d times, and hosts have not told what became of its packets: "+
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
func (f *Fabric) finishMove(s *liveSwitch, m leader.Move) (packets uint64, err error) {
	from, to := f.hostNumbered(m.From), f.hostNumbered(m.To)
	out, lost := host.Released{Number: uint64(m.Number)}, true
	release := host.Order{Release: []host.ReleaseOrder{{Switch: s.id, Number: uint64(m.Number), To: uint64(m.ToLife)}}}
	if a, ok := f.insist(from, m.FromLife, release); ok && len(a.Released) == 1 {
		out, lost = a.Released[0], false
	}
	unheard := lost
	lost = lost || f.crashOf(s) != 0
	taken := false
	if f.ctx.Err() == nil {
		_, taken = f.insist(to, m.ToLife, host.Order{Take: []host.TakeOrder{{
			Switch: s.id, From: uint64(m.FromLife), Above: m.Number, Released: out, Lost: lost,
		}}})
	}
	if f.ctx.Err() != nil {
		return 0, errStopped // who leads next goes on with it
	}
	var a *action
	f.inLoop(func(l loop) {
		l.countNow()
		if !taken && l.crashOf(s) == 0 && !s.moved.Load() {
			l.takeHome(s) // its home was made anew meanwhile
		}
		if a = l.decide(leader.MoveEnds{Switch: s.id}); unheard {
			from.stale.Store(true) // should it come back as it was, it is to release the switch
		}
	})
	if err := a.finish(f.ctx); err != nil {
		f.opts.Log.Warn("links of a switch that has moved", "switch", s.name, "err", err)
	}
	if !taken {
		return 0, fmt.Errorf("%v is gone: switch %s has lost what it held", to, s.name)
	}
	return out.Packets, nil
}

// insist has an incarnation of a host carry out an order that does no harm when it comes twice,
// with as many attempts as that takes. It reports false when the incarnation is gone.
func (f *Fabric) insist(h *hostState, life ledger.Incarnation, o host.Order) (a host.OrderAnswer, ok bool) {
	for f.ctx.Err() == nil && h.incarnation() == life && !h.failed.Load() {
		a, err := h.order(o)
		if err == nil {
			return a, true
		}
		// A host refuses an unusable hand-over once. What it held is then lost.
		f.opts.Log.Debug("move of a switch", "host", h.name, "err", err)
		_ = f.runtime.Pause(f.ctx, f.Now()+weft.FromDuration(readyEvery), nil)
	}
	return a, false
}

// takeHome has its home run a switch that nobody runs, empty.
func (l loop) takeHome(s *liveSwitch) *sent {
	number := s.addLife(s.home.incarnation())
	lives := *s.lives.Load()
	l.refuseBefore(s, lives[len(lives)-1].First)
	return s.home.send(host.Order{Take: []host.TakeOrder{s.takenEmpty(number)}})
}

// refuseBefore has the neighbours of a switch hear nobody any more who has run it up to an epoch of
// its links: a host that nobody reaches may still be there.
func (l loop) refuseBefore(s *liveSwitch, epoch weft.Epoch) {
	orders := map[*hostState][]host.RefuseOrder{}
	for _, k := range l.linksOf(s.id) {
		for i, e := range k.ends() {
			if k.ends()[1-i].Node == s.id.Node() {
				h := l.hostOf(e.Node)
				orders[h] = append(orders[h], host.RefuseOrder{End: host.EndOf(e), Upto: epoch})
			}
		}
	}
	for h, list := range orders {
		h.send(host.Order{Refuse: list})
	}
}

// refuses is what a host that is told all refuses.
func (h *hostState) refuses() (list []host.RefuseOrder) {
	for _, e := range h.ends {
		peer, _, ok := h.site.graph.Peer(e)
		if !ok || !peer.Node.IsSwitch() {
			continue
		}
		if lives := h.site.switches[peer.Node.Index].lives.Load(); lives != nil {
			list = append(list, host.RefuseOrder{End: host.EndOf(e), Upto: (*lives)[len(*lives)-1].First})
		}
	}
	return list
}

// takeBack has the home of s begin it, unless it is there or s moves.
func (l loop) takeBack(a *action, s *liveSwitch) {
	if s.moved.Load() || l.isMoving(s) {
		return
	}
	if lives := s.lives.Load(); lives != nil && (*lives)[len(*lives)-1].Number != uint64(s.home.incarnation()) {
		a.dispatched = append(a.dispatched, l.takeHome(s))
	}
}

// resumeMoves goes on with the moves of the leader before, and ends the hosts of one switch alone
// that have no use any more.
func (f *Fabric) resumeMoves(l loop) {
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
			f.resumeMove(s, m)
		}) {
			<-s.moving
		}
	}
}

// resumeMove goes on with the move of a switch; nil: with what its leader did not come to after it.
func (f *Fabric) resumeMove(s *liveSwitch, m *leader.Move) {
	if m != nil {
		if _, err := f.finishMove(s, *m); err != nil {
			f.opts.Log.Warn("move of a switch", "switch", s.name, "err", err)
		}
	}
	if h := s.owned(); h != nil && !s.moved.Load() {
		f.endOwner(h, h.owner.Load(), "switch "+s.name+" was moved")
	}
}
