package ibd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ib"
)

// phases follow what a manager does after faults, for the reports of them. The loop owns it.
type phases struct {
	now   *round    // what the manager is at
	next  *round    // of links that have died or come back since now has tables; nil: none have
	done  *round    // its tables are written and it was not reported yet; nil: there is none
	asked weft.Time // a program that manages was heard last

	settling context.CancelFunc // ends the wait for packets of older tables; nil: none
}

// round is a sweep and the tables that come of it. Times are of the clock of the fabric; 0: not
// yet.
type round struct {
	died  map[weft.LinkID]bool // links that have died, and for which no manager has written tables
	death weft.Time            // the last of them died
	began weft.Time            // a link has died or come back for which it has not swept; 0: none
	trap  weft.Time
	sweep weft.Time
	first weft.Time // table written
	last  weft.Time

	loaded   weft.Time // a switch has got tables
	version  uint64    // of the newest that one has got
	method   string
	switches map[weft.SwitchID]bool
	entries  int

	ended   map[string]bool           // phases, by the names of package fault, whose losses are to be read
	until   map[string]map[int]uint64 // what each fault had cost by the end of each phase
	reading bool
}

// A manager that was not heard for sweepGap begins another sweep; one that was neither heard nor
// has written a table for writtenFor has written all. The paths of NICs, which follow, are waited
// for as long as pathsFor, and a manager that has still to take note of a link as long as sweepFor.
// Chosen by us: longer than OpenSM waits for an answer that was lost.
const (
	sweepGap   = weft.Second
	writtenFor = 300 * weft.Millisecond
	pathsFor   = weft.Second
	sweepFor   = 10 * weft.Second
)

func newRound() *round {
	return &round{
		died: map[weft.LinkID]bool{}, switches: map[weft.SwitchID]bool{},
		ended: map[string]bool{}, until: map[string]map[int]uint64{},
	}
}

// end notes that a phase of a round ends now, once more if it had before, and has what was lost
// until then read.
func (d *Driver) end(r *round, phase string) {
	r.ended[phase] = true
	d.readCosts(r)
}

func (d *Driver) readCosts(r *round) {
	if r.reading || len(r.ended) == 0 {
		return
	}
	phases := r.ended
	r.reading, r.ended = true, map[string]bool{}
	d.running.Go(func() {
		costs := d.cfg.Fabric.Costs()
		d.post(func() {
			for phase := range phases {
				r.until[phase] = costs
			}
			r.reading = false
			d.readCosts(r)
		})
	})
}

// linkIs takes note of a link that has died or come back. Once tables are being written it is for
// the next sweep.
func (d *Driver) linkIs(id weft.LinkID, dead bool) {
	p, now := &d.phases, d.cfg.Fabric.Now()
	r := p.now
	if r.first > 0 {
		if p.next == nil {
			p.next = newRound()
		}
		r = p.next
	}
	if dead {
		r.died[id], r.death = true, now
	} else {
		delete(r.died, id)
	}
	nothing := now-r.began > sweepGap && now-p.asked > sweepGap // came of what was before
	if r.began == 0 || nothing {
		r.began, r.trap, r.sweep = now, 0, 0
	}
}

// trapSent takes note of a trap.
func (d *Driver) trapSent() {
	r := cmp.Or(d.phases.next, d.phases.now)
	if r.began > 0 && r.trap == 0 {
		r.trap = d.cfg.Fabric.Now()
		d.end(r, fault.UntilTrap)
	}
}

// looks takes note that a manager looks at the fabric, which ends the round whose tables it has
// written if links have died or come back since.
func (d *Driver) looks() *round {
	p := &d.phases
	if p.next != nil && p.done == nil {
		p.done, p.now, p.next = p.now, p.next, nil
	}
	return p.now
}

// sweepBegins takes note of a sweep.
func (d *Driver) sweepBegins(r *round) {
	r.sweep = d.cfg.Fabric.Now()
	d.end(r, fault.UntilSweep)
}

// managerAsks takes note of what a manager asks an agent.
func (d *Driver) managerAsks(m *ib.MAD) {
	if !m.IsSubnet() || m.IsAnswer() || m.Attribute() == ib.AttrSMInfo || m.Attribute() == ib.AttrNotice {
		return
	}
	p, now := &d.phases, d.cfg.Fabric.Now()
	r := p.now
	if m.Method() == ib.MethodGet {
		r = d.looks()
	}
	if r.sweep == 0 || r.first == 0 && now-p.asked > sweepGap {
		d.sweepBegins(r)
	}
	p.asked = now
}

// written takes note of tables that a manager has changed.
func (d *Driver) written(m *ib.Datagram, list []ib.Effect) {
	entries := 0
	var id weft.SwitchID
	for _, e := range list {
		if e.Kind == ib.EffectTables && e.Entries > 0 {
			entries, id = entries+e.Entries, e.Switch
		}
	}
	r := d.phases.now
	if entries == 0 || r.sweep == 0 || !d.cfg.Forward {
		return
	}
	r.last = d.cfg.Fabric.Now()
	if r.first == 0 {
		r.first = r.last
		d.end(r, fault.UntilFirst)
	}
	d.end(r, fault.UntilLast)
	r.method = m.Program
	r.entries += entries
	r.switches[id] = true
}

// report tells the fabric of tables that a manager has written, once it has written them all and
// switches forward by them.
func (d *Driver) report(ctx context.Context) {
	p := &d.phases
	if !d.tables.idle() {
		return
	}
	if r := p.done; r != nil && !r.reading {
		p.done = nil
		d.reportRound(ctx, r)
	}
	r := p.now
	if p.done != nil || r.first == 0 || r.reading {
		return
	}
	quiet := d.cfg.Fabric.Now() - max(r.last, p.asked)
	if quiet < writtenFor || quiet < pathsFor && !d.settled() || quiet < sweepFor && !d.swept() {
		return
	}
	p.now, p.next = cmp.Or(p.next, newRound()), nil
	d.reportRound(ctx, r)
}

func (d *Driver) reportRound(ctx context.Context, of *round) {
	p, f := &d.phases, d.cfg.Fabric
	r := fabric.Round{
		Died: slices.Sorted(maps.Keys(of.died)), Began: max(of.sweep, of.death), Computed: of.first,
		InForce: max(of.loaded, of.last), Trap: of.trap, LastTable: of.last, Until: of.until,
	}
	r.Version, r.Method = cmp.Or(of.version, d.tables.version), of.method
	r.Switches, r.Entries = len(of.switches), of.entries
	if p.settling != nil {
		p.settling()
	}
	var wait context.Context
	wait, p.settling = context.WithTimeout(ctx, settleFor)
	cancel := p.settling
	d.running.Go(func() { // ctx bounds it
		defer cancel()
		f.Reconfigured(r)
		_ = f.Settle(wait, r.Version) // what has not settled then is not noted
	})
}

// settleFor bounds the wait for packets of older tables; chosen by us.
const settleFor = 10 * time.Second
