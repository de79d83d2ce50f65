package manager

import (
	"context"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/switch/tables"
)

// AtOnce bounds the uploads under way: over a broker the fabric answers as many at once. Chosen by
// us.
const AtOnce = 32

// answer is what came of one upload.
type answer struct {
	s   weft.SwitchID
	at  weft.Time
	err error
}

// upload tells every switch what it lacks and returns when the last that answered did. Those that
// did not are in late afterwards.
func (m *Manager) upload(ctx context.Context) (last weft.Time) {
	var todo []weft.SwitchID
	for s := range m.want {
		if m.has[s] != m.want[s] {
			todo = append(todo, weft.SwitchID(s))
		}
	}
	work, answers := make(chan weft.SwitchID, len(todo)), make(chan answer, len(todo))
	for _, s := range todo {
		work <- s
	}
	close(work)
	var running sync.WaitGroup
	for range min(AtOnce, len(todo)) {
		running.Go(func() {
			for s := range work {
				wait, cancel := context.WithTimeout(ctx, m.cfg.Patience)
				at, err := m.cfg.Fabric.Load(wait, m.patch(s))
				cancel()
				answers <- answer{s, at, err}
			}
		})
	}
	running.Wait()
	close(answers)
	clear(m.late)
	for a := range answers {
		if a.err != nil {
			m.late[a.s], m.known[a.s] = a.err, false // it may have it by now
			continue
		}
		m.has[a.s], m.known[a.s] = m.want[a.s], true
		last = max(last, a.at)
	}
	return last
}

// patch is what a switch lacks: what the last job changes there when it has all before, and
// otherwise everything. Called by several at once, which read only.
func (m *Manager) patch(s weft.SwitchID) *tables.Patch {
	if m.known[s] && m.has[s] == m.before[s] {
		for _, p := range m.now.Patches {
			if p.Switch == s {
				q := *p
				q.To = m.want[s]
				if q.From != 0 {
					q.From = m.has[s]
				}
				return &q
			}
		}
	}
	return m.now.Whole(s, m.want[s])
}

// acknowledged takes note that every switch has what it should have, if so.
func (m *Manager) acknowledged() bool {
	if len(m.late) > 0 {
		return false
	}
	m.planner.Acknowledged()
	m.allAcknowledged = true
	return true
}

// waits reports whether a switch that has not acknowledged may forward packets: one of which all
// links are dead does not.
func (m *Manager) waits(dead *subnet.Dead) bool {
	g := m.planner.Graph()
	for i := range g.Links {
		l := &g.Links[i]
		if dead.Cuts(l) {
			continue
		}
		for _, e := range [2]weft.End{l.A, l.B} {
			if e.Node.IsSwitch() && m.late[weft.SwitchID(e.Node.Index)] != nil {
				return true
			}
		}
	}
	return false
}
