package ibd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ib"
	routes "github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Own has our own manager stand by at the last NIC. It manages while no manager does that goes
// before it, by the datagrams of any other, and routes what is left by Up*/Down* in one layer.
// Tables that are in force when it takes over stay until a link dies or comes back.
type Own struct{ Priority int } // 0 to 15

// own is our own manager. The loop owns it.
type own struct {
	at     ib.PortRef
	info   ib.ManagerInfo
	others map[ib.PortRef]*other
	tasks  []ib.Order // to be sent, in this order
	open   map[uint64]*task
	number uint64

	master    time.Time // one was heard last, or it began to stand by
	polled    time.Time
	handed    time.Time // it was last told another one to be the master
	computing bool
	due       bool          // tables are to be computed, whatever is dead
	dead      []weft.LinkID // when tables were last computed, or found in force
	computed  bool          // the tables are ours, of one level
}

// other is another manager.
type other struct {
	info  ib.ManagerInfo
	heard time.Time
}

// task is a request without an answer.
type task struct {
	d     ib.Datagram
	to    ib.PortRef
	sent  time.Time
	tries int
}

// ownMark is in the upper 16 bits of the transactions of our own manager.
const ownMark = 0xfffd

// Times and bounds of our own manager, chosen by us.
const (
	ownPoll  = 200 * time.Millisecond // from one look at other managers to the next
	ownGone  = 1500 * time.Millisecond
	ownYield = 10 * time.Second // how long it leaves managing to another that stands by and goes before it
	ownRetry = 500 * time.Millisecond
	ownTries = 4
	ownOpen  = 16
)

func (d *Driver) newOwn(o Own) *own {
	nics := d.cfg.Fabric.Topology().NICs
	at := d.subnet.Node(nics[len(nics)-1].ID.Node())
	w := &own{at: at, others: map[ib.PortRef]*other{}, open: map[uint64]*task{}, master: time.Now()}
	w.info = ib.ManagerInfo{GUID: d.subnet.PortGUID(at), Priority: uint8(o.Priority), State: ib.ManagerStandby}
	d.subnet.SetManager(at, true)
	return w
}

// ownTick lets our own manager look around, and do what is to be done.
func (d *Driver) ownTick(ctx context.Context) {
	w := d.own
	if w == nil {
		return
	}
	now := time.Now()
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		t := w.open[id]
		if now.Sub(t.sent) < ownRetry {
			continue
		}
		if t.tries++; t.tries == ownTries {
			delete(w.open, id)
			continue
		}
		t.sent = now
		m := t.d
		d.launch(&m)
	}
	if now.Sub(w.polled) >= ownPoll {
		w.polled = now
		for _, r := range d.subnet.Managers() {
			if r.Node != w.at.Node {
				d.ownAsk(ib.MethodGet, ib.Order{To: r, Attribute: ib.AttrSMInfo})
			}
		}
		d.ownDecide(now)
	}
	if w.info.State == ib.ManagerMaster {
		d.ownSweep(ctx)
	}
	d.ownSend()
}

// ownAsk sends a request.
func (d *Driver) ownAsk(method uint8, o ib.Order) {
	w := d.own
	m, ok := d.subnet.To(w.at, o.To, method, o.Attribute, o.Modifier)
	if !ok {
		return // it is looked again at the next sweep
	}
	if method == ib.MethodSet {
		copy(m.Data(), o.Data[:])
	}
	w.number++
	m.SetTransaction(ownMark<<48 | w.number)
	m.Owner, m.Program = d.ownName(), "weft"
	w.open[w.number] = &task{d: *m, to: o.To, sent: time.Now()}
	d.launch(m)
}

func (d *Driver) ownName() string { return "our own manager at " + d.subnet.Where(d.own.at) }

// ownSend sends as many of the orders as may be without an answer.
func (d *Driver) ownSend() {
	w := d.own
	for len(w.tasks) > 0 && len(w.open) < ownOpen {
		o := w.tasks[0]
		w.tasks = w.tasks[1:]
		d.ownAsk(ib.MethodSet, o)
	}
}

// ownHeard takes an answer to a request.
func (d *Driver) ownHeard(m *ib.Datagram) {
	w := d.own
	id := m.Transaction() & lower48
	t := w.open[id]
	if t == nil {
		return
	}
	delete(w.open, id)
	if m.Attribute() == ib.AttrSMInfo && m.Status() == ib.StatusOK {
		w.others[t.to] = &other{m.ManagerInfo(), time.Now()}
		if t.d.Method() == ib.MethodSet && t.d.Modifier() == ib.TellHandover {
			d.ownBecomes(ib.ManagerStandby)
		}
	}
	d.ownSend()
}

// ownDecide stands by or manages, by what the others do.
func (d *Driver) ownDecide(now time.Time) {
	w := d.own
	var above, master *other
	var aboveAt ib.PortRef
	for r, o := range w.others {
		if now.Sub(o.heard) > ownGone {
			delete(w.others, r)
			continue
		}
		if o.info.State == ib.ManagerMaster {
			master = o
		}
		if o.info.State != ib.ManagerIdle && o.info.Above(w.info) && (above == nil || o.info.Above(above.info)) {
			above, aboveAt = o, r
		}
	}
	switch w.info.State {
	case ib.ManagerStandby:
		if master != nil {
			w.master = now
		}
		if wait := now.Sub(w.master); wait > ownGone && (above == nil || wait > ownYield) {
			d.ownBecomes(ib.ManagerMaster)
		}
	case ib.ManagerMaster:
		ready := above != nil && (above.info.State == ib.ManagerStandby || above.info.State == ib.ManagerMaster)
		if ready && now.Sub(w.handed) > ownGone {
			w.handed = now
			d.ownTell(aboveAt, ib.TellHandover)
		}
	}
}

// ownTell tells another manager something.
func (d *Driver) ownTell(to ib.PortRef, what uint32) {
	var m ib.MAD
	m.SetManagerInfo(d.own.info)
	d.ownAsk(ib.MethodSet, ib.Order{To: to, Attribute: ib.AttrSMInfo, Modifier: what, Data: [64]byte(m.Data())})
}

// ownBecomes has it manage, or no longer.
func (d *Driver) ownBecomes(s ib.ManagerState) {
	w := d.own
	if w.info.State == s {
		return
	}
	w.info.State, w.tasks, w.master = s, nil, time.Now()
	w.info.Count++
	if s == ib.ManagerMaster {
		w.computed, w.dead, w.due = false, d.subnet.Dead(), !d.subnet.Leads() // what is in force stays
		d.cfg.Note(d.ownName() + " manages")
		return
	}
	d.cfg.Note(d.ownName() + " stands by")
}

// ownTold takes what another manager, an agent or a NIC tells or asks our own manager.
func (d *Driver) ownTold(m *ib.Datagram) {
	w := d.own
	switch {
	case m.Class() == ib.ClassAdministration:
		if w.info.State != ib.ManagerMaster {
			d.lost["no subnet manager where it came"]++
			return
		}
		d.subnet.AnswerPath(&m.MAD, !w.computed)
	case m.Method() == ib.MethodTrap:
		m.Repress() // the next look shows what it is about
	case m.Method() == ib.MethodGet:
		m.SetManagerInfo(w.info)
		m.Reply()
	default:
		from, what := m.ManagerInfo(), m.Modifier()
		d.ownObeys(from, what)
		m.SetManagerInfo(w.info)
		m.Reply()
	}
	d.subnet.TurnBack(m)
	d.launch(m)
}

// ownObeys does what another manager tells it.
func (d *Driver) ownObeys(from ib.ManagerInfo, what uint32) {
	w := d.own
	switch {
	case what == ib.TellHandover && w.info.State == ib.ManagerStandby:
		d.ownBecomes(ib.ManagerMaster)
		for r, o := range w.others {
			if o.info.GUID == from.GUID {
				d.ownTell(r, ib.TellAcknowledge)
			}
		}
	case what == ib.TellAcknowledge && w.info.State == ib.ManagerMaster:
		d.ownBecomes(ib.ManagerStandby)
	case what == ib.TellDisable && w.info.State == ib.ManagerStandby:
		d.ownBecomes(ib.ManagerIdle)
	case (what == ib.TellStandby || what == ib.TellDiscover) && w.info.State == ib.ManagerIdle:
		d.ownBecomes(ib.ManagerStandby)
	}
}

// ownSweep has ports become Active, and switches forward without what is dead.
func (d *Driver) ownSweep(ctx context.Context) {
	w := d.own
	if w.computing || len(w.tasks)+len(w.open) > 0 {
		return
	}
	if w.tasks = d.subnet.Ready(w.at); len(w.tasks) > 0 {
		return
	}
	dead := d.subnet.Dead()
	if !w.due && slices.Equal(dead, w.dead) {
		return
	}
	w.computing = true
	if r := d.looks(); r.first == 0 {
		d.sweepBegins(r)
	}
	g := d.cfg.Fabric.Topology()
	lids, err := opensm.NewLIDs(g, d.subnet.LIDs)
	d.running.Go(func() { // ctx bounds it
		var lft *opensm.LFT
		if err == nil {
			lft, err = tablesWithout(ctx, g, lids, dead)
		}
		d.post(func() {
			w.computing, w.due, w.dead = false, false, dead
			switch {
			case ctx.Err() != nil:
			case err != nil:
				d.notes.add(d.ownName(), fmt.Sprintf("no new tables without %d links: %v", len(dead), err))
			case w.info.State == ib.ManagerMaster:
				w.computed, w.tasks = true, d.subnet.Tables(w.at, lft.Ports)
				d.paths.changed()
				d.ownSend()
			}
		})
	})
}

// tablesWithout are the tables of our own manager.
func tablesWithout(ctx context.Context, g *topology.Graph, lids *opensm.LIDs, dead []weft.LinkID,
) (*opensm.LFT, error) {
	cut := func(l *topology.Link) bool {
		_, is := slices.BinarySearch(dead, l.ID)
		return is && l.BetweenSwitches()
	}
	r, err := routes.Around(ctx, g, cut)
	if err != nil {
		return nil, err
	}
	left := *r
	left.Graph = g.Without(cut)
	return opensm.NewLFT(&left, lids)
}
