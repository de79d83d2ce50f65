package virtual

import (
	"math/bits"

	"github.com/weft-fabric/weft"
)

// worker lets nodes do what they have to do, in the order in which each of them must.
//
// Of what a node does at one time arrivals come first, then what is due by its clock, then what its
// ports send. Which of two ports is first is drawn from the time, so that neither always is. So the
// order of events at a node follows from their times and places alone. Nodes that cannot affect
// each other before some time run up to it one by one, each while it is in the processor's cache.
// Where links have no delay that is one instant, and nodes come up again as long as they are given
// more to do in it.
type worker struct {
	engine *Engine
	nodes  []*Node
	now    weft.Time // at the node that runs
	cal    calendar

	running *Node     // nil: none, or one event at a time
	end     weft.Time // of what it does now
	agenda  []event   // what it has to do before end, in order, from head on; empty while none runs
	head    int
	sent    []sending // by the nodes that ran to nodes of this worker, in order; empty outside of a window or instant
	number  int       // of the worker
	round   int64     // exchanges with other workers

	group     []*Node  // nodes that run together, see runGroup
	coming    []coming // what they have to do
	preloaded uint64   // means nothing, see Preloader

	instants instants // of the bucket whose turn it is, while it is gone through instant by instant

	spare  []*flight     // bound: the most frames there were on all wires at one time
	frame  weft.Frame    // that a core writes or reads
	out    weft.Actions  // of the call into a core that is being made
	owed   []weft.PortID // of the node that looks at the time: where hellos are due
	events uint64
}

// sending is a frame that a node has put on a wire.
type sending struct {
	to   *Node
	port weft.PortID // of to
	at   weft.Time   // when it arrives
	on   *flight
}

// event is something that a node has to do.
type event struct {
	at  weft.Time
	key uint32 // orders what is due at one time
	of  int32  // number of what it is, see Node.clock
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.key < o.key }

// add gives the worker another node.
func (w *worker) add(n *Node) {
	n.worker, n.index = w, uint32(len(w.nodes))
	w.nodes = append(w.nodes, n)
	w.cal.grow(len(w.nodes))
	w.instants.grow(len(w.nodes))
}

// schedule has a node come up at a time, at which it has something to do.
func (w *worker) schedule(n *Node, of int, at weft.Time) {
	switch {
	case n == w.running && at < w.end:
		w.insert(n.event(of, at))
	case at < w.instants.end:
		w.instants.add(n.index, at)
	default:
		w.cal.mark(n.index, at)
	}
}

// insert adds an event to what the node that runs has to do.
func (w *worker) insert(e event) {
	list := append(w.agenda, e)
	i := len(list) - 1
	for ; i > w.head && e.before(list[i-1]); i-- {
		list[i] = list[i-1]
	}
	list[i] = e
	w.agenda = list
}

// deliver puts what nodes have sent on the wires. It is done for many frames at a time, since their
// wires are all over the memory.
func (w *worker) deliver(sent []sending) {
	for i := range sent {
		if i%groupFrames == 0 && len(w.nodes) >= w.engine.large {
			w.preloadWires(sent[i:min(len(sent), i+groupFrames)])
		}
		s := &sent[i]
		if s.to.ports[s.port].line.Push(s.on, s.at) {
			s.to.arriveAt(s.port, s.at)
		}
	}
}

// runNode lets a node do all that it has to do before end.
func (w *worker) runNode(n *Node, end weft.Time) {
	if !n.halted {
		n.all(end, func(of int, at weft.Time) { w.insert(n.event(of, at)) })
		w.carryOut(n, end)
	}
}

// carryOut has a node do what is on the agenda, and what comes to be on it before end.
func (w *worker) carryOut(n *Node, end weft.Time) {
	w.running, w.end = n, end
	for w.head < len(w.agenda) {
		e := w.agenda[w.head]
		w.head++
		if n.time(int(e.of)) == e.at { // otherwise it has been overtaken
			w.do(n, e)
		}
	}
	w.running, w.agenda, w.head = nil, w.agenda[:0], 0
}

// next is when the first bucket begins in which a node may have something to do; Never when none
// has.
func (w *worker) next() weft.Time {
	if b, ok := w.cal.next(); ok {
		return weft.Time(b << w.cal.shift)
	}
	return weft.Never
}

// turn goes on to the bucket that begins at a time, and returns when it ends.
func (w *worker) turn(at weft.Time) (end weft.Time) {
	b := int64(at) >> w.cal.shift
	w.cal.turn(b, func(node uint32) { w.markAll(w.nodes[node]) })
	return weft.Time((b + 1) << w.cal.shift)
}

// row calls f for the nodes that may have something to do in the bucket whose turn it is, which are
// then not marked any more.
func (w *worker) row(f func(n *Node)) {
	row, words := w.cal.row(w.cal.cur)
	w.cal.some[row>>6] &^= 1 << (row & 63)
	for i, word := range words {
		for words[i] = 0; word != 0; word &= word - 1 {
			f(w.nodes[i<<6+bits.TrailingZeros64(word)])
		}
	}
}

// window runs the nodes of the bucket that begins at a time to its end, or to end if that is
// earlier, and returns when the bucket ends. No node affects another in it.
func (w *worker) window(at, end weft.Time) (last weft.Time) {
	last = w.turn(at)
	switch {
	case end < last:
		w.row(func(n *Node) {
			w.runNode(n, end)
			if at := n.due(); at < last && !n.halted {
				w.cal.mark(n.index, at)
			}
		})
	case len(w.nodes) < w.engine.large:
		w.row(func(n *Node) { w.runNode(n, last) })
	default:
		w.row(func(n *Node) {
			if w.group = append(w.group, n); len(w.group) == groupNodes {
				w.runGroup(last)
			}
		})
		w.runGroup(last)
	}
	return last
}

// markAll marks all that a node has to do in the calendar.
func (w *worker) markAll(n *Node) {
	n.all(weft.Never, func(_ int, at weft.Time) { w.cal.mark(n.index, at) })
}

// restart makes the calendar anew, with buckets of another width.
func (w *worker) restart(shift uint) {
	w.cal = calendar{shift: shift, cur: int64(w.engine.now) >> shift}
	w.instants = instants{}
	w.cal.grow(len(w.nodes))
	w.instants.grow(len(w.nodes))
	for _, n := range w.nodes {
		w.markAll(n)
	}
}
