package dqr

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Upward reports whether a dependency of one channel on the next leads upward in the channel list.
func (r *Reconfiguration) Upward(from, to layered.Channel) bool {
	list := r.layers[from.Layer].list
	a, b := r.number(from), r.number(to)
	return list.Label(a) < list.Label(b)
}

func (r *Reconfiguration) number(c layered.Channel) int32 {
	for i := range r.w.To {
		if r.w.End(int32(i)) == c.From {
			return int32(i)
		}
	}
	return none
}

// Fits reports whether a turn could be enabled.
func (r *Reconfiguration) Fits(from, to layered.Channel) bool {
	return !r.layers[from.Layer].list.Closes(r.w.turn(r.number(from), r.number(to)))
}

// Miscounted is how many turns the channel lists count otherwise than as often as paths in force,
// and old ones, use them.
func (r *Reconfiguration) Miscounted() int {
	wrong := 0
	for l, y := range r.layers {
		uses := make([]int, r.w.turns.Len())
		for k := range r.targets {
			for c := range r.w.To {
				if !y.live[k*len(r.w.To)+c] {
					continue
				}
				if next := r.step(y, k, int32(c)); next >= 0 {
					uses[r.w.turn(int32(c), next)]++
				}
			}
		}
		for _, d := range r.pending {
			if d.layer == int32(l) {
				uses[d.turn]++
			}
		}
		for t, n := range uses {
			if y.list.Uses(int32(t)) != n {
				wrong++
			}
		}
	}
	return wrong
}

// Graph is that of the routing.
func (r *Reconfiguration) Graph() *topology.Graph { return r.w.g }

// Depend puts a dependency into what Acyclic looks at.
func (r *Reconfiguration) Depend(from, to layered.Channel) {
	r.layers[from.Layer].union[r.w.turn(r.number(from), r.number(to))] = true
}

// Way is the path in force of a flow from a switch to one of the addresses of a NIC, or to a
// switch; false when there is none. From its own switch the path has no channels.
func (r *Reconfiguration) Way(from weft.SwitchID, to weft.Node, address uint16) ([]layered.Channel, bool) {
	k := int(to.Index)*r.engine.Tables.Paths() + int(address)
	if to.IsSwitch() {
		k = len(r.targets) - r.w.n + int(to.Index)
	}
	if k < 0 || k >= len(r.targets) || r.targets[k].node != to || int(from) >= r.w.n {
		return nil, false
	}
	if int32(from) == r.targets[k].home {
		return nil, true
	}
	path := r.walk(k, int32(from), r.mask[k*r.w.n+int(from)], func(_ entry, now int32) int32 { return now })
	return path, path != nil
}

// Prepared is what New found: all flows, and what it did to connect switches.
func (r *Reconfiguration) Prepared() Result { return *r.prepared }
