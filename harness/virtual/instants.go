package virtual

import (
	"math/bits"

	"github.com/weft-fabric/weft"
)

// instants are those of one bucket at which nodes have something to do: a bit for each node that
// has at the first, and a heap of what is later.
type instants struct {
	end   weft.Time // of the bucket; 0: none is gone through
	at    weft.Time // the first; of no meaning while there are no bits
	n     int       // bits, or more than there are
	bits  []uint64
	from  int // the node that comes next, or one before
	later dues
}

func (s *instants) grow(nodes int) {
	for 64*len(s.bits) < nodes {
		s.bits = append(s.bits, 0)
	}
}

// add notes that a node has something to do at a time.
func (s *instants) add(node uint32, at weft.Time) {
	switch some := s.find(); {
	case some && at > s.at:
		s.later.push(due{at, node})
		return
	case some && at < s.at:
		for ; s.n > 0; s.drop() {
			s.later.push(due{s.at, uint32(s.take())})
		}
	}
	if s.n == 0 {
		s.at, s.from = at, 0
	}
	s.set(node)
}

func (s *instants) set(node uint32) {
	word, bit := &s.bits[node>>6], uint64(1)<<(node&63)
	if *word&bit == 0 {
		*word |= bit
		s.n++
	}
}

// find goes on to the next instant when no node has anything left to do in this one. It reports
// whether there is one.
func (s *instants) find() bool {
	if s.n == 0 && len(s.later) > 0 {
		s.at, s.from = s.later[0].at, 0
		for len(s.later) > 0 && s.later[0].at == s.at {
			s.set(s.later.pop().node)
		}
	}
	return s.n > 0
}

// take is the node whose turn it is. There must be one. It is its turn until drop is called.
func (s *instants) take() int {
	i := s.from >> 6
	word := s.bits[i] &^ (1<<(s.from&63) - 1)
	for word == 0 {
		if i++; i == len(s.bits) {
			i = 0
		}
		word = s.bits[i]
	}
	s.from = i<<6 + bits.TrailingZeros64(word)
	return s.from
}

// drop ends the turn of the node that take has returned last.
func (s *instants) drop() {
	s.bits[s.from>>6] &^= 1 << (s.from & 63)
	s.n--
}

// find goes on to the next instant at which a node has something to do, if there is one at until or
// before.
func (w *worker) find(until weft.Time) bool {
	s := &w.instants
	for !s.find() {
		s.end = 0
		at := w.next()
		if at > until {
			return false
		}
		s.end = w.turn(at)
		w.row(w.comeBack)
	}
	return s.at <= until
}

// comeBack notes the next time at which a node has something to do, if it is in the bucket.
func (w *worker) comeBack(n *Node) {
	if at := n.due(); at < w.instants.end && !n.halted {
		w.instants.add(n.index, at)
	}
}

// step lets the next event happen, if there is one due at until or before. No node may be given
// something to do before then from now on.
func (w *worker) step(until weft.Time) bool {
	for w.find(until) {
		s := &w.instants
		n, at := w.nodes[s.take()], s.at
		if n.halted || n.due() != at {
			s.drop()
			continue
		}
		w.engine.now = at
		w.do(n, n.next())
		if n.due() != at {
			s.drop()
			w.comeBack(n)
		}
		w.flush()
		return true
	}
	return false
}

// run lets all happen that is due before end, instant by instant.
func (w *worker) run(end weft.Time) {
	for s := &w.instants; w.find(end - 1); {
		n := w.nodes[s.take()]
		w.runNode(n, s.at+1)
		w.comeBack(n)
		s.drop()
		w.flush()
	}
}

// close ends going through instants: what is left is marked in the calendar.
func (w *worker) close() {
	s := &w.instants
	for s.end = 0; s.find(); s.drop() {
		w.cal.mark(uint32(s.take()), s.at)
	}
}

// flush puts what the node has sent on the wires.
func (w *worker) flush() {
	w.deliver(w.sent)
	clear(w.sent) // nobody keeps the frames
	w.sent = w.sent[:0]
}
