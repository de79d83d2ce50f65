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

// joinTime bounds how long a process may take from its spec to being attached; then it is
// forgotten. Chosen by us: a process needs less than a second for that.
const joinTime = 20 * time.Second

// goneTime is how long a process that is to be a switch waits until it is noticed that the one
// before has ended. Chosen by us: who attends to processes asks them every askEvery.
const goneTime = 2 * time.Second

// firstEpoch is above all epochs of the fabric's own emulation; chosen by us. With milliseconds,
// epochs last for 49 days.
const firstEpoch = 1 << 20

// Join answers a process that is to be a switch with all that it needs. Nothing changes for the
// switch before [Fabric.Attach]. The error wraps ErrHeld when there is an owner already, which
// comes to no harm.
func (mo *moves) Join(req host.JoinRequest) (c host.Spec, err error) {
	if err := mo.awaitGone(req.Switch); err != nil {
		return c, err
	}
	h, err := mo.joins(req)
	if err != nil {
		return c, err
	}
	by, err := mo.admissions.admit(h)
	if err != nil {
		return c, err
	}
	mo.inLoop(func(l loop) { c, err = mo.expect(l, req, h, by) })
	return c, err
}

func (mo *moves) expect(l loop, req host.JoinRequest, h *hostState, by *admission) (c host.Spec, err error) {
	s, err := mo.canJoin(l, req.Switch)
	if err != nil {
		return c, err
	}
	if c, err = mo.attendance.specOf(l, h, by); err != nil {
		return c, err
	}
	o := mo.attendance.newOwner(&c, by.user)
	o.pid, o.machine = req.PID, req.Host
	h.nextAdmission.CompareAndSwap(by, nil) // another owner gets others
	s.joining = o
	if !mo.spawn(func() { mo.awaitAttach(s, o) }) {
		return c, errStopped
	}
	return c, nil
}

// joins is the host that a process of a switch is to be, if one can join.
func (mo *moves) joins(req host.JoinRequest) (h *hostState, err error) {
	mo.inLoop(func(l loop) {
		var s *liveSwitch
		if s, err = mo.canJoin(l, req.Switch); err == nil {
			h = mo.attendance.ownOf(l, s)
		}
	})
	return h, err
}

// awaitGone waits a moment until it is noticed that the owner of a switch has ended, if it has.
func (mo *moves) awaitGone(name string) error {
	s, err := mo.switchByName(name)
	if err != nil {
		return err
	}
	h := s.owned()
	if h == nil {
		return nil
	}
	o := h.owner.Load()
	switch err := h.read(host.CountersRequest{}); {
	case o == nil, err == nil:
		return nil // canJoin says that it is there
	case errors.Is(err, context.DeadlineExceeded):
		h.markSuspect()
		return nil
	case !errors.Is(err, reply.ErrNobody):
		return nil
	}
	timer := time.NewTimer(goneTime)
	defer timer.Stop()
	select {
	case <-o.gone:
	case <-timer.C:
	}
	return nil
}

// canJoin says whether the switch of a name may get an owner.
func (mo *moves) canJoin(_ loop, name string) (*liveSwitch, error) {
	o := mo.opts.Processes
	switch {
	case mo.hasStopped():
		return nil, errStopped
	case o == nil:
		return nil, errors.New("this fabric takes no switch processes: its links are in memory")
	}
	s, err := mo.switchByName(name)
	if err != nil {
		return nil, err
	}
	if _, err := subnet.ByName(o.Routing); err != nil {
		return nil,
			fmt.Errorf("the firmware of this fabric has no name by which a process could make it, so no switch leaves its "+
				"process: %w", err)
	}
	if o := s.joining; o != nil {
		return nil, fmt.Errorf("switch %s: %w: %v is about to join", s.name, ErrHeld, o)
	}
	if h := s.owned(); h != nil {
		how := ""
		if h.suspect.Load() {
			how = ", which does not answer just now"
		}
		return nil, fmt.Errorf("switch %s: %w: %v%s: end that first", s.name, ErrHeld, h, how)
	}
	return s, nil
}

// Attach moves a switch to its process, which is ready, and returns when its links are up there. A
// switch that is down is restarted there. After an error that wraps [host.ErrUnreached] the process
// may try again.
func (mo *moves) Attach(ctx context.Context, req host.AttachRequest) error {
	s, err := mo.switchByName(req.Switch)
	if err != nil {
		return err
	}
	var o *owner
	mo.inLoop(func(l loop) { o, err = mo.joining(l, s, req.Number) })
	if err != nil {
		return err
	}
	return mo.whileMoving(ctx, s, func() error {
		h := s.own.Load()
		if err := mo.install(h, o); err != nil {
			return err
		}
		if _, err := mo.moveTo(s, h); err != nil {
			return err
		}
		if mo.crashOf(s) != 0 {
			if err := mo.do(mo.ctx, leader.Revive{Switch: s.id}); err != nil {
				return err
			}
		}
		mo.events.Publish(mo.Now(), Event{Kind: EventProcessJoined, Switch: s.name, Detail: o.String()})
		return nil
	})
}

// install makes o the owner of a host of one switch alone, which answers, and tells it all that it
// should know. The host does not run the switch yet.
func (mo *moves) install(h *hostState, o *owner) (err error) {
	h.begin(linkend.Incarnation{Number: o.number, First: o.first})
	if err := mo.readyOwner(h, o); err != nil {
		mo.inLoop(func(l loop) {
			h.begin(linkend.Incarnation{})
			l.ledger.step(l.Now(), ledger.HostEnded{Host: h.id, Incident: l.crashOf(h.sw)})
		})
		if errors.Is(err, reply.ErrSilent) {
			return fmt.Errorf("%w: %w", host.ErrUnreached, err)
		}
		return fmt.Errorf("the fabric cannot reach %v: %w", o, err)
	}
	mo.inLoop(func(l loop) {
		if o.agent == "" {
			if _, err = mo.joining(l, h.sw, o.number); err != nil {
				return
			}
			h.sw.joining = nil
		}
		close(o.attached)
		h.owner.Store(o)
		h.markAlive()
		l.checkpointSoon()
	})
	if err != nil {
		return err
	}
	if err := mo.attendance.resync(h, nil); err != nil {
		mo.opts.Log.Warn("host of a switch", "switch", h.name, "err", err) // it is told again when it answers
	}
	return mo.attendance.attendOwner(h, o)
}

// readyOwner returns when a host of one switch alone answers, and what its clock says is known. A
// process that attaches answers already.
func (mo *moves) readyOwner(h *hostState, o *owner) (err error) {
	if o.agent != "" {
		ctx, cancel := context.WithTimeout(mo.ctx, hostTime)
		defer cancel()
		return mo.attendance.ready(ctx, h, mo.hostNamed(o.agent))
	}
	for range clockLooks {
		if err = h.read(host.CountersRequest{}); err != nil {
			break
		}
	}
	return err
}

// attendOwner looks after a host of one switch alone as long as it has this owner.
func (at *attendance) attendOwner(h *hostState, o *owner) error {
	if !at.spawn(func() { at.attendHost(o.over, h) }) || !at.spawn(func() { at.watchHost(o.over, h) }) {
		return errStopped
	}
	return nil
}

// joining is the process that has the spec of that number for a switch.
func (mo *moves) joining(l loop, s *liveSwitch, number uint64) (*owner, error) {
	o := s.joining
	if o == nil || o.number != number || l.hasStopped() {
		return nil, fmt.Errorf("switch %s was given to another process meanwhile, or this one took too long: join again",
			s.name)
	}
	return o, nil
}

// awaitAttach forgets a process that does not attach in time.
func (mo *moves) awaitAttach(s *liveSwitch, o *owner) {
	timer := time.NewTimer(joinTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.attached:
		return
	case <-o.over.Done():
		return
	}
	mo.opts.Log.Warn("switch process does not attach", "switch", s.name, "process", o.String())
	mo.forgetJoining(s, o.number)
}

// forgetJoining forgets the process of that spec, unless it is attached.
func (mo *moves) forgetJoining(s *liveSwitch, number uint64) {
	mo.inLoop(func(l loop) {
		if o := s.joining; o != nil && o.number == number {
			s.joining = nil
			mo.attendance.revokeOwner(o)
		}
	})
}
