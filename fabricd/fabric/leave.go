package fabric

import (
	"context"
	"errors"

	"github.com/weft-fabric/weft/fabricd/host"
)

// lastLooks is how often a host that goes is asked again for its last answer. Chosen by us: it is
// asked ten times a second otherwise.
const lastLooks = 5

// Leave moves a switch home from its process, which has been told to end. If it is down it stays
// so.
func (mo *moves) Leave(ctx context.Context, req host.AttachRequest) error {
	s, err := mo.switchByName(req.Switch)
	if err != nil {
		return err
	}
	mo.forgetJoining(s, req.Number)
	return mo.whileMoving(ctx, s, func() error {
		h := s.own.Load()
		if h == nil || !h.ownedBy(req.Number) {
			return nil // it is that switch no more
		}
		who := h.String()
		if _, err := mo.moveTo(s, s.home); err != nil {
			return err
		}
		if mo.letGo(h, req.Number) {
			mo.events.Publish(mo.Now(), Event{Kind: EventProcessLeft, Switch: s.name, Detail: who})
		}
		return nil
	})
}

// ownedBy reports whether the owner of a host of one switch alone has the spec of that number.
func (h *hostState) ownedBy(number uint64) bool {
	o := h.owner.Load()
	return o != nil && o.number == number
}

// letGo lets go of a host of one switch alone that does not run it, once it has given its last
// answer. It reports false when that was done already. It runs while nobody else moves the switch.
func (mo *moves) letGo(h *hostState, number uint64) (done bool) {
	_, err := h.lookAt(mo.ctx, host.CountersRequest{}, true)
	for range lastLooks { // who attends to it asks too
		if !errors.Is(err, errLater) {
			break
		}
		_, err = h.lookAt(mo.ctx, host.CountersRequest{}, true)
	}
	mo.inLoop(func(l loop) {
		if done = h.ownedBy(number); done {
			mo.attendance.drop(l, h, err == nil)
		}
	})
	return done
}
