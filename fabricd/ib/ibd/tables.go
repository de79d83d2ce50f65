package ibd

import (
	"context"
	"reflect"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ib"
	"github.com/weft-fabric/weft/switch/tables"
)

// loader has switches forward by what was written. The loop owns it.
type loader struct {
	wanted  map[weft.SwitchID]bool // written since its tables were last made
	loading map[weft.SwitchID]bool
	waiting map[weft.SwitchID][]func() // for the tables that are wanted, or are being loaded as made
	inForce map[weft.SwitchID]*tables.Patch
	version uint64
	soon    bool // all are to forward anew in a moment
}

// loadsAtOnce bounds the switches that are loaded at one moment; retryAfter is for those that could
// not be. Chosen by us.
const (
	loadsAtOnce = 16
	retryAfter  = 500 * time.Millisecond
	loadTime    = 10 * time.Second
	soonAfter   = 20 * time.Millisecond
)

func (l *loader) init() {
	l.wanted, l.loading, l.waiting = map[weft.SwitchID]bool{}, map[weft.SwitchID]bool{}, map[weft.SwitchID][]func(){}
	l.inForce = map[weft.SwitchID]*tables.Patch{}
}

func (l *loader) dirty(id weft.SwitchID) { l.wanted[id] = true }

// allDirty has all switches forward anew.
func (d *Driver) allDirty() {
	for i := range d.cfg.Fabric.Topology().Switches {
		d.tables.dirty(weft.SwitchID(i))
	}
}

// allSoon is that in a moment: a manager gives many LIDs one after the other.
func (d *Driver) allSoon() {
	if !d.tables.soon {
		d.tables.soon = true
		d.after(soonAfter, func() { d.tables.soon = false; d.allDirty() })
	}
}

// whenLoaded does something once the switch forwards by what is written now.
func (l *loader) whenLoaded(id weft.SwitchID, do func()) { l.waiting[id] = append(l.waiting[id], do) }

// idle reports whether all switches forward by what is written.
func (l *loader) idle() bool { return len(l.wanted)+len(l.loading) == 0 && !l.soon }

// load begins to load what is wanted.
func (d *Driver) load(ctx context.Context) {
	l := &d.tables
	if !d.cfg.Forward {
		clear(l.wanted)
		return
	}
	for id := range l.wanted {
		if l.loading[id] || len(l.loading) >= loadsAtOnce {
			continue
		}
		delete(l.wanted, id)
		then := l.waiting[id]
		delete(l.waiting, id)
		p := d.subnet.Program(id, l.version)
		if was := l.inForce[id]; was != nil {
			if p.To = was.To; reflect.DeepEqual(p, was) {
				run(then)
				continue
			}
		}
		l.version = max(l.version, d.cfg.Fabric.TableVersion(id)) + 1
		p.To = l.version
		l.loading[id] = true
		d.running.Go(func() {
			within, cancel := context.WithTimeout(ctx, loadTime)
			defer cancel()
			err := d.cfg.Fabric.Load(within, p)
			d.post(func() { d.loaded(p, then, err) })
		})
	}
}

// loaded goes on with what waited for the tables of a switch.
func (d *Driver) loaded(p *tables.Patch, then []func(), err error) {
	l, id := &d.tables, p.Switch
	delete(l.loading, id)
	if err != nil {
		delete(l.inForce, id) // it may have them
		name := d.cfg.Fabric.Topology().Switches[id].Name
		d.notes.add(name, "tables that a subnet manager wrote are not in force, they are loaded again: "+err.Error())
		l.waiting[id] = append(then, l.waiting[id]...)
		d.after(retryAfter, func() { l.dirty(id) })
		return
	}
	l.inForce[id] = p
	if r := d.phases.now; r.first > 0 {
		r.loaded, r.version = d.cfg.Fabric.Now(), max(r.version, p.To)
		d.end(r, fault.UntilForce)
	}
	run(then)
}

func run(list []func()) {
	for _, do := range list {
		do()
	}
}

// inquirer asks the subnet administrator for the paths of NICs. The loop owns it.
type inquirer struct {
	stale bool // something has changed since it was last asked
	since time.Time
	now   *ib.Inquiry
	again time.Duration // after which it is asked once more, when answers were missing
}

// Waits of an inquiry, chosen by us: quietFor is how long nothing was written when a sweep counts
// as over.
const (
	quietFor   = 100 * time.Millisecond
	firstAgain = time.Second
	mostAgain  = 30 * time.Second
)

func (q *inquirer) changed() { q.stale, q.since, q.again = true, time.Now(), firstAgain }

// inquire lets the inquiry go on, and begins one when tables have changed.
func (d *Driver) inquire() {
	q := &d.paths
	switch {
	case !d.cfg.Forward:
		return
	case q.now != nil:
		d.sendAll(q.now.Tick())
	case q.stale && time.Since(q.since) > quietFor && d.tables.idle():
		q.stale = false
		q.now = d.subnet.NewInquiry()
		d.sendAll(q.now.Next())
	}
	d.concluded()
}

func (d *Driver) sendAll(list []ib.Datagram) {
	for i := range list {
		d.launch(&list[i])
	}
}

// heard takes an answer of the administrator.
func (d *Driver) heard(m *ib.Datagram) {
	if d.paths.now != nil && d.paths.now.Heard(&m.MAD) {
		d.sendAll(d.paths.now.Next())
		d.concluded()
	}
}

// concluded has NICs send by what an inquiry has found.
func (d *Driver) concluded() {
	q := &d.paths
	if q.now == nil || !q.now.Done() {
		return
	}
	done := q.now
	q.now = nil
	answered := d.subnet.Adopt(done)
	d.allDirty()
	if answered {
		d.lookForCycle()
	}
	if _, refused := done.Found(); refused > 0 || !answered {
		d.after(q.again, func() { q.stale = true })
		q.again = min(2*max(q.again, firstAgain), mostAgain)
	}
	if d.held && answered {
		d.resume()
	}
}

// resume has NICs inject once all switches forward by the tables that are wanted.
func (d *Driver) resume() {
	if !d.tables.idle() {
		d.after(tickEvery, d.resume)
		return
	}
	d.held = false
	d.cfg.Fabric.ResumeNICs()
}
