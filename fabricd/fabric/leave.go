package fabric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// lastLooks is how often a process that leaves is asked again for its last answer. Chosen by us: it is
// asked ten times a second otherwise.
const lastLooks = 5

// Leave takes a switch back from its process, which has been told to end. What the process held is lost, in a report of
// kind [KindHandover]; the fabric emulates the switch again, unless it was crashed.
func (f *Fabric) Leave(ctx context.Context, req host.AttachRequest) error {
	s, err := f.switchByName(req.Switch)
	if err != nil {
		return err
	}
	if err := f.takeSwitchBack(ctx, s, req.Number); err != nil {
		return err
	}
	f.lookAtHosts() // what they have counted by now is not the work of the handover
	var hand, a *action
	var wasDown bool
	f.inLoop(func(l loop) { hand, wasDown = l.takeOver(s, req.Number) })
	if hand == nil {
		return nil // it is that switch no more
	}
	h := s.processHost.Load()
	who := h.String()
	if err := f.handedOver(s, hand); err != nil {
		f.inLoop(func(loop) { h.owner.Load().leaving = false })
		return err
	}
	_, heard := h.lookAt(ctx, host.CountersRequest{}, true)
	for range lastLooks { // who attends to it asks too
		if !errors.Is(heard, errLater) {
			break
		}
		_, heard = h.lookAt(ctx, host.CountersRequest{}, true)
	}
	f.inLoop(func(l loop) {
		if heard != nil {
			l.ledger.step(l.Now(), ledger.HostEnded{Host: h.id, Incident: l.crashOf(s)})
		}
		l.decide(leader.HostLeft{Host: h.id, Repaired: true})
		l.vacate(h)
		l.events.Publish(l.Now(), Event{Kind: EventProcessLeft, Switch: s.name, Detail: who})
		if !wasDown && !l.hasStopped() {
			a = l.decide(leader.Revive{Switch: s.id})
		}
	})
	if a == nil {
		return nil
	}
	return a.finish(ctx)
}

// takeOver takes the links of s from the process of that spec; nil: it is not that switch, or is about to be lost.
func (l loop) takeOver(s *liveSwitch, number uint64) (hand *action, wasDown bool) {
	h := s.process()
	if h == nil || h.failed.Load() {
		return nil, false
	}
	proc := h.owner.Load()
	if proc.number != number || proc.leaving {
		return nil, false
	}
	proc.leaving, wasDown = true, l.crashOf(s) != 0
	return l.handOver(s, fmt.Sprintf("%s is handed back by %s", s.name, h)), wasDown
}

// handOver takes the links of s from whoever is s, unless it is down anyway.
func (l loop) handOver(s *liveSwitch, what string) *action {
	l.processHostOf(s)
	l.countNow()
	return l.decide(leader.Hand{Switch: s.id, What: what})
}

// handedOver returns when nobody is s any more, and has that published.
func (f *Fabric) handedOver(s *liveSwitch, a *action) error {
	if err := a.finish(f.ctx); err != nil {
		return err
	}
	if a.number != 0 {
		f.inLoop(func(l loop) {
			l.countNow()
			l.decide(leader.Handed{Switch: s.id})
		})
	}
	return nil
}

// awaitAttach takes a switch back whose process does not attach in time.
func (f *Fabric) awaitAttach(s *liveSwitch, proc *switchProcess) {
	timer := time.NewTimer(joinTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-proc.attached:
		return
	case <-proc.over.Done():
		return
	}
	f.opts.Log.Warn("switch process does not attach", "switch", s.name, "process", proc.String())
	if err := f.takeSwitchBack(f.ctx, s, proc.number); err != nil {
		f.opts.Log.Error("take a switch back", "switch", s.name, "err", err)
	}
}

// takeBack makes the fabric emulate s itself again, unless a process is the switch.
func (l loop) takeBack(a *action, s *liveSwitch) {
	f := l.Fabric
	if s.process() != nil || !s.away {
		return
	}
	if proc := s.joining; proc != nil {
		s.joining = nil
		f.release(proc)
	}
	s.away = false
	for _, l := range f.linksOf(s.id) {
		for i, e := range l.ends() {
			if e.Node != s.id.Node() {
				continue
			}
			a.tellTransport("take "+s.name+" back", func() error {
				return f.opts.Transport.Listen(l.dirs[1-i], f.live.NodeRuntime.Inbox(e))
			})
		}
	}
}
