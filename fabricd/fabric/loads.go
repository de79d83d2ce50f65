package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/switch/tables"
)

// loads are new tables for switches of a host. Those that come while others are on their way go
// together, in one request.
type loads struct {
	mu      sync.Mutex
	sending bool        // guarded by mu: somebody does
	waiting []*loadTask // guarded by mu; bound: one for each switch, since those of one come one at a time
}

type loadTask struct {
	next  *host.Loaded
	patch *tables.Patch
	done  chan error // capacity 1
}

// load has a switch of the host forward by tables, of which patch is what has changed, and returns
// when they are in force.
func (h *hostState) load(next *host.Loaded, patch *tables.Patch) error {
	t := &loadTask{next, patch, make(chan error, 1)}
	h.loads.mu.Lock()
	h.loads.waiting = append(h.loads.waiting, t)
	send := !h.loads.sending
	h.loads.sending = true
	h.loads.mu.Unlock()
	for send {
		h.loads.mu.Lock()
		list := h.loads.waiting
		h.loads.waiting = nil
		if len(list) == 0 {
			h.loads.sending, send = false, false
		}
		h.loads.mu.Unlock()
		h.loadTasks(list)
	}
	return <-t.done
}

// loadTasks does them all, and says what came of each.
func (h *hostState) loadTasks(list []*loadTask) {
	errs, err := h.loadAll(list)
	var again []*loadTask
	for _, t := range list {
		bad := errs[t.patch.Switch]
		switch {
		case err != nil || bad == nil || t.patch.From == 0:
			t.done <- errors.Join(err, bad)
		default: // it may have another version, as one that was made anew has: then it gets the whole program
			t.patch = t.next.Whole(t.patch.Switch, 0)
			again = append(again, t)
		}
	}
	if len(again) == 0 {
		return
	}
	errs, err = h.loadAll(again)
	for _, t := range again {
		t.done <- errors.Join(err, errs[t.patch.Switch])
	}
}

// loadAll has switches of the host forward by tables. What went wrong with one of them is by
// switch.
func (h *hostState) loadAll(list []*loadTask) (errs map[weft.SwitchID]error, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	if h.suspect.Load() {
		h.stale.Store(true)
		return nil, errSuspect
	}
	h.mu.Lock()
	alive, o := h.answers, host.LoadOrder{Number: h.number, Term: h.site.opts.Term}
	h.mu.Unlock()
	for _, t := range list {
		o.Patches, o.Made = append(o.Patches, t.patch), append(o.Made, t.next)
		if err := attach(&o, t.patch.Routing); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(alive, orderTime)
	defer cancel()
	a, err := h.host.Load(ctx, o)
	if err != nil {
		if noAnswer(err) {
			h.markSuspect()
		}
		h.stale.Store(true)
		return nil, err
	}
	errs = map[weft.SwitchID]error{}
	for _, v := range a.Versions {
		if v.Err != "" {
			errs[v.Switch] = errors.New(v.Err)
		}
	}
	return errs, nil
}

// attach adds to an order the file that a routing needs, once.
func attach(o *host.LoadOrder, routing string) error {
	if slices.ContainsFunc(o.Files, func(f host.File) bool { return f.Routing == routing }) {
		return nil
	}
	_, file, err := subnet.Pin(routing)
	if file != nil {
		o.Files = append(o.Files, host.File{Routing: routing, Bytes: file})
	}
	return err
}

// reload gives a host the tables in force, where it has older ones. Newer ones were loaded in the
// last moment of the leader before, or the answer was lost; they stay, and the subnet manager,
// which knows of them, loads the rest.
func (h *hostState) reload(versions []uint64) error {
	si := h.site
	first := si.opts.Firmware.Version()
	var list []*loadTask
	for i, id := range h.placement.SwitchIDs() {
		has := first
		if i < len(versions) {
			has = versions[i]
		}
		s := si.switches[id]
		now := s.Now()
		if now.Version <= has {
			continue
		}
		if whole := now.Whole(id, first); whole != nil {
			list = append(list, &loadTask{next: now, patch: whole})
		}
	}
	if len(list) == 0 {
		return nil
	}
	errs, err := h.loadAll(list)
	for id, bad := range errs {
		err = errors.Join(err, fmt.Errorf("tables of switch %s: %w", si.switches[id].name, bad))
	}
	return err
}
