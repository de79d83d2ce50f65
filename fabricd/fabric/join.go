package fabric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// ErrHeld means that another process is the switch.
var ErrHeld = errors.New("another process is this switch")

// joinTime bounds how long a process may take from its spec to being attached; then the fabric takes the switch back.
// Chosen by us: a process needs less than a second for that.
const joinTime = 20 * time.Second

// goneTime is how long a process that is to be a switch waits until it is noticed that the one before has ended. Chosen by us: who attends
// to processes asks them every askEvery.
const goneTime = 2 * time.Second

// firstEpoch is above all epochs of the fabric's own emulation; chosen by us. With milliseconds, epochs last for 49 days.
const firstEpoch = 1 << 20

// Join ends the fabric's own emulation of a switch for a process that is to be it, and answers with all that the process
// needs. What the switch holds is lost, in a report of kind [KindHandover]; it has no links before [Fabric.Attach]. The
// error wraps ErrHeld when there is a process already, which comes to no harm.
func (f *Fabric) Join(req host.JoinRequest) (host.Spec, error) {
	f.lookAtHosts() // what they have counted by now is not the work of the handover
	c, s, hand, err := f.expect(req)
	if err != nil {
		return host.Spec{}, err
	}
	if err := f.handedOver(s, hand); err != nil {
		return c, errors.Join(err, f.takeSwitchBack(f.ctx, s, c.Number))
	}
	return c, nil
}

// expect ends the fabric's own emulation of a switch for the process that is to be it.
func (f *Fabric) expect(req host.JoinRequest) (c host.Spec, s *liveSwitch, hand *action, err error) {
	if err := f.awaitGone(req.Switch); err != nil {
		return c, nil, nil, err
	}
	g, err := f.joins(req)
	if err != nil {
		return c, nil, nil, err
	}
	by, err := f.admit(g)
	if err != nil {
		return c, nil, nil, err
	}
	f.inLoop(func(l loop) { c, s, hand, err = l.expect(req, g, by) })
	return c, s, hand, err
}

func (l loop) expect(req host.JoinRequest, g *hostState, by *admission) (c host.Spec, s *liveSwitch, hand *action, err error) {
	f := l.Fabric
	if s, err = l.canJoin(req); err != nil {
		return c, nil, nil, err
	}
	if c, err = l.specOf(g, by); err != nil {
		return c, nil, nil, err
	}
	proc := &switchProcess{
		number: c.Number, first: c.Epoch, pid: req.PID, host: req.Host, user: by.user,
		attached: make(chan struct{}), gone: make(chan struct{}),
	}
	g.nextAdmission.CompareAndSwap(by, nil) // another process gets others
	proc.over, proc.end = context.WithCancel(f.ctx)
	hand = l.handOver(s, fmt.Sprintf("%s is handed over to %v", s.name, proc))
	s.joining, s.away = proc, true
	for _, l := range f.linksOf(s.id) {
		for _, d := range l.dirs {
			if d.To == s.name {
				hand.tellTransport("hand over", func() error { return f.opts.Transport.Unlisten(d) })
			}
		}
	}
	f.running.Go(func() { f.awaitAttach(s, proc) })
	return c, s, hand, nil
}

// joins is where the processes of a switch are known, if one can join.
func (f *Fabric) joins(req host.JoinRequest) (h *hostState, err error) {
	f.inLoop(func(l loop) {
		var s *liveSwitch
		if s, err = l.canJoin(req); err == nil {
			h = l.processHostOf(s)
		}
	})
	return h, err
}

// awaitGone waits a moment until it is noticed that the process which was a switch has ended, if it has.
func (f *Fabric) awaitGone(name string) error {
	s, err := f.switchByName(name)
	if err != nil {
		return err
	}
	h := s.process()
	if h == nil {
		return nil
	}
	proc := h.owner.Load()
	if err := h.read(host.CountersRequest{}); proc == nil || !errors.Is(err, reply.ErrNobody) {
		return nil // canJoin says that it is there
	}
	timer := time.NewTimer(goneTime)
	defer timer.Stop()
	select {
	case <-proc.gone:
	case <-timer.C:
	}
	return nil
}

// canJoin says whether a process may become the switch it names.
func (l loop) canJoin(req host.JoinRequest) (*liveSwitch, error) {
	f := l.Fabric
	o := f.opts.Processes
	switch {
	case f.hasStopped():
		return nil, errStopped
	case o == nil:
		return nil, errors.New("this fabric takes no switch processes: its links are in memory")
	}
	s, err := f.switchByName(req.Switch)
	if err != nil {
		return nil, err
	}
	if s.home.late() {
		return nil, fmt.Errorf("switch %s is run by %v: it can be no process of its own besides", s.name, s.home)
	}
	if _, err := subnet.ByName(o.Firmware); err != nil {
		return nil, fmt.Errorf("the firmware of this fabric has no name by which a process could make it, so all switches stay in one process: %w", err)
	}
	if proc := s.joining; proc != nil {
		return nil, fmt.Errorf("switch %s: %w: %v is about to join", s.name, ErrHeld, proc)
	}
	if h := s.process(); h != nil {
		how := ""
		if h.suspect.Load() {
			how = ", which does not answer just now"
		}
		return nil, fmt.Errorf("switch %s: %w: %v%s: end that first", s.name, ErrHeld, h, how)
	}
	return s, nil
}

// Attach gives the links of a switch signal whose process is ready, and returns when they are up. After an error that
// wraps [host.ErrUnreached] the process may try again.
func (f *Fabric) Attach(ctx context.Context, req host.AttachRequest) error {
	s, err := f.switchByName(req.Switch)
	if err != nil {
		return err
	}
	var proc *switchProcess
	f.inLoop(func(l loop) { proc, err = l.joining(s, req.Number) })
	if err != nil {
		return err
	}
	h := s.processHost.Load()
	h.begin(linkend.Incarnation{Number: proc.number, First: proc.first})
	for range clockLooks {
		if err := h.read(host.CountersRequest{}); err != nil {
			f.abandon(h)
			if errors.Is(err, reply.ErrSilent) {
				return fmt.Errorf("%w: %w", host.ErrUnreached, err)
			}
			return fmt.Errorf("the fabric cannot reach the process: %w", err)
		}
	}
	if f.inLoop(func(l loop) { err = l.installed(s, proc) }); err != nil {
		return err
	}
	if err := h.resync(nil); err != nil {
		f.opts.Log.Warn("switch process", "switch", s.name, "err", err) // it is briefed again when it answers
	}
	var a *action
	f.inLoop(func(l loop) {
		if l.hasStopped() {
			return
		}
		l.running.Go(func() { f.attendHost(proc.over, h) })
		l.running.Go(func() { f.watchHost(proc.over, h) })
		a = l.decide(leader.Revive{Switch: s.id})
	})
	if a == nil {
		return errStopped
	}
	if err := a.finish(ctx); err != nil {
		return err
	}
	f.events.Publish(f.Now(), Event{Kind: EventProcessJoined, Switch: s.name, Detail: h.String()})
	return nil
}

// abandon notes that the incarnation of h that was to be a switch cannot be reached.
func (f *Fabric) abandon(h *hostState) {
	f.inLoop(func(l loop) {
		h.begin(linkend.Incarnation{})
		if id := l.crashOf(h.sw); id != 0 {
			l.ledger.step(l.Now(), ledger.HostEnded{Host: h.id, Incident: id})
		}
	})
}

// joining is the process that has the spec of that number for a switch.
func (l loop) joining(s *liveSwitch, number uint64) (*switchProcess, error) {
	proc := s.joining
	if proc == nil || proc.number != number || l.hasStopped() {
		return nil, fmt.Errorf("switch %s was taken back or given to another process meanwhile: join again", s.name)
	}
	return proc, nil
}

// installed makes a process the switch for which it has the spec.
func (l loop) installed(s *liveSwitch, proc *switchProcess) error {
	if _, err := l.joining(s, proc.number); err != nil {
		return err
	}
	h := s.processHost.Load()
	s.joining = nil
	close(proc.attached)
	h.setOwner(proc)
	h.markAlive()
	l.ledger.step(l.Now(), ledger.NodeMoved{Node: s.id.Node(), To: h.id})
	return nil
}

// takeSwitchBack has the fabric emulate a switch itself again which the process of that spec was to be, unless that is it by now.
func (f *Fabric) takeSwitchBack(ctx context.Context, s *liveSwitch, number uint64) error {
	var a *action
	f.inLoop(func(l loop) {
		if s.joining != nil && s.joining.number == number && !l.hasStopped() {
			a = l.decide(leader.Revive{Switch: s.id})
		}
	})
	if a == nil {
		return nil
	}
	return a.finish(ctx)
}
