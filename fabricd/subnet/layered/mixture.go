package layered

import (
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
)

// Mixture is the layered channel dependency graph of packets that may be forwarded in each switch
// as any of several routings of one graph has it, whichever they met before: that of an update,
// while some switches have old tables and others new ones. It holds more than the union of the
// graphs of the routings: where a packet comes by a new path to a switch that has old tables, it
// goes on by them.
//
// With changed only the destinations for which it holds are followed, and what over has is taken
// over: so it costs little to look again when few destinations have changed since over was made.
// over may be nil; it is not changed. There are no Loads.
//
// It is for routings of one kind. [Routing.Dependencies] is that of one routing alone.
func Mixture(over *Dependencies, changed func(weft.NICID) bool, routings ...*Routing) *Dependencies {
	m := newMixer(over, routings...)
	for d := range weft.NICID(len(routings[0].Graph.NICs)) {
		if changed == nil || changed(d) {
			m.destination(d)
		}
	}
	return m.Dependencies
}

// newMixer follows nothing yet, and has what over has, which may be nil.
func newMixer(over *Dependencies, routings ...*Routing) *mixer {
	g := routings[0].Graph
	m := &mixer{routings: routings, Dependencies: &Dependencies{Channels: NewChannels(g)}}
	for _, r := range routings {
		m.layers = max(m.layers, r.Layers)
	}
	n := m.Channels.Len() * m.layers
	m.next = make([][]int32, n)
	if over != nil {
		m.next = make([][]int32, max(n, len(over.next)))
		for i, list := range over.next {
			m.next[i] = slices.Clip(list)
		}
	}
	m.seen = make([]int32, n+len(g.Switches)*m.layers)
	for s := range weft.SwitchID(len(g.Switches)) {
		if in := routings[0].Injected(s); in != weft.NoPort {
			m.sources, m.injected = append(m.sources, s), append(m.injected, in)
		}
	}
	return m
}

// Acyclic reports whether there is no cycle. It is quicker than [Dependencies.Cycle], which finds a
// shortest one.
func (d *Dependencies) Acyclic() bool {
	into := make([]int32, len(d.next))
	for _, list := range d.next {
		for _, c := range list {
			into[c]++
		}
	}
	var free []int32
	for c, n := range into {
		if n == 0 {
			free = append(free, int32(c))
		}
	}
	done := 0
	for ; done < len(free); done++ {
		for _, c := range d.next[free[done]] {
			if into[c]--; into[c] == 0 {
				free = append(free, c)
			}
		}
	}
	return done == len(d.next)
}

// mixer follows the ways of all sources of a destination at once, where that loses nothing.
type mixer struct {
	*Dependencies
	routings []*Routing
	layers   int
	sources  []weft.SwitchID
	injected []weft.PortID // of each source

	seen      []int32 // per channel, and per layer and switch where a packet enters it: the walk that was there last
	walk      int32
	todo      []state
	addresses []weft.Address
	traffic   []Traffic
	moves     uint16 // layers between which the packets of the walk move
}

// destination follows what all sources send to d. Sources of deterministic routings differ in
// nothing once they are on their way, but for Loads; of others each has its own layers to move
// between.
func (m *mixer) destination(d weft.NICID) {
	if m.routings[0].Kind != Deterministic || m.Loads != nil {
		for i, s := range m.sources {
			for _, a := range m.trafficOf(s, d) {
				m.begin()
				m.source(s, m.injected[i], a)
				m.follow(d, a.Path)
			}
		}
		return
	}
	for path := range m.paths() {
		m.begin()
		for i, s := range m.sources {
			for _, a := range m.trafficOf(s, d) {
				if int(a.Path) == path {
					m.source(s, m.injected[i], a)
				}
			}
		}
		m.follow(d, uint16(path))
	}
}

// trafficOf is what NICs of s send to d by, as any of the routings has it.
func (m *mixer) trafficOf(s weft.SwitchID, d weft.NICID) []Traffic {
	m.addresses = m.addresses[:0]
	for _, r := range m.routings {
		m.addresses = append(m.addresses, r.Assignment.Addresses(s, d)...)
	}
	m.traffic = TrafficTo(m.traffic[:0], m.addresses)
	return m.traffic
}

func (m *mixer) paths() (n int) {
	for _, r := range m.routings {
		n = max(n, r.Tables.Paths())
	}
	return n
}

func (m *mixer) begin() { m.walk, m.moves, m.todo = m.walk+1, 0, m.todo[:0] }

func (m *mixer) source(s weft.SwitchID, in weft.PortID, a Traffic) {
	m.moves |= a.Moves
	for w := a.Layers; w != 0; w &= w - 1 {
		m.reach(state{s, in, weft.VC(bits.TrailingZeros16(w)), -1})
	}
}

func (m *mixer) reach(x state) {
	i := x.by
	if i < 0 {
		i = m.Channels.Len()*m.layers + int(x.layer)*len(m.routings[0].Graph.Switches) + int(x.at)
	}
	if m.seen[i] == m.walk {
		return
	}
	m.seen[i] = m.walk
	if m.Loads != nil && x.by >= 0 {
		m.Loads[x.by]++
	}
	m.todo = append(m.todo, x)
}

func (m *mixer) follow(d weft.NICID, path uint16) {
	kind, escape := m.routings[0].Kind, m.routings[0].Escape
	for len(m.todo) > 0 {
		x := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		if kind == Escape && x.layer != escape {
			m.reach(state{x.at, weft.NoPort, escape, -1})
		}
		m.ways(x, d, path, kind != Escape || x.layer == escape) // see Cycle
		if kind != Adaptive || x.by < 0 || m.moves>>x.layer&1 == 0 {
			continue
		}
		if m.routings[0].Tables.PerLayer() {
			x.in = weft.NoPort
		}
		for w := m.moves &^ (1 << x.layer); w != 0; w &= w - 1 {
			y := x
			y.layer = weft.VC(bits.TrailingZeros16(w))
			m.ways(y, d, path, false) // theorem 3
		}
	}
}

// ways follows those on from a state by all routings, and notes the dependencies if they count.
func (m *mixer) ways(x state, d weft.NICID, path uint16, counts bool) {
	for _, r := range m.routings {
		for _, h := range r.Tables.Choices(x.at, d, path, x.in, x.layer) {
			if h.Port == weft.NoPort {
				continue
			}
			to, _, ok := r.Graph.Peer(weft.End{Node: x.at.Node(), Port: h.Port})
			if !ok || !to.Node.IsSwitch() {
				continue
			}
			layer := h.In(x.layer)
			out := m.Channels.Number(x.at, h.Port, layer)
			if counts && x.by >= 0 {
				m.Add(x.by, out)
			}
			m.reach(state{weft.SwitchID(to.Node.Index), to.Port, layer, out})
		}
	}
}
