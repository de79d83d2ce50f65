package dqr

import (
	"iter"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// finish ends a change: what no path uses any more goes out of force, and the flows are counted.
func (r *Reconfiguration) finish(res *Result, restore bool) {
	x := &r.scratch
	for l := range r.layers {
		for k, touched := range x.touched[l] {
			if touched {
				r.sweep(l, k)
			}
		}
	}
	if restore {
		r.undo()
		r.tidy()
	}
	r.noteSenders()
	r.count(res)
	res.Acyclic = r.Acyclic()
	change := x.change
	res.paths = func(yield func(Rerouted) bool) { r.rerouted(change, yield) }
}

// paths is how many addresses a target's NIC has.
func (r *Reconfiguration) addresses(t *target) int {
	if t.node.IsSwitch() {
		return 1
	}
	return r.engine.Tables.Paths()
}

// routed reports whether s sends to the NIC or switch whose first target is k.
func (r *Reconfiguration) routed(k int, s int32) bool {
	for i := range r.addresses(&r.targets[k]) {
		if r.mask[(k+i)*r.w.n+int(s)] != 0 {
			return true
		}
	}
	return false
}

func (r *Reconfiguration) count(res *Result) {
	w, x := r.w, &r.scratch
	nics := len(w.g.NICs)
	res.FlowsTotal = nics * (nics - 1)
	if r.o.SwitchFlows {
		res.FlowsTotal += w.n * (w.n - 1)
	}
	for k := 0; k < nics*r.engine.Tables.Paths(); k += r.engine.Tables.Paths() {
		t := &r.targets[k]
		if r.gone[t.node.Index] {
			res.Unroutable += nics - 1
			res.Isolated += nics - 1
			continue
		}
		unlinked := 0
		for s := range int32(w.n) {
			unlinked += int(w.nics[s] - x.live[s])
			r.countFlows(res, k, s, int(x.live[s]))
		}
		res.Unroutable += unlinked
		res.Isolated += unlinked
	}
	r.unroutable = res.Unroutable
	for k := len(r.targets) - w.n; r.o.SwitchFlows && k < len(r.targets); k++ {
		for s := range int32(w.n) {
			r.countFlows(res, k, s, 1)
		}
	}
	for i := range x.flows {
		f := &x.flows[i]
		k, t := int(f.target), &r.targets[f.target]
		k -= int(t.path)
		flows := 1
		if !t.node.IsSwitch() {
			if flows = int(x.live[f.from]); r.gone[t.node.Index] {
				flows = 0
			}
		}
		if n := r.addresses(t); n > 1 && r.counted(k, n, f.from, int(f.target)) {
			continue
		}
		if r.routed(k, f.from) {
			res.FlowsRerouted += flows
		} else if f.mask != 0 {
			res.FlowsLost += flows
		}
	}
}

// counted reports whether the flow was noted by another of the addresses, before that of a target.
func (r *Reconfiguration) counted(k, n int, s int32, before int) bool {
	x := &r.scratch
	for i := k; i < before && i < k+n; i++ {
		if x.known[i*r.w.n+int(s)] == x.change {
			return true
		}
	}
	return false
}

func (r *Reconfiguration) countFlows(res *Result, k int, s int32, flows int) {
	t := &r.targets[k]
	if flows == 0 || !r.sends(s, t) || r.routed(k, s) {
		return
	}
	res.Unroutable += flows
	if r.part[s] != r.part[t.home] {
		res.Isolated += flows
	}
}

// rerouted lists the flows of a change with their paths; nothing when another change has come.
func (r *Reconfiguration) rerouted(change uint32, yield func(Rerouted) bool) {
	x, w := &r.scratch, r.w
	if x.change != change {
		return
	}
	was := make(map[entry]int32, len(x.journal))
	for _, e := range x.journal {
		key := entry{layer: e.layer, at: e.at, first: e.first}
		if _, ok := was[key]; !ok { // the first time is what it was
			was[key] = e.was
		}
	}
	for i := range x.flows {
		f := &x.flows[i]
		t := &r.targets[f.target]
		p := Rerouted{From: weft.SwitchID(f.from), To: t.node, Flows: 1, Address: t.path}
		if !t.node.IsSwitch() {
			p.Flows = int(w.nics[f.from])
		}
		p.Old = r.walk(int(f.target), f.from, f.mask, func(e entry, now int32) int32 {
			if old, ok := was[e]; ok {
				return old
			}
			return now
		})
		p.New = r.walk(int(f.target), f.from, r.mask[int(f.target)*w.n+int(f.from)],
			func(_ entry, now int32) int32 { return now })
		if !yield(p) {
			return
		}
	}
}

// walk is the path of a flow in the first of its layers, by entries as the function has them.
func (r *Reconfiguration) walk(k int, s int32, mask uint16, as func(entry, int32) int32) (path []layered.Channel) {
	w := r.w
	for l, y := range r.layers {
		if mask>>l&1 == 0 {
			continue
		}
		at := k*w.n + int(s)
		c := as(entry{layer: int32(l), at: int32(at), first: true}, y.first[at])
		for c >= 0 && len(path) <= len(w.To) {
			path = append(path, layered.Channel{From: w.End(c), Layer: weft.VC(l)})
			if w.To[c] == r.targets[k].home {
				break
			}
			if r.o.Entries == ByDestination {
				at = k*w.n + int(w.To[c])
				c = as(entry{layer: int32(l), at: int32(at), first: true}, y.first[at])
				continue
			}
			at = k*len(w.To) + int(c)
			c = as(entry{layer: int32(l), at: int32(at)}, y.next[at])
		}
		return path
	}
	return nil
}

// Paths are the flows that got a new path, or lost theirs, in the order of their destinations. It
// is of the last change only, and yields nothing after the next.
func (r *Result) Paths() iter.Seq[Rerouted] {
	if r.paths == nil {
		return func(func(Rerouted) bool) {}
	}
	return r.paths
}
