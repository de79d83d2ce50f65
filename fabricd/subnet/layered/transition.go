package layered

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// Transition knows where packets may be, and what they may wait for, while the switches of a fabric
// get other tables one by one: the channels that packets for each destination may have come to
// since it was made, and the dependencies of all of them. It is [Mixture] in steps: each routing
// that comes is followed only from where it differs from those that were there, so a small change
// costs little. It is not changed once it is made. Routings of other kinds than Deterministic are
// followed for whole destinations.
type Transition struct {
	deps    *Dependencies
	layers  int
	words   int      // of reached, for each address
	reached []uint64 // per path, destination and channel, if deterministic
}

// Place is where a routing differs from another: in how a switch forwards packets for an address in
// a layer, or how its NICs send there.
type Place struct {
	At    weft.SwitchID
	Layer weft.VC
	Path  uint16
	Dst   weft.NICID
}

// NewTransition is of packets that all travel by one routing.
func NewTransition(r *Routing) *Transition {
	if r.Kind != Deterministic {
		return &Transition{deps: Mixture(nil, nil, r), layers: r.Layers}
	}
	t := new(Transition).grown(r)
	f := newPassage(t, r)
	for d := range weft.NICID(len(r.Graph.NICs)) {
		for path := range r.Tables.Paths() {
			f.begin(d, uint16(path))
			for s := range r.Graph.Switches {
				for _, a := range r.Assignment.Addresses(weft.SwitchID(s), d) {
					if int(a.Path) == path {
						f.source(weft.SwitchID(s), a.VC)
					}
				}
			}
			f.follow()
		}
	}
	return t
}

// With is the transition with packets that may from now on be forwarded in each switch by any of
// these routings. All of them but those that differ at the places alone from another of them were
// there already.
func (t *Transition) With(places []Place, routings ...*Routing) *Transition {
	if routings[0].Kind != Deterministic {
		changed := make([]bool, len(routings[0].Graph.NICs))
		for _, p := range places {
			changed[p.Dst] = true
		}
		deps := Mixture(t.deps, func(d weft.NICID) bool { return changed[d] }, routings...)
		return &Transition{deps: deps, layers: t.layers}
	}
	next := t.grown(routings...)
	f := newPassage(next, routings...)
	g := routings[0].Graph
	for _, p := range places {
		f.begin(p.Dst, p.Path)
		for port := range weft.PortID(g.Switches[p.At].Ports) {
			peer, _, ok := g.Peer(weft.End{Node: p.At.Node(), Port: port})
			if !ok || !peer.Node.IsSwitch() {
				continue
			}
			by := next.deps.Channels.Number(weft.SwitchID(peer.Node.Index), peer.Port, p.Layer)
			if f.has(by) {
				f.todo = append(f.todo, state{p.At, port, p.Layer, by})
			}
		}
		if sendsBy(routings, p) {
			f.source(p.At, p.Layer)
		}
		f.follow()
	}
	return next
}

// sendsBy reports whether by one of the routings NICs at the place send to it.
func sendsBy(routings []*Routing, p Place) bool {
	return slices.ContainsFunc(routings, func(r *Routing) bool {
		return slices.ContainsFunc(r.Assignment.Addresses(p.At, p.Dst), func(a weft.Address) bool {
			return a.Path == p.Path && a.VC == p.Layer
		})
	})
}

// Without are the dependencies but for those of channels of dead links, in either direction. Nobody
// waits there: no packet gets onto a dead link, and those that stand before it are discarded. What
// packets do that had come past before is left.
func (t *Transition) Without(dead func(weft.LinkID) bool) *Dependencies {
	c := t.deps.Channels
	gone := make([]bool, len(t.deps.next))
	some := false
	for i := range c.g.Links {
		l := &c.g.Links[i]
		if !l.BetweenSwitches() || !dead(l.ID) {
			continue
		}
		some = true
		for _, e := range [2]weft.End{l.A, l.B} {
			for n := c.Number(weft.SwitchID(e.Node.Index), e.Port, 0); n < len(gone); n += c.Len() {
				gone[n] = true
			}
		}
	}
	if !some {
		return t.deps
	}
	d := &Dependencies{Channels: c, next: slices.Clone(t.deps.next)}
	for n, list := range d.next {
		switch {
		case gone[n]:
			d.next[n] = nil
		case slices.ContainsFunc(list, func(o int32) bool { return gone[o] }):
			d.next[n] = slices.DeleteFunc(slices.Clone(list), func(o int32) bool { return gone[o] })
		}
	}
	return d
}

// Equal reports whether two graphs have the same dependencies, of channels numbered alike.
func (d *Dependencies) Equal(other *Dependencies) bool {
	sorted := func(next [][]int32, i int) (list []int32) {
		if i < len(next) {
			list = slices.Clone(next[i])
		}
		slices.Sort(list)
		return list
	}
	for i := range max(len(d.next), len(other.next)) {
		if !slices.Equal(sorted(d.next, i), sorted(other.next, i)) {
			return false
		}
	}
	return true
}

// grown is a copy with room for routings.
func (t *Transition) grown(routings ...*Routing) *Transition {
	r, paths := routings[0], 1
	n := &Transition{layers: t.layers, deps: &Dependencies{Channels: NewChannels(r.Graph)}}
	for _, r := range routings {
		n.layers, paths = max(n.layers, r.Layers), max(paths, r.Tables.Paths())
	}
	channels := n.deps.Channels.Len() * n.layers
	n.words = (channels + 63) / 64
	n.deps.next = make([][]int32, channels)
	if t.deps != nil {
		n.deps.Channels = t.deps.Channels
		for i, list := range t.deps.next {
			n.deps.next[i] = slices.Clip(list)
		}
	}
	size := paths * len(r.Graph.NICs) * n.words
	if n.words == t.words {
		n.reached = make([]uint64, max(size, len(t.reached)))
		copy(n.reached, t.reached)
		return n
	}
	n.reached = make([]uint64, size)
	for i := 0; t.words > 0 && i < len(t.reached)/t.words; i++ {
		copy(n.reached[i*n.words:(i+1)*n.words], t.reached[i*t.words:(i+1)*t.words])
	}
	return n
}

// passage follows packets from states on to those that were not reached yet.
type passage struct {
	t        *Transition
	routings []*Routing
	dst      weft.NICID
	path     uint16
	reached  []uint64 // for them
	todo     []state
	injected []weft.PortID // per switch
}

func newPassage(t *Transition, routings ...*Routing) *passage {
	f := &passage{t: t, routings: routings, injected: make([]weft.PortID, len(routings[0].Graph.Switches))}
	for s := range f.injected {
		f.injected[s] = routings[0].Injected(weft.SwitchID(s))
	}
	return f
}

func (f *passage) begin(d weft.NICID, path uint16) {
	i := (int(path)*len(f.routings[0].Graph.NICs) + int(d)) * f.t.words
	f.dst, f.path, f.todo, f.reached = d, path, f.todo[:0], f.t.reached[i:i+f.t.words]
}

func (f *passage) has(by int) bool { return f.reached[by/64]>>(by%64)&1 == 1 }

func (f *passage) source(s weft.SwitchID, layer weft.VC) {
	if in := f.injected[s]; in != weft.NoPort {
		f.todo = append(f.todo, state{s, in, layer, -1})
	}
}

func (f *passage) follow() {
	deps := f.t.deps
	for len(f.todo) > 0 {
		x := f.todo[len(f.todo)-1]
		f.todo = f.todo[:len(f.todo)-1]
		for i, r := range f.routings {
			hops := r.Tables.Choices(x.at, f.dst, f.path, x.in, x.layer)
			if len(hops) == 0 || hops[0].Port == weft.NoPort {
				continue
			}
			h := hops[0]
			if i > 0 { // most places have the same in all
				if before := f.routings[i-1].Tables.Choices(x.at, f.dst, f.path, x.in, x.layer); len(before) > 0 && before[0] == h {
					continue
				}
			}
			to, _, ok := r.Graph.Peer(weft.End{Node: x.at.Node(), Port: h.Port})
			if !ok || !to.Node.IsSwitch() {
				continue
			}
			layer := h.In(x.layer)
			out := deps.Channels.Number(x.at, h.Port, layer)
			if x.by >= 0 && !slices.Contains(deps.next[x.by], int32(out)) {
				deps.next[x.by] = append(deps.next[x.by], int32(out))
			}
			if !f.has(out) {
				f.reached[out/64] |= 1 << (out % 64)
				f.todo = append(f.todo, state{weft.SwitchID(to.Node.Index), to.Port, layer, out})
			}
		}
	}
}
