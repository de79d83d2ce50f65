package nic

import "github.com/weft-fabric/weft"

// pageBits is of the entries of a page, chosen by us: in the largest fabrics a NIC's first packets
// each go to a page of their own, and pages of 32 keep a NIC that has sent and received fifty
// small, while the pointers to them take no more than half a kilobyte for 2,000 NICs.
const pageBits = 5

// page is a part of a table.
type page[T any] [1 << pageBits]T

// table is an array indexed by NICID whose pages are made when first written, so that a NIC that
// talks to few others stays small in a large fabric.
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

// tallyEntries is how many entries share a page of a tally, or of flows, chosen by us: one line of
// the cache while they are a byte each.
const tallyEntries = 64

// tally is an array of numbers indexed by NICID. In a large fabric a NIC has sent little to each of
// most others: a page, made when first written to, has a byte for each entry until one of them no
// longer fits. A NIC that sends nothing has no pages at all.
type tally struct {
	nics  int
	pages []tallyPage // nil: nothing was written yet
}

type tallyPage struct {
	short *[tallyEntries]uint8
	long  *[tallyEntries]uint64 // instead of short
}

// pagesFor is how many pages there are for so many NICs.
func pagesFor(nics int) int { return (nics + tallyEntries - 1) / tallyEntries }

// get is the entry of id, zero if it was never written.
func (c *tally) get(id weft.NICID) uint64 {
	if c.pages == nil {
		return 0
	}
	p := &c.pages[id/tallyEntries]
	switch {
	case p.long != nil:
		return p.long[id%tallyEntries]
	case p.short != nil:
		return uint64(p.short[id%tallyEntries])
	}
	return 0
}

func (c *tally) set(id weft.NICID, v uint64) {
	if c.pages == nil {
		c.pages = make([]tallyPage, pagesFor(c.nics))
	}
	p := &c.pages[id/tallyEntries]
	if p.long == nil {
		if v <= 0xff {
			if p.short == nil {
				p.short = new([tallyEntries]uint8)
			}
			p.short[id%tallyEntries] = uint8(v)
			return
		}
		p.long = new([tallyEntries]uint64)
		if p.short != nil {
			for i, n := range p.short {
				p.long[i] = uint64(n)
			}
			p.short = nil
		}
	}
	p.long[id%tallyEntries] = v
}
