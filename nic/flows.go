package nic

import "github.com/weft-fabric/weft"

// pageBits is of the entries of a page, chosen by us: in the largest fabrics a NIC's first packets each go to a page of their own, and
// pages of 32 keep a NIC that has sent and received fifty small, while the pointers to them take no more than half a kilobyte for 2,000 NICs.
const pageBits = 5

// page is a part of a table.
type page[T any] [1 << pageBits]T

// table is an array indexed by NICID whose pages are made when first written, so that a NIC that talks to few others stays
// small in a large fabric.
type table[T any] struct{ pages []*page[T] }

func newTable[T any](nics int) table[T] {
	return table[T]{pages: make([]*page[T], (nics+1<<pageBits-1)>>pageBits)}
}

func (t *table[T]) at(id weft.NICID) *T {
	p := &t.pages[id>>pageBits]
	if *p == nil {
		*p = new(page[T])
	}
	return &(*p)[id&(1<<pageBits-1)]
}

// get is the entry of id, zero if it was never written.
func (t *table[T]) get(id weft.NICID) (v T) {
	if p := t.pages[id>>pageBits]; p != nil {
		v = p[id&(1<<pageBits-1)]
	}
	return v
}

// arrivals is what a NIC remembers of one flow it receives: the next number it has not seen, and which of the 64 numbers
// before that it has.
type arrivals struct {
	next   uint64
	window uint64 // bit i: number next-1-i has arrived
}

// order says how a packet stands to those of its flow that came before it.
type order uint8

const (
	inOrder   order = iota
	late            // a later one had arrived already
	duplicate       // it had arrived already itself
)

// take records the arrival of number seq. A packet more than 64 behind is late: too old to tell whether it is a duplicate.
func (a *arrivals) take(seq uint64) order {
	if seq >= a.next {
		a.window = a.window<<(seq-a.next+1) | 1 // shifting by 64 or more gives 0
		a.next = seq + 1
		return inOrder
	}
	age := a.next - 1 - seq
	if age >= 64 {
		return late
	}
	if a.window>>age&1 == 1 {
		return duplicate
	}
	a.window |= 1 << age
	return late
}
