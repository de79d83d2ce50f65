package dqr

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// mostRounds bounds how often paths to one destination in one layer are searched again because
// turns could not be enabled together. Chosen by us; each round has one turn less to choose from.
const mostRounds = 32

// scratch is storage of one change.
type scratch struct {
	path, turns []int32
	died        []int32  // channels that have died now
	tasks       []task   // what is to be searched
	sources     []int32  // of all tasks
	left, rest  []int32  // sources that are still without a path
	flows       []flow   // whose path has changed or gone
	known       []uint32 // per target and switch: the change in which it came into flows
	change      uint32
	used        [][]bool // per layer and channel that has died: a path led over it
	touched     [][]bool // per layer and target: entries have changed
	journal     []entry
	senders     []weft.SwitchID // that send otherwise
	around      map[way][]int32 // per layer and channel that has died: the local path
	stamp       []uint32        // per channel
	walk        uint32
	live        []int32  // per switch: its NICs that are linked
	leads       []uint32 // per channel or switch, as stamp
	lost        []uint32 // per turn: the trial in which it was lost
	trial       uint32
	careful     bool // flows return home only where no entry changes that packets ask
}

// nextWalk has no channel stamped, and none that leads.
func (x *scratch) nextWalk() {
	if x.walk++; x.walk == 0 {
		clear(x.stamp)
		clear(x.leads)
		x.walk = 1
	}
}

// task are sources whose paths to a target in a layer were cut.
type task struct {
	layer, target int
	from, to      int32 // of scratch.sources
}

// way is a channel in a layer.
type way struct {
	layer, channel int32
}

// flow is one whose path has changed or gone.
type flow struct {
	target, from int32
	mask         uint16 // layers before
}

// entry is one that was overwritten.
type entry struct {
	layer, at int32 // at: of next, or of first with first set
	was       int32
	first     bool
}

// Fail gives new paths to flows that are disconnected, and leaves all others as they are (section
// IV.B). The links that are dead now, all of them, are those for which dead reports true; a link
// that was dead stays so until [Reconfiguration.Restore]. NICs whose link is dead are out of reach.
//
// The dependencies of the old paths stay in the channel lists until [Reconfiguration.Settle], but
// for those of channels that have died: no packet gets onto a dead link, so none waits there for
// another. A link that has died since the last Settle therefore stays dead until the next, whatever
// Restore is told.
//
// When ctx ends first the error wraps the cause, and what is left of the reconfiguration is of no
// use: who goes on keeps a [Reconfiguration.Clone].
func (r *Reconfiguration) Fail(ctx context.Context, dead func(*topology.Link) bool) (*Result, error) {
	return r.change(ctx, dead, false)
}

// interrupted is the error of a change whose context has ended, nil before.
func (r *Reconfiguration) interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("reconfiguration of %s on %s is not done: %w", r.engine.Engine, r.w.g.Spec, context.Cause(ctx))
}

func (r *Reconfiguration) change(ctx context.Context, dead func(*topology.Link) bool, restore bool) (*Result, error) {
	x, res := r.begin(), &Result{}
	r.mark(dead, restore)
	r.part, _ = r.w.Components(r.dead)
	for l := range r.layers {
		for k := range r.targets {
			r.cut(l, k)
		}
	}
	r.goAround(res)
	for _, t := range x.tasks {
		if err := r.interrupted(ctx); err != nil {
			return nil, err
		}
		x.left = r.reroute(res, t.layer, t.target, append(x.left[:0], x.sources[t.from:t.to]...))
	}
	if err := r.reconnect(ctx, res, 0); err != nil {
		return nil, err
	}
	if restore {
		if err := r.returnHome(ctx); err != nil {
			return nil, err
		}
	}
	r.finish(res, restore)
	return res, nil
}

// connectSwitches gives paths to the flows between switches, which no engine has routed.
func (r *Reconfiguration) connectSwitches(ctx context.Context) error {
	r.begin()
	r.prepared = &Result{}
	if !r.o.SwitchFlows {
		r.finish(r.prepared, false)
		return nil
	}
	if err := r.reconnect(ctx, r.prepared, len(r.targets)-r.w.n); err != nil {
		return err
	}
	r.finish(r.prepared, false)
	return nil
}

// begin empties the storage.
func (r *Reconfiguration) begin() *scratch {
	r.keepStale()
	r.noteAsked()
	x := &r.scratch
	if x.known == nil {
		x.known = make([]uint32, len(r.mask))
		x.stamp = make([]uint32, len(r.w.To))
		x.live = make([]int32, r.w.n)
		x.leads, x.lost = make([]uint32, max(len(r.w.To), r.w.n)), make([]uint32, r.w.turns.Len())
		for range r.layers {
			x.touched = append(x.touched, make([]bool, len(r.targets)))
		}
		x.used = make([][]bool, len(r.layers))
	}
	x.change++
	r.countNICs()
	x.died, x.tasks, x.sources, x.flows, x.journal = x.died[:0], x.tasks[:0], x.sources[:0], x.flows[:0], x.journal[:0]
	for l := range r.layers {
		clear(x.touched[l])
	}
	return x
}

// mark takes note of which links are dead.
func (r *Reconfiguration) mark(dead func(*topology.Link) bool, restore bool) {
	x, w := &r.scratch, r.w
	for i := range w.g.Links {
		link := &w.g.Links[i]
		is := dead(link)
		if !link.BetweenSwitches() {
			nic := link.A
			if nic.Node.IsSwitch() {
				nic = link.B
			}
			r.gone[nic.Node.Index] = is || r.gone[nic.Node.Index] && !restore
			continue
		}
		c := w.channel(weft.SwitchID(link.A.Node.Index), link.A.Port)
		for _, c := range [2]int32{c, w.back[c]} {
			if is && !r.dead[c] {
				x.died = append(x.died, c)
			}
			r.fresh[c] = r.fresh[c] || is && !r.dead[c]
			r.dead[c] = is || r.dead[c] && (!restore || r.fresh[c])
		}
	}
	r.buryPending()
	r.countNICs()
	for l := range r.layers {
		x.used[l] = append(x.used[l][:0], make([]bool, len(x.died))...)
	}
}

// buryPending drops dependencies of old paths that have died with their channels.
func (r *Reconfiguration) buryPending() {
	if len(r.scratch.died) == 0 {
		return
	}
	left := r.pending[:0]
	for _, d := range r.pending {
		if from, to := r.w.turns.Ends(d.turn); r.dead[from] || r.dead[to] {
			r.layers[d.layer].list.Drop(d.turn)
		} else {
			left = append(left, d)
		}
	}
	r.pending = left
}

// countNICs counts those that are linked.
func (r *Reconfiguration) countNICs() {
	x := &r.scratch
	copy(x.live, r.w.nics)
	for d, gone := range r.gone {
		if gone {
			s, _ := r.w.g.SwitchOf(weft.NICID(d))
			x.live[s]--
		}
	}
}

// cut takes what leads to channels that have died out of the paths to target k, and makes a task of
// its sources.
func (r *Reconfiguration) cut(l, k int) {
	x, w, y := &r.scratch, r.w, r.layers[l]
	live, first := row(y.live, k, len(w.To)), row(y.first, k, w.n)
	from := int32(len(x.sources))
	queue := x.path[:0]
	for i, c := range x.died {
		if live[c] {
			x.used[l][i] = true
			live[c] = false
			queue = append(queue, c)
		}
	}
	for i := 0; i < len(queue); i++ {
		c := queue[i]
		s := w.From[c]
		if next := r.step(y, k, c); next >= 0 {
			if d := (drop{int32(l), w.turn(c, next)}); r.dead[c] || r.dead[next] {
				y.list.Drop(d.turn)
			} else {
				r.pending = append(r.pending, d)
			}
		}
		if first[s] == c && r.mask[k*w.n+int(s)]>>l&1 == 1 {
			r.note(k, s)
			r.mask[k*w.n+int(s)] &^= 1 << l
			x.sources = append(x.sources, s)
		}
		for _, p := range w.leading(s) {
			if live[p] && r.step(y, k, p) == c {
				live[p] = false
				queue = append(queue, p)
			}
		}
	}
	x.path = queue
	if len(queue) > 0 {
		x.touched[l][k] = true
	}
	if to := int32(len(x.sources)); to > from {
		x.tasks = append(x.tasks, task{l, k, from, to})
	}
}

// note remembers a flow as it was before this change.
func (r *Reconfiguration) note(k int, s int32) {
	x, i := &r.scratch, k*r.w.n+int(s)
	if x.known[i] != x.change {
		x.known[i] = x.change
		x.flows = append(x.flows, flow{int32(k), s, r.mask[i]})
	}
}

// reroute finds paths to target k for sources that had one in layer l; what has none left is
// returned.
func (r *Reconfiguration) reroute(res *Result, l, k int, sources []int32) []int32 {
	sources = r.reachable(k, sources)
	if r.o.Path == LocalCompulsory {
		return r.compulsory(res, l, k, sources)
	}
	if r.o.Layers == SameLayer || len(r.layers) == 1 {
		return r.search(res, l, k, mostCost, sources)
	}
	for limit := int32(0); limit <= mostCost && len(sources) > 0; limit = 2*limit + 1 {
		if sources = r.search(res, l, k, limit, sources); len(sources) == 0 {
			return sources
		}
		sources = r.elsewhere(res, l, k, limit, sources)
	}
	return sources
}

// elsewhere is search in the layers but l, for those that have no path at all.
func (r *Reconfiguration) elsewhere(res *Result, l, k int, limit int32, sources []int32) []int32 {
	sources = r.without(k, sources)
	for other := range r.layers {
		if other != l && len(sources) > 0 {
			sources = r.search(res, other, k, limit, sources)
		}
	}
	return sources
}

// without are the sources that do not send to target k in any layer.
func (r *Reconfiguration) without(k int, sources []int32) []int32 {
	left := sources[:0]
	for _, s := range sources {
		if r.mask[k*r.w.n+int(s)] == 0 {
			left = append(left, s)
		}
	}
	return left
}

// reachable are the sources from which live links lead to target k.
func (r *Reconfiguration) reachable(k int, sources []int32) []int32 {
	t, left := &r.targets[k], sources[:0]
	if !t.node.IsSwitch() && r.gone[t.node.Index] {
		return left
	}
	for _, s := range sources {
		if r.part[s] == r.part[t.home] {
			left = append(left, s)
		}
	}
	return left
}

// reconnect searches paths to the targets from the first one on for flows that had none before this
// change: by the addresses that the engine used, or the first if it used none.
func (r *Reconfiguration) reconnect(ctx context.Context, res *Result, from int) error {
	x, n := &r.scratch, r.w.n
	for k := from; k < len(r.targets); k++ {
		if err := r.interrupted(ctx); err != nil {
			return err
		}
		t := &r.targets[k]
		x.rest = x.rest[:0]
		for s := range int32(n) {
			if r.mask[k*n+int(s)] == 0 && r.sends(s, t) && x.known[k*n+int(s)] != x.change && r.asked(k, s) {
				x.rest = append(x.rest, s)
			}
		}
		if x.rest = r.reachable(k, x.rest); len(x.rest) == 0 {
			continue
		}
		for l := range r.layers {
			x.left = x.left[:0]
			for _, s := range x.rest {
				if r.mask[k*n+int(s)] == 0 && (r.o.Layers == AllLayers || r.had(k, s)>>l&1 == 1) {
					x.left = append(x.left, s)
				}
			}
			x.left = r.search(res, l, k, mostCost, x.left)
		}
	}
	return nil
}

// asked reports whether a flow without a path should have one to target k: always, but where a NIC
// has several addresses.
func (r *Reconfiguration) asked(k int, s int32) bool {
	t := &r.targets[k]
	all := r.addresses(t)
	if all == 1 {
		return true
	}
	first := k - int(t.path)
	if r.routed(first, s) {
		return false
	}
	for i := range all {
		if r.home.mask[(first+i)*r.w.n+int(s)] != 0 {
			return r.home.mask[k*r.w.n+int(s)] != 0
		}
	}
	return t.path == 0
}

// had are the layers in which the engine sent from s to target k; all if it did not.
func (r *Reconfiguration) had(k int, s int32) uint16 {
	if r.home != nil {
		if m := r.home.mask[k*r.w.n+int(s)]; m != 0 {
			return m
		}
	}
	return 1<<len(r.layers) - 1
}
