package fabric

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/tables"
)

// loads are new tables for switches of a part. Those that come while others are on their way go together, in one request.
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

// load has a switch of the part forward by tables, of which patch is what has changed, and returns when they are in force.
func (p *outpost) load(next *host.Loaded, patch *tables.Patch) error {
	t := &loadTask{next, patch, make(chan error, 1)}
	p.loads.mu.Lock()
	p.loads.waiting = append(p.loads.waiting, t)
	send := !p.loads.sending
	p.loads.sending = true
	p.loads.mu.Unlock()
	for send {
		p.loads.mu.Lock()
		list := p.loads.waiting
		p.loads.waiting = nil
		if len(list) == 0 {
			p.loads.sending, send = false, false
		}
		p.loads.mu.Unlock()
		p.loadTasks(list)
	}
	return <-t.done
}

// loadTasks does them all, and says what came of each.
func (p *outpost) loadTasks(list []*loadTask) {
	errs, err := p.loadAll(list)
	var again []*loadTask
	for _, t := range list {
		bad := errs[t.patch.Switch]
		fw, ok := t.next.Firmware.(tables.Programmed)
		switch {
		case err != nil || bad == nil || !ok || t.patch.From == 0:
			t.done <- errors.Join(err, bad)
		default: // it may have another version, as one that was made anew has: then it gets the whole program
			t.patch = tables.Diff(t.patch.Switch, tables.Program{}, fw.Program(), 0, t.next.Version)
			again = append(again, t)
		}
	}
	if len(again) == 0 {
		return
	}
	errs, err = p.loadAll(again)
	for _, t := range again {
		t.done <- errors.Join(err, errs[t.patch.Switch])
	}
}

// loadAll has switches of the host forward by tables. What went wrong with one of them is by switch.
func (p *outpost) loadAll(list []*loadTask) (errs map[weft.SwitchID]error, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	if p.quiet.Load() {
		p.stale.Store(true)
		return nil, errQuiet
	}
	p.mu.Lock()
	alive, o := p.alive, host.LoadOrder{Number: p.number, Term: p.fabric.opts.Term}
	p.mu.Unlock()
	for _, t := range list {
		o.Patches, o.Made = append(o.Patches, t.patch), append(o.Made, t.next)
	}
	ctx, cancel := context.WithTimeout(alive, orderTime)
	defer cancel()
	a, err := p.host.Load(ctx, o)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, reply.ErrNobody) {
			p.hush()
		}
		p.stale.Store(true)
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

// reload gives a part the tables in force, where it has older ones. Newer ones were loaded in the last moment of the leader before, or the answer
// was lost; they stay, and the subnet manager, which knows of them, loads the rest.
func (p *outpost) reload(versions []uint64) error {
	f := p.fabric
	first := tables.VersionOf(f.opts.Firmware)
	var list []*loadTask
	for i, id := range p.place.SwitchIDs() {
		has := first
		if i < len(versions) {
			has = versions[i]
		}
		s := f.switches[id]
		now := s.Now()
		if now.Version <= has {
			continue
		}
		if fw, ok := now.Firmware.(tables.Programmed); ok {
			list = append(list, &loadTask{next: now, patch: tables.Diff(id, tables.Program{}, fw.Program(), 0, now.Version)})
		}
	}
	if len(list) == 0 {
		return nil
	}
	errs, err := p.loadAll(list)
	for id, bad := range errs {
		err = errors.Join(err, fmt.Errorf("tables of switch %s: %w", f.switches[id].name, bad))
	}
	return err
}
