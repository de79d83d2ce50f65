package verify

// beginExtended empties the extended graph for a new scene.
func (x *explorer) beginExtended() {
	if x.extended.m == nil {
		x.extended.init(x.m)
	}
	x.extended.begin(len(x.scene.moments))
}

// extend finds out whether the extended channel dependency graph of a scene whose graph has a cycle
// has none, with these bubble rings. It is the graph of R1, which keeps of the candidates of R
// those of the last class: the escape channels where there are some, and otherwise all.
//
// A packet is held whole by one switch (virtual cut-through), so what a blocked packet depends on
// is what it may go on to from the one channel that it holds, whichever of R's that is: there are
// direct dependencies and direct cross dependencies, and a packet that has gone on through other
// channels has let go of those before, so there are no indirect ones.
func (x *explorer) extend(r *rings) error {
	if x.found.escape = x.classes; !x.classes {
		x.found.extended, x.found.connected = !x.graph.extended(r), x.found.unconnected == 0
		return nil
	}
	x.beginExtended()
	x.found.connected = true
	for f := range x.m.flows {
		if err := x.escapes(f); err != nil {
			return err
		}
		x.release(f)
	}
	x.found.extended = !x.extended.extended(r)
	return nil
}

// escapes walks the last class of candidates from every state that packets of a flow can be in.
func (x *explorer) escapes(f int) error {
	fs := x.prepare(f)
	x.nodes.clear()
	x.judged = false
	for i := range x.m.flows[f].srcs {
		if _, _, err := x.from(f, fs, i); err != nil {
			return err
		}
	}
	sw, _ := x.m.g.SwitchOf(x.m.flows[f].dst)
	gone := x.scene.gone[sw]
	x.swap()
	x.lastOnly = true
	defer func() {
		x.swap()
		x.lastOnly = false
	}()
	x.nodes.clear()
	for _, at := range x.legal.all {
		n := x.nodes.id(at.nodeKey)
		if err := x.walk(f, fs, n); err != nil {
			return err
		}
		x.found.connected = x.found.connected && (gone || !x.nodes.all[n].bad)
	}
	return nil
}

// swap puts the nodes and the graph of a walk of R1 in the place of those of R, or back.
func (x *explorer) swap() {
	x.nodes, x.legal = x.legal, x.nodes
	x.graph, x.extended = x.extended, x.graph
}

// extension is what was found of the extended graph in a scene that stands for so many.
func (t *tally) extension(weight uint64) *Extended {
	e := &Extended{Escape: t.escape, Rings: t.rings}
	if t.extended {
		e.Acyclic = weight
	}
	if t.connected {
		e.Connected = weight
	}
	return e
}
