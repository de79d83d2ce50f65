package dqr

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Routing are the tables and the assignment in force. Entries that no packet asks are what they were before, or what the engine had. Flows between
// switches are not in them. Of switches at which nothing has changed they share storage with those that Routing returned before.
func (r *Reconfiguration) Routing() (*layered.Routing, error) {
	routing, err := r.tables()
	if err == nil {
		r.built, r.stale, r.resent = routing, nil, nil
	}
	return routing, err
}

// tables makes those in force of the last that were built, and all if there are none.
func (r *Reconfiguration) tables() (*layered.Routing, error) {
	if r.built == nil {
		return r.whole()
	}
	paths, list := r.engine.Tables.Paths(), r.spots()
	out := *r.built
	out.Unroutable = r.unroutable
	var at []weft.SwitchID
	for i, x := range list {
		if i == 0 || list[i-1].at != x.at {
			at = append(at, weft.SwitchID(x.at))
		}
	}
	out.Tables = r.built.Tables.Edited(at)
	var hops []firmware.Hop
	for _, x := range list {
		t := &r.targets[x.target]
		_, hops = r.row(nil, hops[:0], int(x.layer), int(x.target), x.at)
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
	var err error
	if out.Assignment, err = r.built.Assignment.Edited(slices.Compact(sources), len(r.layers), paths, r.sendingBy()); err != nil {
		return nil, fmt.Errorf("reconfiguration of %s: %w", r.engine.Engine, err)
	}
	return &out, nil
}

// spot is an address at a switch in a layer.
type spot struct {
	at, layer, target int32
}

// spots are those that may have changed since tables were built last, by the last change or before.
func (r *Reconfiguration) spots() []spot {
	w, nics := r.w, len(r.w.g.NICs)*r.engine.Tables.Paths()
	var list []spot
	for _, entries := range [2][]entry{r.stale, r.scratch.journal} {
		for _, e := range entries {
			x := spot{layer: e.layer}
			if e.first {
				x.target, x.at = e.at/int32(w.n), e.at%int32(w.n)
			} else {
				x.target, x.at = e.at/int32(len(w.to)), w.to[e.at%int32(len(w.to))]
			}
			if int(x.target) < nics {
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
	if r.built != nil {
		r.stale, r.resent = append(r.stale, r.scratch.journal...), append(r.resent, r.scratch.senders...)
	}
}

// whole makes all tables.
func (r *Reconfiguration) whole() (*layered.Routing, error) {
	w, paths, old := r.w, r.engine.Tables.Paths(), r.engine.Tables
	ports := make([]int, w.n)
	for i, s := range w.g.Switches {
		ports[i] = s.Ports
	}
	tables, err := firmware.NewTablesOf(firmware.TablesShape{VCs: len(r.layers), NICs: len(w.g.NICs), Paths: paths, PerLayer: true, Ports: ports})
	if err != nil {
		return nil, err
	}
	var key []byte
	var hops []firmware.Hop
	for s := range int32(w.n) {
		rows := make(map[string]int)
		for l := range r.layers {
			for k := range len(w.g.NICs) * paths {
				t := &r.targets[k]
				key, hops = r.row(key[:0], hops[:0], l, k, s)
				n, ok := rows[string(key)]
				if !ok {
					if n, err = tables.AddRow(weft.SwitchID(s), hops); err != nil {
						return nil, err
					}
					rows[string(key)] = n
				}
				if err := tables.SetAddress(weft.SwitchID(s), weft.VC(l), weft.NICID(t.node.Index), int(t.path), n); err != nil {
					return nil, err
				}
			}
		}
		if d := old.Sequence(weft.SwitchID(s)); d != nil {
			if err := tables.SetSequence(weft.SwitchID(s), d); err != nil {
				return nil, err
			}
		}
	}
	all := make([]weft.SwitchID, w.n)
	for s := range all {
		all[s] = weft.SwitchID(s)
	}
	assignment, err := r.engine.Assignment.Edited(all, len(r.layers), paths, r.sendingBy())
	if err != nil {
		return nil, fmt.Errorf("reconfiguration of %s: %w", r.engine.Engine, err)
	}
	out := *r.engine
	out.Tables, out.Assignment = tables, assignment
	out.Unroutable = r.unroutable
	return &out, nil
}

// row is how switch s forwards packets for target k: a hop per port that they come in by, and one for packets that enter the layer here; one hop alone
// if all are alike. The key is what tells it from others.
func (r *Reconfiguration) row(key []byte, hops []firmware.Hop, l, k int, s int32) ([]byte, []firmware.Hop) {
	w, y, t := r.w, r.layers[l], &r.targets[k]
	first := r.hop(y.first[k*w.n+int(s)])
	if s == t.home {
		first = firmware.Hop{Port: t.port, VC: firmware.SameVC}
	}
	alike := true
	for i := w.ports[s]; i < w.ports[s+1]; i++ {
		h := first
		if c := w.out[i]; c != none && s != t.home {
			h = r.hop(r.step(y, k, w.back[c]))
		}
		alike = alike && h == first
		hops = append(hops, h)
	}
	hops = append(hops, first)
	if alike {
		hops = hops[:1]
	}
	for _, h := range hops {
		key = append(key, byte(h.Port), byte(h.Port>>8))
	}
	return key, hops
}

// hop is the one onto a channel; there is none for what is less.
func (r *Reconfiguration) hop(c int32) firmware.Hop {
	if c < 0 {
		return firmware.Hop{Port: weft.NoPort}
	}
	return firmware.Hop{Port: r.w.port[c], VC: firmware.SameVC}
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
	for _, a := range list {
		if a.Path == path && a.VC == vc {
			return true
		}
	}
	return false
}

// layersLike names the layer of an address where others name theirs.
func layersLike(was []weft.Address, vc weft.VC) uint16 {
	if len(was) > 0 && was[0].Layers != 0 {
		return 1 << vc
	}
	return 0
}
