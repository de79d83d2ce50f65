package layered

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// UpDown is deterministic Up*/Down* routing (Lysne, Skeie, Reinemo, Theiss: Layered Routing in
// Irregular Networks, section 4.1): a shortest path among those that do not go up after they have
// gone down. R looks at the in port, which tells whether a packet has gone down. Among equally
// short ways the loads of channels are balanced. With several Layers all have the same R and the
// pairs are dealt to them. With InPort off it is [UpDownByDestination]. It is an error when no
// links lead between two switches that have NICs, when options cannot be had, and when ctx has
// ended.
func UpDown(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	if !o.InPort.on() {
		return UpDownByDestination(ctx, g, o)
	}
	return deterministic(ctx, "updn", g, o, 1, func(w *wires, _ int) ([]int32, error) { return sameRoot(w, o) })
}

// UpDownByDestination is UpDown with an R that looks at the destination alone, as the forwarding
// tables of InfiniBand have it: a switch from which channels down alone lead to the destination
// goes down, though it may be shorter to go up first, and others go up.
func UpDownByDestination(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	o.InPort = Off
	e, err := newEngine("updn", g, o, 1)
	if err != nil {
		return nil, err
	}
	root, err := e.w.root(o.Root)
	if err != nil {
		return nil, err
	}
	l := newLegal(e.w, root, o.Tree)
	leads := func(s, t int32) bool {
		if l.falls[s] < far {
			return l.descends(s, t)
		}
		return l.climbs(s, t)
	}
	var queue []int32
	err = e.destinations(ctx, func(s int32, d weft.NICID) error {
		if e.fresh(s) {
			l.toward(s)
			l.byDestination()
			queue = append(queue[:0], l.above...)
			for _, s := range l.order {
				if l.falls[s] == far {
					queue = append(queue, s)
				}
			}
		}
		e.tree(queue, s, leads)
		return e.setTree(queue, s, d, span{0, e.layers})
	})
	if err != nil {
		return nil, err
	}
	return e.dealt()
}

// UpDownAdaptive is adaptive Up*/Down* routing: all shortest legal paths, in all layers, between
// which packets move freely (theorem 3) unless Move is off.
func UpDownAdaptive(ctx context.Context, g *topology.Graph, o Options) (*Routing, error) {
	e, err := newEngine("updn-adaptive", g, o, 1)
	if err != nil {
		return nil, err
	}
	root, err := e.w.root(o.Root)
	if err != nil {
		return nil, err
	}
	l := newLegal(e.w, root, o.Tree)
	all := span{0, e.layers}
	var ports, falls []weft.PortID
	err = e.destinations(ctx, func(to int32, d weft.NICID) error {
		if e.fresh(to) {
			l.toward(to)
		}
		for _, s := range l.order {
			if s == to {
				continue
			}
			ports, falls = e.w.leading(ports, s, l.climbs), falls[:0]
			if l.falls[s] < far {
				falls = e.w.leading(falls, s, l.descends)
			}
			if err := e.set(s, d, all, ports, falls, l, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t, err := e.w.assignAll(int(e.layers), all, o.Move.on() && e.layers > 1)
	return e.routing(Adaptive, t, err)
}

// leading are the ports by which the way leads on from s, in the storage of list.
func (w *wires) leading(list []weft.PortID, s int32, leads func(s, t int32) bool) []weft.PortID {
	list = list[:0]
	for c := w.First[s]; c < w.First[s+1]; c++ {
		if leads(s, w.To[c]) {
			list = append(list, w.Port[c])
		}
	}
	return list
}

// engine is what the engines here have in common.
type engine struct {
	name string
	w    *wires
	o    Options
	*rows
	*balance
	layers  weft.VC
	current int32 // the switch of the last destination
}

// newEngine begins a routing with so many layers unless the options say otherwise.
func newEngine(name string, g *topology.Graph, o Options, layers int) (*engine, error) {
	layers = cmp.Or(o.Layers, layers)
	if layers < 1 || layers > weft.MaxVCs {
		return nil, fmt.Errorf("layers=%d: expected 1 to %d, the virtual channels that a link can have", layers, weft.MaxVCs)
	}
	w, err := newWires(g)
	if err != nil {
		return nil, err
	}
	r, err := newRows(w, layers, 1)
	if err != nil {
		return nil, err
	}
	return &engine{name: name, w: w, o: o, rows: r, balance: newBalance(w), layers: weft.VC(layers), current: -1}, nil
}

// destinations calls each for every NIC and its switch, the NICs of a switch one after the other
// and the switches in an order that the seed shuffles, as balancing depends on it.
func (e *engine) destinations(ctx context.Context, each func(s int32, d weft.NICID) error) error {
	order := numbers(e.w.n, 0)
	shuffle(order, e.o.Seed)
	for _, s := range order {
		for _, d := range e.w.nics[s] {
			if err := Interrupted(ctx); err != nil {
				return err
			}
			if err := e.home(d); err != nil {
				return err
			}
			if err := each(s, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// fresh reports whether s is another switch than the last destination's.
func (e *engine) fresh(s int32) bool {
	last := e.current
	e.current = s
	return last != s
}

// setTree writes what balance chose for d on switch to, by its trees.
func (e *engine) setTree(queue []int32, to int32, d weft.NICID, in span) error {
	for _, s := range queue {
		if s == to {
			continue
		}
		if err := e.set(s, d, in, e.w.portOf(e.climb[s].channel), nil, nil, 0); err != nil {
			return err
		}
	}
	return nil
}

// setLegal writes what balance chose for d on switch to by the orientation of that number.
func (e *engine) setLegal(l *legal, number int, to int32, d weft.NICID, in span) error {
	for _, s := range l.order {
		if s == to {
			continue
		}
		if err := e.set(s, d, in, e.w.portOf(e.climb[s].channel), e.w.portOf(e.fall[s].channel), l, number); err != nil {
			return err
		}
	}
	return nil
}

// dealt is the deterministic routing in which each pair has one layer.
func (e *engine) dealt() (*Routing, error) {
	t, err := e.w.assignOne(int(e.layers), e.w.deal(int(e.layers), e.o.Seed))
	return e.routing(Deterministic, t, err)
}

// routing is the result.
func (e *engine) routing(kind Kind, t *tables.Assignment, err error) (*Routing, error) {
	if err != nil {
		return nil, err
	}
	return &Routing{
		Engine: e.o.named(e.name), Graph: e.w.g, Kind: kind, Layers: int(e.layers), Tables: e.tables,
		Assignment: t,
	}, nil
}
