package ibd

import (
	"maps"

	"github.com/weft-fabric/weft/fabricd/ib"
)

// Status is what the management has come to.
type Status struct {
	Settled  bool              // switches forward by what was written, and NICs send by the paths there are since
	Held     bool              // NICs inject nothing, for they know no paths
	Programs []string          // that are connected: what, and where
	Managers []string          // those of them that are subnet managers
	Lost     map[string]uint64 // datagrams, by why
}

// settled is that of a Status.
func (d *Driver) settled() bool {
	q := &d.paths
	return d.tables.idle() && !q.stale && q.now == nil && !d.held
}

// Status returns it; that of a fabric that has ended is empty.
func (d *Driver) Status() (s Status) {
	_ = d.ask(func() {
		s = Status{Held: d.held, Lost: maps.Clone(d.lost)}
		s.Settled = d.settled()
		if d.own != nil && d.own.info.State == ib.ManagerMaster {
			s.Managers = append(s.Managers, d.ownName())
		}
		for _, p := range d.clients {
			s.Programs = append(s.Programs, p.who)
			if p.manager {
				s.Managers = append(s.Managers, p.who)
			}
		}
	})
	return s
}
