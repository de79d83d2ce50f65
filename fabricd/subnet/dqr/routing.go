package dqr

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/switch/tables"
)

// Routing are the tables and the assignment in force: those of the engine with what has changed
// since. Flows between switches are not in them. Of switches at which nothing has changed they
// share storage with those that Routing returned before.
func (r *Reconfiguration) Routing() (*layered.Routing, error) {
	routing, err := r.tables()
	if err == nil {
		r.built, r.stale, r.resent = routing, nil, nil
	}
	return routing, err
}

// tables makes those in force of the last that were built.
func (r *Reconfiguration) tables() (*layered.Routing, error) {
	paths, list := r.engine.Tables.Paths(), r.spots()
	out := *r.built
	out.Unroutable = r.unroutable
	var at []weft.SwitchID
	for i, x := range list {
		if i == 0 || list[i-1].at != x.at {
			at = append(at, weft.SwitchID(x.at))
		}
	}
	out.Layers = len(r.layers)
	wide, err := r.widened()
	if err != nil {
		return nil, err
	}
	out.Tables = wide.Edited(at)
	var hops []tables.Hop
	for _, x := range list {
		t := &r.targets[x.target]
		hops = r.row(hops[:0], int(x.layer), int(x.target), x.at)
		n, err := out.Tables.Row(weft.SwitchID(x.at), hops)
		if err == nil {
			err = out.Tables.SetAddress(weft.SwitchID(x.at), weft.VC(x.layer), weft.NICID(t.node.Index), int(t.path), n)
		}
		if err != nil {
			return nil, err
		}
	}
	sources := append(slices.Clone(r.resent), r.scratch.senders...)
	slices.Sort(sources)
	if out.Assignment, err = r.built.Assignment.Edited(slices.Compact(sources), len(r.layers), paths,
		r.sendingBy()); err != nil {
		return nil, fmt.Errorf("reconfiguration of %s: %w", r.engine.Engine, err)
	}
	return &out, nil
}

// widened are the tables that were built last with all layers that there are now, in each of which
// switches deliver to their NICs.
func (r *Reconfiguration) widened() (*tables.Tables, error) {
	was := r.built.Tables
	if was.VCs() >= len(r.layers) {
		return was, nil
	}
	all := make([]weft.SwitchID, r.w.n)
	for s := range all {
		all[s] = weft.SwitchID(s)
	}
	wide := was.Widened(len(r.layers)).Edited(all)
	for k := range len(r.w.g.NICs) * was.Paths() {
		t := &r.targets[k]
		s, d := weft.SwitchID(t.home), weft.NICID(t.node.Index)
		deliver := tables.Hop{Port: t.port, VC: tables.SameVC}
		hops := []tables.Hop{deliver}
		if !was.PerLayer() {
			hops = hops[:0]
			for i := range int(r.w.ports[t.home+1]-r.w.ports[t.home]) * wide.VCs() {
				h := deliver
				if is := was.Choices(s, d, t.path, weft.PortID(i/wide.VCs()), weft.VC(i%wide.VCs())); len(is) > 0 {
					h = is[0]
				}
				hops = append(hops, h)
			}
			hops = single(hops)
		}
		n, err := wide.Row(s, hops)
		for l := was.VCs(); l < wide.VCs() && err == nil; l++ {
			err = wide.SetAddress(s, weft.VC(l), d, int(t.path), n)
		}
		if err != nil {
			return nil, err
		}
	}
	return wide, nil
}

// single is one hop for all where they are alike.
func single(hops []tables.Hop) []tables.Hop {
	for _, h := range hops[1:] {
		if h != hops[0] {
			return hops
		}
	}
	return hops[:1]
}

// spot is an address at a switch in a layer.
type spot struct {
	at, layer, target int32
}

// spots are those that may have changed since tables were built last, by the last change or before.
// Where the tables have one row for all layers, so do spots. At its own switch a target is not
// forwarded otherwise than the engine has it.
func (r *Reconfiguration) spots() []spot {
	w, nics := r.w, len(r.w.g.NICs)*r.engine.Tables.Paths()
	var list []spot
	for _, entries := range [2][]entry{r.stale, r.scratch.journal} {
		for _, e := range entries {
			x := spot{layer: e.layer}
			if e.first {
				x.target, x.at = e.at/int32(w.n), e.at%int32(w.n)
			} else {
				x.target, x.at = e.at/int32(len(w.To)), w.To[e.at%int32(len(w.To))]
			}
			if !r.engine.Tables.PerLayer() {
				x.layer = 0
			}
			if int(x.target) < nics && x.at != r.targets[x.target].home {
				list = append(list, x)
			}
		}
	}
	slices.SortFunc(list, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.layer, b.layer), cmp.Compare(a.target, b.target))
	})
	return slices.Compact(list)
}

// noteSenders notes the switches that send otherwise since the last change.
func (r *Reconfiguration) noteSenders() {
	x := &r.scratch
	x.senders = x.senders[:0]
	for i := range x.flows {
		f := &x.flows[i]
		if !r.targets[f.target].node.IsSwitch() && r.mask[int(f.target)*r.w.n+int(f.from)] != f.mask {
			x.senders = append(x.senders, weft.SwitchID(f.from))
		}
	}
	slices.Sort(x.senders)
	x.senders = slices.Compact(x.senders)
}

// keepStale remembers what the last change has changed, before another begins.
func (r *Reconfiguration) keepStale() {
	r.stale, r.resent = append(r.stale, r.scratch.journal...), append(r.resent, r.scratch.senders...)
}

// row is how switch s, not its home, forwards packets for target k: a hop per port that they come
// in by, and one for packets that enter the layer here; or per port and layer, in tables with one
// row for all layers; one hop alone if all are alike.
func (r *Reconfiguration) row(hops []tables.Hop, l, k int, s int32) []tables.Hop {
	w, tables, end := r.w, r.engine.Tables, l+1
	if !tables.PerLayer() {
		end = max(tables.VCs(), len(r.layers))
	}
	for i := w.ports[s]; i < w.ports[s+1]; i++ {
		for at := l; at < end; at++ {
			next := none
			switch c := w.out[i]; {
			case at >= len(r.layers): // the tables have more than the engine uses
			case c != none:
				next = r.step(r.layers[at], k, w.back[c])
			default:
				next = r.layers[at].first[k*w.n+int(s)]
			}
			hops = append(hops, r.hop(next, k, s, weft.PortID(i-w.ports[s]), weft.VC(at)))
		}
	}
	if tables.PerLayer() {
		hops = append(hops, r.hop(r.layers[l].first[k*w.n+int(s)], k, s, weft.NoPort, weft.VC(l)))
	}
	return single(hops)
}

// hop is the one onto a channel; where there is none, what the engine has for packets that come in
// by a port of the switch.
func (r *Reconfiguration) hop(c int32, k int, s int32, in weft.PortID, l weft.VC) tables.Hop {
	if c >= 0 {
		return tables.Hop{Port: r.w.Port[c], VC: tables.SameVC}
	}
	t := &r.targets[k]
	if hops := r.engine.Tables.Choices(weft.SwitchID(s), weft.NICID(t.node.Index), t.path, in, l); len(hops) > 0 {
		return hops[0]
	}
	return tables.Hop{Port: weft.NoPort}
}

// sendingBy tells what sources send by: as the engine has it where nothing has changed.
func (r *Reconfiguration) sendingBy() func(weft.SwitchID, weft.NICID) []weft.Address {
	w, paths := r.w, r.engine.Tables.Paths()
	var list []weft.Address
	return func(s weft.SwitchID, d weft.NICID) []weft.Address {
		was := r.engine.Assignment.Addresses(s, d)
		k := int(d) * paths
		if !r.sends(int32(s), &r.targets[k]) {
			return was
		}
		list = list[:0]
		for _, x := range was { // in the order that they had
			if r.mask[(k+int(x.Path))*w.n+int(s)]>>x.VC&1 == 1 {
				list = append(list, x)
			}
		}
		for path := range paths {
			mask := r.mask[(k+path)*w.n+int(s)]
			for l := range r.layers {
				if mask>>l&1 == 1 && !sendsBy(list, uint16(path), weft.VC(l)) {
					list = append(list, weft.Address{Path: uint16(path), VC: weft.VC(l), Layers: layersLike(was, weft.VC(l))})
				}
			}
		}
		return list
	}
}

func sendsBy(list []weft.Address, path uint16, vc weft.VC) bool {
	return slices.ContainsFunc(list, func(a weft.Address) bool { return a.Path == path && a.VC == vc })
}

// layersLike names the layer of an address where others name theirs.
func layersLike(was []weft.Address, vc weft.VC) uint16 {
	if len(was) > 0 && was[0].Layers != 0 {
		return 1 << vc
	}
	return 0
}
