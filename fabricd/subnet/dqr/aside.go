package dqr

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// ErrNoSpare means that every virtual channel is in use, by tables or by packets on their way.
var ErrNoSpare = errors.New("no virtual channel is free")

// MoveAside is Fail, or with back Restore, for tables whose upload must change no entry that
// packets ask. Flows without a path get one in a spare layer: one that the engine does not use and
// no packet is in. There they go as paths has it, a routing of one layer that looks at the
// destination alone, of the links that are not dead. Where that is the last spare layer of so many,
// flows in other layers beyond those of the engine go there too, so that these are free after
// [Reconfiguration.Settle]: two layers more than the engine's suffice for any sequence of faults
// with Settle between.
//
// With back flows return to the engine's path where its links are alive and its entries need not
// change, or no packet asks them; others that are in the engine's layers on other paths go to the
// spare layer.
//
// New entries are those of the spare layer and such as no packet asks, so [Reconfiguration.First]
// has all of them, and after it [Reconfiguration.Routing] changes only what sources send by.
func (r *Reconfiguration) MoveAside(ctx context.Context, dead func(*topology.Link) bool, back bool, layers int,
	paths func(dead func(*topology.Link) bool) (*layered.Routing, error),
) (*Result, error) {
	if r.o.Entries != ByDestination || r.o.SwitchFlows {
		return nil, errors.New("spare layers are for entries by destination, and for flows between NICs alone")
	}
	x, res := r.begin(), &Result{}
	r.mark(dead, true)
	r.part, _ = r.w.Components(r.dead)
	for l := range r.layers {
		for k := range r.targets {
			r.cut(l, k)
		}
	}
	if back {
		x.careful = true
		if err := r.returnHome(ctx); err != nil {
			return nil, err
		}
		x.careful = false
	}
	moves := r.toMove(back)
	if len(moves) > 0 {
		l, last, err := r.spare(layers)
		if err != nil {
			return nil, err
		}
		if last {
			moves = r.gathered(moves)
		}
		around, err := paths(func(l *topology.Link) bool { return r.kills(l) })
		if err != nil {
			return nil, err
		}
		for _, m := range moves {
			if err := r.interrupted(ctx); err != nil {
				return nil, err
			}
			if err := r.moveTo(l, m, around); err != nil {
				return nil, err
			}
		}
	}
	r.finish(res, back)
	return res, nil
}

// kills reports whether a link is dead, or has been since the last Settle.
func (r *Reconfiguration) kills(l *topology.Link) bool {
	if l.BetweenSwitches() {
		return r.dead[r.w.channel(weft.SwitchID(l.A.Node.Index), l.A.Port)]
	}
	nic := l.A
	if nic.Node.IsSwitch() {
		nic = l.B
	}
	return r.gone[nic.Node.Index]
}

// move is a flow.
type move struct{ target, from int32 }

// toMove are the flows without a path that live links join; with back also those in the engine's
// layers that are not on its paths.
func (r *Reconfiguration) toMove(back bool) (list []move) {
	n := r.w.n
	for k := range r.targets {
		t := &r.targets[k]
		if r.gone[t.node.Index] {
			continue
		}
		for s := range int32(n) {
			if !r.sends(s, t) || r.part[s] != r.part[t.home] {
				continue
			}
			switch m := r.mask[k*n+int(s)]; {
			case m == 0 && r.asked(k, s), back && m&r.own() != 0 && !r.isHome(k, s):
				list = append(list, move{int32(k), s})
			}
		}
	}
	return list
}

// own are the layers of the engine.
func (r *Reconfiguration) own() uint16 { return 1<<r.engine.Layers - 1 }

// isHome reports whether a flow goes by the engine's layers and paths alone.
func (r *Reconfiguration) isHome(k int, s int32) bool {
	mask := r.mask[k*r.w.n+int(s)]
	if mask&^r.home.mask[k*r.w.n+int(s)] != 0 {
		return false
	}
	for l, y := range r.layers {
		if mask>>l&1 == 0 {
			continue
		}
		is, was := row(y.first, k, r.w.n), row(r.home.first[l], k, r.w.n)
		for at := s; at != r.targets[k].home; at = r.w.To[was[at]] {
			if was[at] < 0 || is[at] != was[at] {
				return false
			}
		}
	}
	return true
}

// gathered are moves and the flows in layers beyond the engine's.
func (r *Reconfiguration) gathered(moves []move) []move {
	n := r.w.n
	for k := range r.targets {
		for s := range int32(n) {
			if m := r.mask[k*n+int(s)]; m != 0 && m&r.own() == 0 {
				moves = append(moves, move{int32(k), s})
			}
		}
	}
	return moves
}

// spare is a layer beyond the engine's in which no packet can be, of so many layers; last: there is
// no other.
func (r *Reconfiguration) spare(layers int) (l int, last bool, err error) {
	used := uint16(0)
	for i := range r.mask {
		used |= r.mask[i] | r.sent[i]
	}
	var free []int
	for l := r.engine.Layers; l < layers; l++ {
		if used>>l&1 == 0 {
			free = append(free, l)
		}
	}
	if len(free) == 0 {
		return 0, false, fmt.Errorf("%w: %s uses %d of %d, flows that have moved or are on their way the others: %d are "+
			"enough when these have arrived",
			ErrNoSpare, r.engine.Engine, r.engine.Layers, layers, r.engine.Layers+2)
	}
	if l = free[0]; l == len(r.layers) {
		err = r.addLayer()
	}
	return l, len(free) == 1, err
}

// addLayer adds an empty layer.
func (r *Reconfiguration) addLayer() error {
	w, all, x := r.w, len(r.targets), &r.scratch
	if all*len(w.To)*(len(r.layers)+1) > maxEntries {
		return fmt.Errorf("%d destinations, %d channels and %d layers are more than %d entries: take a smaller topology", all,
			len(w.To), len(r.layers)+1, maxEntries)
	}
	empty := func(n int) []int32 {
		list := make([]int32, all*n)
		for i := range list {
			list[i] = broken
		}
		return list
	}
	r.layers = append(r.layers, &layer{
		list: layered.NewLayer(w.turns), next: empty(len(w.To)), first: empty(w.n), live: make([]bool, all*len(w.To)),
		asked: make([]bool, all*len(w.To)), union: make([]bool, w.turns.Len()),
	})
	home := *r.home // clones share it
	home.next, home.first = append(home.next[:len(home.next):len(home.next)], empty(len(w.To))),
		append(home.first[:len(home.first):len(home.first)], empty(w.n))
	r.home = &home
	x.touched, x.used = append(x.touched, make([]bool, all)), append(x.used, nil)
	return nil
}

// moveTo gives a flow the path that a routing has, in layer l and no other.
func (r *Reconfiguration) moveTo(l int, m move, around *layered.Routing) error {
	w, k, t := r.w, int(m.target), &r.targets[m.target]
	live := row(r.layers[l].live, k, len(w.To))
	r.note(k, m.from)
	for other := range r.layers {
		if r.mask[k*w.n+int(m.from)]>>other&1 == 1 {
			r.scratch.touched[other][k] = true
		}
	}
	r.mask[k*w.n+int(m.from)] = 0
	path, join := r.scratch.path[:0], none
	for s := m.from; s != t.home; {
		var c int32 = none
		if hops := around.Tables.Choices(weft.SwitchID(s), weft.NICID(t.node.Index), 0, around.Injected(weft.SwitchID(s)),
			0); len(hops) > 0 {
			c = w.channel(weft.SwitchID(s), hops[0].Port)
		}
		if c == none || r.dead[c] || len(path) > w.n {
			return fmt.Errorf("%s leads from switch %s nowhere, to %s", around.Engine, w.g.Switches[s].Name, w.g.Name(t.node))
		}
		if live[c] {
			join = c
			break
		}
		path = append(path, c)
		s = w.To[c]
	}
	r.scratch.path = path
	if _, ok := r.enable(l, path, join); !ok {
		return fmt.Errorf("the dependencies of %s have a cycle", around.Engine)
	}
	r.put(l, k, m.from, path, join)
	return nil
}
