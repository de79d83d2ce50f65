package dqr

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// Reconfiguration is a routing in force and what can be done to it. It belongs to one goroutine.
type Reconfiguration struct {
	o       Options
	w       *wires
	engine  *layered.Routing // what New was given
	targets []target
	home    *homes // what the engine had

	layers []*layer
	mask   []uint16 // per target and switch: a bit for each layer in which it sends there
	sent   []uint16 // the same, of all since the last Settle, but for the last change
	dead   []bool   // per channel
	fresh  []bool   // per channel: it has died since the last Settle
	gone   []bool   // per NIC: its link is dead
	part   []int    // per switch: the component of live links that it is in; replaced, never changed

	prepared   *Result
	unroutable int    // ordered pairs of NICs
	pending    []drop // uses of turns that last until Settle
	find       *finder

	built  *layered.Routing // made last, at first the engine's; its tables and assignment are not of now in
	stale  []entry          // where entries have changed since, but for the last change
	resent []weft.SwitchID  // and what switches send by

	scratch scratch
}

// target is where flows lead: an address of a NIC, or a switch.
type target struct {
	node weft.Node
	path uint16
	home int32       // the switch itself, or that of the NIC
	port weft.PortID // of the home, to the NIC
}

// layer is what is in force in one virtual layer.
type layer struct {
	list *layered.Layer
	// next is per target and channel the channel on which packets leave that came by it; none at
	// the home of the target, where they are delivered. Of channels that are not live it is what
	// the tables say though nobody asks them.
	next  []int32
	first []int32 // per target and switch: the channel on which its own packets leave
	live  []bool  // per target and channel: packets for the target travel on it
	// asked is live since the last Settle, but for the last change.
	asked []bool
	// union are the turns of all paths that were in force since the last Settle, found by following
	// them.
	union []bool
}

// drop is a use of a turn that ends.
type drop struct {
	layer, turn int32
}

// homes is what the engine had, to return to.
type homes struct {
	next, first [][]int32 // per layer
	mask        []uint16
}

// row is the part of a target in an array with n per target.
func row[T any](list []T, k, n int) []T { return list[k*n : (k+1)*n : (k+1)*n] }

// sends reports whether the NICs of a switch, or it itself, send to a target.
func (r *Reconfiguration) sends(s int32, t *target) bool {
	return s != t.home && (!t.node.IsSwitch() && r.w.nics[s] > 0 || t.node.IsSwitch())
}

// step is where packets for target k go on that came by channel c, none at its home.
func (r *Reconfiguration) step(y *layer, k int, c int32) int32 {
	if r.w.To[c] == r.targets[k].home {
		return none
	}
	if r.o.Entries == ByDestination {
		return y.first[k*r.w.n+int(r.w.To[c])]
	}
	return y.next[k*len(r.w.To)+int(c)]
}

// Clone is an independent copy. What neither ever changes they share, so that several goroutines
// may have one each.
func (r *Reconfiguration) Clone() *Reconfiguration {
	c := *r
	c.mask, c.dead, c.gone = append([]uint16(nil), r.mask...), append([]bool(nil), r.dead...),
		append([]bool(nil), r.gone...)
	c.sent = append([]uint16(nil), r.sent...)
	c.fresh = append([]bool(nil), r.fresh...)
	c.pending = append([]drop(nil), r.pending...)
	c.layers = make([]*layer, len(r.layers))
	for i, y := range r.layers {
		z := &layer{
			list: new(layered.Layer), next: append([]int32(nil), y.next...), first: append([]int32(nil), y.first...),
			live: append([]bool(nil), y.live...), union: append([]bool(nil), y.union...), asked: append([]bool(nil), y.asked...),
		}
		z.list.Copy(y.list)
		c.layers[i] = z
	}
	c.stale, c.resent = slices.Clip(c.stale), slices.Clip(c.resent)
	c.keepStale()
	c.noteAsked()
	c.find, c.scratch = newFinder(r.w), scratch{}
	return &c
}
