package verify

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
)

// Chosen by us. A packet is on a link for hopTime, so that a fault half-way comes surely between
// two decisions, on a busy machine too; with registers that expire, for as much less as lets the
// path end before. A link that comes back needs its ends to hear each other there and back before
// the packet sees it: it holds packets for a small part of that only.
const (
	hopTime  = 200 * time.Millisecond
	leastHop = 20 * time.Millisecond
	quick    = 20 // part of the time
	rounds   = 3  // so often a livelock goes round before all is repaired
)

// hopTime is how long a hop is to take so that no register expires on a path of so many.
func (s *script) hopTime(hops int) time.Duration {
	hop := hopTime
	for _, fw := range s.cfg.firmwares() {
		for sw := range s.cfg.Graph.Switches {
			for _, r := range fw.RegistersAt(s.cfg.Graph.Place(weft.SwitchID(sw))) {
				if r.Expire > 0 {
					hop = min(hop, (r.Expire.Duration() / time.Duration(hops+1)).Truncate(time.Millisecond))
				}
			}
		}
	}
	if hop < leastHop {
		s.say("Registers expire sooner than the path can be timed to end: the run may differ.")
	}
	return max(hop, leastHop)
}

// mover times the faults of one path.
type mover struct {
	*script
	steps []Step
	hop   time.Duration   // on a slow link
	base  time.Duration   // on any other
	at    []time.Duration // when each step is decided
	slow  format.Names    // links that hold packets longer than the others
	first []Element       // dead from the start
	back  []bool          // per fault: it is repaired meanwhile
	seen  [][]int         // per fault: the steps that can see it

	orders []timed
}

type timed struct {
	at   time.Duration
	step format.Step
}

func (m *mover) add(at time.Duration, st format.Step) { m.orders = append(m.orders, timed{at, st}) }

func newMover(s *script) *mover {
	steps := slices.Clone(s.Path)
	if s.Again >= 0 {
		for range rounds - 1 {
			steps = append(steps, s.Path[s.Again:]...)
		}
	}
	return &mover{script: s, steps: steps}
}

// plan works out when each fault comes and goes: between the decisions that see it differently.
func (m *mover) plan() {
	m.hop = m.hopTime(len(m.steps))
	m.watch()
	m.clock()
	for i, e := range m.faults {
		m.order(i, e)
	}
}

// write sends the packet over slow links and orders the faults.
func (m *mover) write(send format.Step) {
	end := m.at[len(m.at)-1] + m.hop/2
	if m.Again >= 0 {
		m.say("The packet goes round %d times, then everything is repaired; it could go on for ever.", rounds)
		m.add(end, format.Step{Heal: true})
		m.file.Expect.HopsAtMost = len(m.Path)
	}
	slices.SortStableFunc(m.orders, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	m.dead(m.first)
	if len(m.slow) > 0 {
		m.file.Timeline = append(m.file.Timeline, format.Step{
			At: "0s", Impair: m.slow,
			Delay: format.Duration((m.hop - m.base).String()),
		})
	}
	m.file.Link.Delay = format.Duration(m.base.String())
	m.file.Timeline = append(m.file.Timeline, send)
	for _, o := range m.orders {
		o.step.At = format.Duration(o.at.String())
		m.file.Timeline = append(m.file.Timeline, o.step)
	}
	m.file.Duration = format.Duration((end + m.hop/2).String())
}

// watch finds which steps see which fault: those at its ends.
func (m *mover) watch() {
	g := m.cfg.Graph
	m.seen, m.back = make([][]int, len(m.faults)), make([]bool, len(m.faults))
	for f, e := range m.faults {
		was := false
		for i := range m.steps {
			sees := e.Switch && e.ID == uint32(m.steps[i].ID)
			for p := range g.Place(m.steps[i].ID).Ports() {
				to, link, ok := g.Peer(weft.End{Node: m.steps[i].ID.Node(), Port: weft.PortID(p)})
				if ok && (e.Switch && to.Node == weft.SwitchID(e.ID).Node() || !e.Switch && uint32(link) == e.ID) {
					sees = true
				}
			}
			if !sees {
				continue
			}
			dead := m.dies(f, i)
			m.back[f] = m.back[f] || was && !dead
			was = dead
			m.seen[f] = append(m.seen[f], i)
		}
	}
}

// dies reports whether fault f is in force at step i.
func (m *mover) dies(f, i int) bool { return slices.Contains(m.steps[i].Dead, m.Faults[f]) }

// clock works out when each step is decided. Links that come back are quick, if there are any; a
// packet is slow on the others.
func (m *mover) clock() {
	g := m.cfg.Graph
	quickly := func(weft.LinkID) bool { return false }
	m.base = m.hop
	if slices.Contains(m.back, true) {
		m.base = m.hop / quick
		quickly = func(l weft.LinkID) bool {
			for f, e := range m.faults {
				if m.back[f] && (!e.Switch && e.ID == uint32(l) || e.Switch && joins(g.Links[l].A.Node, g.Links[l].B.Node, e)) {
					return true
				}
			}
			return false
		}
	}
	at := sendTime + m.base
	for i := range m.steps {
		m.at = append(m.at, at)
		_, link, ok := g.Peer(weft.End{Node: m.steps[i].ID.Node(), Port: m.steps[i].Port})
		if !ok {
			continue // it ends here
		}
		if m.base == m.hop || quickly(link) {
			at += m.base
			continue
		}
		at += m.hop
		if name := g.Links[link].Name; !slices.Contains(m.slow, name) {
			m.slow = append(m.slow, name)
		}
	}
}

func joins(a, b weft.Node, e Element) bool {
	n := weft.SwitchID(e.ID).Node()
	return a == n || b == n
}

// order has fault f come and go as the steps that see it say.
func (m *mover) order(f int, e Element) {
	name := format.Names{m.Faults[f]}
	down, up := format.Step{Cut: name}, format.Step{Restore: name}
	if e.Switch {
		down = format.Step{Crash: name}
	}
	for n, i := range m.seen[f] {
		dead := m.dies(f, i)
		if n == 0 {
			if dead {
				m.first = append(m.first, e)
			}
			continue
		}
		before := m.seen[f][n-1]
		if m.dies(f, before) == dead {
			continue
		}
		room := m.at[i] - m.at[before]
		if !dead { // its ends hear each other after two delays
			if room < m.hop {
				m.say("%s is to come back between steps %d and %d, and has too little time for it: the run may differ.",
					m.Faults[f], before+1, i+1)
			}
			m.add(m.at[before]+m.hop/8, up)
			continue
		}
		if m.crosses(e, before, i) {
			m.say("%s is to die between the arrival of the packet by it and its routing, step %d; no order from outside "+
				"comes between: live, the packet is lost.", m.Faults[f], i+1)
		} else if room < m.hop {
			m.say("%s is to die between steps %d and %d, within %v: on a busy machine the run may differ.", m.Faults[f],
				before+1, i+1, room)
		}
		m.add(m.at[i]-min(room, m.hop)/2, down)
	}
}

// crosses reports whether the packet comes from step before to step i by e.
func (m *mover) crosses(e Element, before, i int) bool {
	_, link, ok := m.cfg.Graph.Peer(weft.End{Node: m.steps[before].ID.Node(), Port: m.steps[before].Port})
	return ok && i == before+1 && (e.Switch && e.ID == uint32(m.steps[before].ID) || !e.Switch && e.ID == uint32(link))
}
