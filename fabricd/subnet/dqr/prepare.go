package dqr

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// maxEntries bounds the entries of all layers of one reconfiguration: a GiB. Chosen by us.
const maxEntries = 1 << 28

// broken is the entry of tables that lead nowhere, or to another layer.
const broken int32 = -2

// New prepares: it finds the dependencies in force and makes a channel list of each layer (section
// III). With SwitchFlows it connects the switches too. The routing must be deterministic, keep each
// packet in its layer, forward packets of all NICs of a switch alike and be free from cycles of
// dependencies; an error says which of these is not so, that there is too much of it, or that ctx
// has ended. It is not changed, and must not be while the reconfiguration is used.
func New(ctx context.Context, routing *layered.Routing, o Options) (*Reconfiguration, error) {
	if routing.Kind != layered.Deterministic {
		return nil, fmt.Errorf("reconfiguration of %s: packets choose among several ways, and channel lists are made of "+
			"one way each: take a deterministic routing, as updn or lash",
			routing.Engine)
	}
	g := routing.Graph
	if o.Plugin != nil {
		if err := o.Plugin.Fits(g); err != nil {
			return nil, err
		}
	}
	w, err := newWires(g)
	if err != nil {
		return nil, err
	}
	r := &Reconfiguration{
		o: o, w: w, engine: routing, built: routing, dead: make([]bool, len(w.To)),
		fresh: make([]bool, len(w.To)), gone: make([]bool, len(g.NICs)), find: newFinder(w),
	}
	for d := range weft.NICID(len(g.NICs)) {
		s, p := g.SwitchOf(d)
		for path := range routing.Tables.Paths() {
			r.targets = append(r.targets, target{node: d.Node(), path: uint16(path), home: int32(s), port: p})
		}
	}
	if o.SwitchFlows {
		for s := range weft.SwitchID(w.n) {
			r.targets = append(r.targets, target{node: s.Node(), home: int32(s)})
		}
	}
	if len(r.targets)*len(w.To)*routing.Layers > maxEntries {
		return nil, fmt.Errorf("reconfiguration of %s on %s: %d destinations, %d channels and %d layers are more than %d "+
			"entries: take fewer layers or a smaller topology",
			routing.Engine, g.Spec, len(r.targets), len(w.To), routing.Layers, maxEntries)
	}
	if err := r.sources(); err != nil {
		return nil, err
	}
	for l := range weft.VC(routing.Layers) {
		if err := r.read(ctx, l); err != nil {
			return nil, err
		}
	}
	r.part, _ = w.Components(r.dead)
	if err := r.connectSwitches(ctx); err != nil {
		return nil, err
	}
	r.keepHome()
	r.follow()
	return r, nil
}

// sources reads the assignment.
func (r *Reconfiguration) sources() error {
	r.mask = make([]uint16, len(r.targets)*r.w.n)
	paths := r.engine.Tables.Paths()
	for d := range r.w.g.NICs {
		for s := range int32(r.w.n) {
			if !r.sends(s, &r.targets[d*paths]) {
				continue
			}
			for _, a := range r.engine.Assignment.Addresses(weft.SwitchID(s), weft.NICID(d)) {
				if a.Layers&^(1<<a.VC) != 0 {
					return fmt.Errorf("reconfiguration of %s: packets from switch %s to %s move between layers, and a channel list "+
						"is of one layer: turn moves off",
						r.engine.Engine, r.w.g.Switches[s].Name, r.w.g.NICs[d].Name)
				}
				r.mask[(d*paths+int(a.Path))*r.w.n+int(s)] |= 1 << a.VC
			}
		}
	}
	return nil
}

// read makes a layer of the tables, with the dependencies of the paths in it.
func (r *Reconfiguration) read(ctx context.Context, l weft.VC) error {
	w, all := r.w, len(r.targets)
	y := &layer{
		list: layered.NewLayer(w.turns), next: make([]int32, all*len(w.To)), first: make([]int32, all*w.n),
		live: make([]bool, all*len(w.To)), union: make([]bool, w.turns.Len()),
	}
	r.layers = append(r.layers, y)
	for k := range r.targets {
		if ctx.Err() != nil {
			return fmt.Errorf("reconfiguration of %s on %s is not prepared: %w", r.engine.Engine, w.g.Spec,
				context.Cause(ctx))
		}
		t := &r.targets[k]
		next, first := row(y.next, k, len(w.To)), row(y.first, k, w.n)
		for c := range next {
			next[c] = none
			if !t.node.IsSwitch() {
				next[c] = r.entry(t, w.To[c], w.Port[w.back[c]], l)
			}
		}
		for s := range first {
			first[s] = none
			if !t.node.IsSwitch() {
				first[s] = r.entry(t, int32(s), r.engine.Injected(weft.SwitchID(s)), l)
			}
		}
		if err := r.readPaths(y, k, l); err != nil {
			return err
		}
	}
	return nil
}

// entry is what the tables of switch s say about packets for a target that came in by a port.
func (r *Reconfiguration) entry(t *target, s int32, in weft.PortID, l weft.VC) int32 {
	hops := r.engine.Tables.Choices(weft.SwitchID(s), weft.NICID(t.node.Index), t.path, in, l)
	switch {
	case len(hops) == 0 || hops[0].Port == weft.NoPort || hops[0].In(l) != l && s != t.home:
		return broken
	case s == t.home && hops[0].Port == t.port:
		return none
	}
	if c := r.w.channel(weft.SwitchID(s), hops[0].Port); c != none && s != t.home {
		return c
	}
	return broken
}

// readPaths follows the paths to target k in a layer. Sources whose path does not arrive have none.
func (r *Reconfiguration) readPaths(y *layer, k int, l weft.VC) error {
	w, t := r.w, &r.targets[k]
	next, first, live := row(y.next, k, len(w.To)), row(y.first, k, w.n), row(y.live, k, len(w.To))
	path := r.scratch.path
	for s := range int32(w.n) {
		if r.mask[k*w.n+int(s)]>>l&1 == 0 {
			continue
		}
		path = path[:0]
		c := first[s]
		for c >= 0 && !live[c] && len(path) <= len(w.To) {
			path = append(path, c)
			c = next[c]
		}
		if err := r.keepsTo(t, s, path, l); err != nil {
			return err
		}
		if c == broken || len(path) > len(w.To) || first[s] == none {
			r.mask[k*w.n+int(s)] &^= 1 << l
			continue
		}
		for _, c := range path {
			live[c] = true
			if next[c] == none {
				continue
			}
			if r.o.Entries == ByDestination && next[c] != first[w.To[c]] {
				return fmt.Errorf("reconfiguration of %s with entries by destination: switch %s forwards packets for %s by the "+
					"port they came in by: take entries by channel",
					r.engine.Engine, w.g.Switches[w.To[c]].Name, w.g.Name(t.node))
			}
			if !y.list.Add(w.turn(c, next[c])) {
				return fmt.Errorf("reconfiguration of %s on %s: its dependencies have a cycle in layer %d, so there is no "+
					"channel list: take a routing that is free from deadlock",
					r.engine.Engine, w.g.Spec, l)
			}
		}
	}
	r.scratch.path = path
	return nil
}

// keepsTo says what a channel list cannot have of a path that begins at switch s: it leaves its
// layer, or has several ways, or another one by another port of the NICs.
func (r *Reconfiguration) keepsTo(t *target, s int32, path []int32, l weft.VC) error {
	w, nic := r.w, weft.NICID(t.node.Index)
	if t.node.IsSwitch() {
		return nil
	}
	refuse := func(at int32, what string) error {
		return fmt.Errorf("reconfiguration of %s: switch %s %s: a channel list is of packets that stay in one layer and "+
			"have one way, and their paths would be lost: leave the tables as they are, or take a routing that keeps to "+
			"layers, as lash or updn",
			r.engine.Engine, w.g.Switches[at].Name, what)
	}
	check := func(at int32, in weft.PortID) error {
		switch hops := r.engine.Tables.Choices(weft.SwitchID(at), nic, t.path, in, l); {
		case at == t.home:
		case len(hops) > 1:
			return refuse(at, fmt.Sprintf("forwards packets for %s by any of %d ways", w.g.NICs[nic].Name, len(hops)))
		case len(hops) == 1 && hops[0].Port != weft.NoPort && hops[0].In(l) != l:
			return refuse(at, fmt.Sprintf("moves packets for %s from layer %d to layer %d", w.g.NICs[nic].Name, l,
				hops[0].In(l)))
		}
		return nil
	}
	first := r.entry(t, s, r.engine.Injected(weft.SwitchID(s)), l)
	for port, role := range w.g.Place(weft.SwitchID(s)).Roles {
		if role != weft.RoleNIC {
			continue
		}
		if err := check(s, weft.PortID(port)); err != nil {
			return err
		}
		if r.entry(t, s, weft.PortID(port), l) != first {
			return refuse(s, fmt.Sprintf("forwards packets for %s by which of its NICs they come from", w.g.NICs[nic].Name))
		}
	}
	for _, c := range path {
		if err := check(w.To[c], w.Port[w.back[c]]); err != nil {
			return err
		}
	}
	return nil
}

// keepHome remembers what is in force as what flows return to.
func (r *Reconfiguration) keepHome() {
	h := &homes{mask: append([]uint16(nil), r.mask...)}
	for _, y := range r.layers {
		h.next, h.first = append(h.next, append([]int32(nil), y.next...)), append(h.first, append([]int32(nil), y.first...))
	}
	r.home = h
}
