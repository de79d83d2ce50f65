package ibd

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ib"
)

// phases follow what a manager does after a fault, for the report of it: trap, sweep, tables. Times
// are of the clock of the fabric; 0: not yet. The loop owns it.
type phases struct {
	died   map[weft.LinkID]bool // links that have died, and for which no manager has written tables
	began  weft.Time            // a link has died or come back for which it has not swept; 0: none
	trap   weft.Time
	sweep  weft.Time
	asked  weft.Time // it was heard last
	first  weft.Time // table written
	last   weft.Time
	loaded weft.Time // a switch has got tables

	method   string
	switches map[weft.SwitchID]bool
	entries  int
	settling context.CancelFunc // ends the wait for packets of older tables; nil: none

	ended   map[string]bool           // phases, by the names of package fault, whose losses are to be read
	until   map[string]map[int]uint64 // what each fault had cost by the end of each phase
	reading bool
}

// A manager that was not heard for sweepGap begins another sweep; one that has written no table for
// writtenFor has written all; for the paths of NICs, which follow, it is waited as long as pathsFor.
// Chosen by us: longer than OpenSM waits for an answer that was lost.
const (
	sweepGap   = weft.Second
	writtenFor = 300 * weft.Millisecond
	pathsFor   = weft.Second
)

func (p *phases) init() {
	p.died, p.switches = map[weft.LinkID]bool{}, map[weft.SwitchID]bool{}
	p.ended, p.until = map[string]bool{}, map[string]map[int]uint64{}
}

// end notes that a phase ends now, once more if it had before, and has what was lost until then read.
func (d *Driver) end(phase string) {
	d.phases.ended[phase] = true
	d.readCosts()
}

func (d *Driver) readCosts() {
	p := &d.phases
	if p.reading || len(p.ended) == 0 {
		return
	}
	phases, until := p.ended, p.until
	p.reading, p.ended = true, map[string]bool{}
	d.running.Go(func() {
		costs := d.cfg.Fabric.Costs()
		d.post(func() {
			for phase := range phases {
				until[phase] = costs
			}
			p.reading = false
			d.readCosts()
		})
	})
}

// linkIs takes note of a link that has died or come back.
func (d *Driver) linkIs(id weft.LinkID, dead bool) {
	p := &d.phases
	switch {
	case dead:
		p.died[id] = true
	case p.first == 0: // else the tables that are being written are for it
		delete(p.died, id)
	}
	now := d.cfg.Fabric.Now()
	nothing := p.first == 0 && now-p.began > sweepGap && now-p.asked > sweepGap // came of what was before
	if p.began == 0 || nothing {
		p.began, p.trap, p.sweep = now, 0, 0
	}
}

// trapSent takes note of a trap.
func (d *Driver) trapSent() {
	if p := &d.phases; p.began > 0 && p.trap == 0 {
		p.trap = d.cfg.Fabric.Now()
		d.end(fault.UntilTrap)
	}
}

// managerAsks takes note of what a manager asks an agent.
func (d *Driver) managerAsks(m *ib.MAD) {
	if !m.IsSubnet() || m.IsAnswer() || m.Attribute() == ib.AttrSMInfo || m.Attribute() == ib.AttrNotice {
		return
	}
	p, now := &d.phases, d.cfg.Fabric.Now()
	if p.sweep == 0 || p.first == 0 && now-p.asked > sweepGap {
		p.sweep = now
		d.end(fault.UntilSweep)
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
	p := &d.phases
	if entries == 0 || p.sweep == 0 || !d.cfg.Forward {
		return
	}
	p.last = d.cfg.Fabric.Now()
	if p.first == 0 {
		p.first = p.last
		d.end(fault.UntilFirst)
	}
	d.end(fault.UntilLast)
	p.method = m.Program
	p.entries += entries
	p.switches[id] = true
}

// report tells the fabric of tables that a manager has written, once it has written them all and
// switches forward by them.
func (d *Driver) report(ctx context.Context) {
	p, f := &d.phases, d.cfg.Fabric
	quiet := f.Now() - p.last
	if p.first == 0 || p.reading || !d.tables.idle() || quiet < writtenFor || quiet < pathsFor && !d.settled() {
		return
	}
	r := fabric.Round{
		Died: slices.Sorted(maps.Keys(p.died)), Began: p.sweep, Computed: p.first, InForce: max(p.loaded, p.last),
		Trap: p.trap, LastTable: p.last, Until: p.until,
	}
	r.Version, r.Method, r.Switches, r.Entries = d.tables.version, p.method, len(p.switches), p.entries
	if p.settling != nil {
		p.settling()
	}
	var wait context.Context
	wait, p.settling = context.WithTimeout(ctx, settleFor)
	cancel := p.settling
	p.began, p.trap, p.sweep, p.first, p.last, p.entries = 0, 0, 0, 0, 0, 0
	p.init()
	d.running.Go(func() { // ctx bounds it
		defer cancel()
		f.Reconfigured(r)
		_ = f.Settle(wait, r.Version) // what has not settled then is not noted
	})
}

// settleFor bounds the wait for packets of older tables; chosen by us.
const settleFor = 10 * time.Second
