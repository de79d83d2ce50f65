package ibd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ib"
)

// Status is what the management has come to.
type Status struct {
	// Settled: the manager has taken note of all links that went down or came up, switches forward by
	// what it has written, and NICs send by the paths there are since.
	Settled  bool
	Held     bool              // NICs inject nothing, for they know no paths
	Programs []string          // that are connected: what, and where
	Managers []string          // those of them that are subnet managers, and our own while it manages
	Words    []string          // of each manager: who, its state and its priority, the master first
	Ports    map[string]int    // how many ports with a link are in each state, by its name
	Lost     map[string]uint64 // datagrams, by why
	Cycle    string            // that tables can deadlock, and how; "": they cannot
}

// settled is that of a Status.
func (d *Driver) settled() bool {
	q := &d.paths
	return d.tables.idle() && !q.stale && q.now == nil && !d.held && d.swept()
}

// swept reports whether the manager has nothing to do: our own knows all dead links, and of
// programs none was heard in the last quietFor, waits for an answer, or has still to take note of a
// link.
func (d *Driver) swept() bool {
	if w := d.own; w != nil && w.info.State == ib.ManagerMaster {
		return !w.computing && !w.due && len(w.tasks)+len(w.open) == 0 && slices.Equal(w.dead, d.subnet.Dead())
	}
	if p := &d.phases; p.asked > 0 && d.cfg.Fabric.Now()-p.asked < weft.FromDuration(quietFor) {
		return false
	}
	for _, p := range d.clients {
		if p.manager && (len(p.asked) > 0 || d.subnet.Unswept(p.at)) {
			return false
		}
	}
	return true
}

// Status returns it; that of a fabric that has ended is empty.
func (d *Driver) Status() (s Status) {
	_ = d.ask(func() {
		d.look()
		s = Status{Settled: d.settled(), Held: d.held, Lost: maps.Clone(d.lost), Ports: d.subnet.PortStates()}
		s.Cycle = d.cycle
		type manager struct {
			who string
			ib.ManagerInfo
		}
		var list []manager
		add := func(who string, info ib.ManagerInfo) { list = append(list, manager{who, info}) }
		if d.own != nil {
			add(d.ownName(), d.own.info)
			if d.own.info.State == ib.ManagerMaster {
				s.Managers = append(s.Managers, d.ownName())
			}
		}
		for _, p := range d.clients {
			s.Programs = append(s.Programs, p.who)
			if p.manager {
				s.Managers = append(s.Managers, p.who)
				add(p.who, p.info)
			}
		}
		slices.SortFunc(list, func(a, b manager) int {
			return cmp.Or(cmp.Compare(b.State, a.State), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.who, b.who))
		})
		for _, m := range list {
			s.Words = append(s.Words, fmt.Sprintf("%s: %v, priority %d", m.who, m.State, m.Priority))
		}
	})
	return s
}

// Managers that are programs are asked who they are by watchMark in the upper 16 bits of a
// transaction, every watchEvery. Chosen by us.
const (
	watchMark  = 0xfffc
	watchEvery = time.Second
)

// watch asks each program that is a manager for SMInfo, as somebody at its node.
func (d *Driver) watch() {
	if time.Since(d.watched) < watchEvery {
		return
	}
	d.watched = time.Now()
	for n, p := range d.clients {
		if !p.manager {
			continue
		}
		if m, ok := d.subnet.To(p.at, p.at, ib.MethodGet, ib.AttrSMInfo, 0); ok {
			m.SetTransaction(watchMark<<48 | uint64(n))
			d.launch(m)
		}
	}
}

// sawManager takes the answer.
func (d *Driver) sawManager(m *ib.Datagram) {
	if p := d.clients[int(m.Transaction()&lower48)]; p != nil && m.Attribute() == ib.AttrSMInfo {
		p.info = m.ManagerInfo()
	}
}
