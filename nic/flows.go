package nic

import "github.com/weft-fabric/weft"

// arrivals is what a NIC remembers of one flow it receives: the next number it has not seen, and
// which of the 64 numbers before that it has.
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

// take records the arrival of number seq. A packet more than 64 behind is late: too old to tell
// whether it is a duplicate.
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

// flows is what a NIC remembers of the flows that it receives, per source. Most flows of a large
// fabric have few packets, and all of them have arrived: then how many there are says it all, in a
// byte. Flows that lack some of their last 64 are kept whole beside the page, and a page of which
// one flow is long, or many lack some, has all of its flows whole.
type flows struct {
	nics  int
	pages []flowsPage             // nil: nothing has come yet
	whole map[weft.NICID]arrivals // of sources whose byte is elsewhere; at most maxElsewhere a page
}

type flowsPage struct {
	short *[tallyEntries]uint8 // packets that have arrived, numbers 0 to that without a gap; or elsewhere
	long  *[tallyEntries]arrivals
}

const (
	// elsewhere is the byte of a flow that lacks packets.
	elsewhere = 0xff
	// maxElsewhere is how many flows of a page may lack packets: in a map they take more than twice
	// the room. Chosen by us.
	maxElsewhere = tallyEntries / 4
)

// get is what is remembered of the flow of src, the zero value if nothing has come.
func (f *flows) get(src weft.NICID) arrivals {
	if f.pages == nil {
		return arrivals{}
	}
	p := &f.pages[src/tallyEntries]
	switch {
	case p.long != nil:
		return p.long[src%tallyEntries]
	case p.short == nil:
		return arrivals{}
	}
	n := p.short[src%tallyEntries]
	if n == elsewhere {
		return f.whole[src]
	}
	return arrivals{next: uint64(n), window: without(uint64(n))}
}

// without is the window of a flow of n packets without a gap.
func without(n uint64) uint64 { return 1<<n - 1 } // shifting by 64 or more gives 0, less one is all

func (f *flows) set(src weft.NICID, a arrivals) {
	if f.pages == nil {
		f.pages = make([]flowsPage, pagesFor(f.nics))
	}
	p := &f.pages[src/tallyEntries]
	if p.long != nil {
		p.long[src%tallyEntries] = a
		return
	}
	if p.short == nil {
		p.short = new([tallyEntries]uint8)
	}
	n := &p.short[src%tallyEntries]
	switch {
	case a.next >= elsewhere:
		f.lengthen(src)
		p.long[src%tallyEntries] = a
	case a.window == without(a.next):
		if *n == elsewhere {
			delete(f.whole, src)
		}
		*n = uint8(a.next)
	case *n == elsewhere:
		f.whole[src] = a
	case p.elsewhere() == maxElsewhere:
		f.lengthen(src)
		p.long[src%tallyEntries] = a
	default:
		if f.whole == nil {
			f.whole = map[weft.NICID]arrivals{}
		}
		*n, f.whole[src] = elsewhere, a
	}
}

// elsewhere is how many of the flows of a short page lack packets.
func (p *flowsPage) elsewhere() (n int) {
	for _, v := range p.short {
		if v == elsewhere {
			n++
		}
	}
	return n
}

// lengthen keeps the flows of the page of src whole from now on.
func (f *flows) lengthen(src weft.NICID) {
	p, first := &f.pages[src/tallyEntries], src/tallyEntries*tallyEntries
	long := new([tallyEntries]arrivals)
	for i, n := range p.short {
		id := first + weft.NICID(i)
		if long[i] = f.get(id); n == elsewhere {
			delete(f.whole, id)
		}
	}
	p.short, p.long = nil, long
}
