package virtual

import (
	"math/bits"

	"github.com/weft-fabric/weft"
)

// calendar says which nodes have something to do, and about when: a bit for each node in each of
// the next buckets of time, and a heap of what is later. A bit says that the node may have
// something to do in that bucket; what and when exactly the node itself knows, so a bit too many
// costs a look. Nodes of a bucket are found in the order of their numbers, which is that of their
// memory.
type calendar struct {
	shift uint  // a bucket is 1<<shift picoseconds wide
	cur   int64 // the bucket whose turn it is, numbered from time 0
	words int   // of 64 nodes
	rows  []uint64
	some  [calendarRows / 64]uint64 // rows that are not empty
	far   dues                      // in buckets after those of the rows, at least the first such time of each node
	farAt []weft.Time               // per node, of the first in far; Never: none is
}

// calendarRows is how many buckets have bits: a packet and its delays last a few.
const calendarRows = 256

// grow makes room for n nodes.
func (c *calendar) grow(n int) {
	for len(c.farAt) < n {
		c.farAt = append(c.farAt, weft.Never)
	}
	if n <= 64*c.words {
		return
	}
	words := max((n+63)/64, 2*c.words)
	rows := make([]uint64, calendarRows*words)
	for i := range c.rows {
		rows[i/c.words*words+i%c.words] = c.rows[i]
	}
	c.words, c.rows = words, rows
}

func (c *calendar) row(b int64) (row int, bits []uint64) {
	row = int(b & (calendarRows - 1))
	return row, c.rows[row*c.words : (row+1)*c.words]
}

// mark notes that a node has something to do at a time.
func (c *calendar) mark(node uint32, at weft.Time) {
	b := max(c.cur, int64(at)>>c.shift)
	if b-c.cur >= calendarRows {
		if at < c.farAt[node] {
			c.farAt[node] = at
			c.far.push(due{at, node})
		}
		return
	}
	row := int(b & (calendarRows - 1))
	c.rows[row*c.words+int(node>>6)] |= 1 << (node & 63)
	c.some[row>>6] |= 1 << (row & 63)
}

// next finds the first bucket in which a node may have something to do.
func (c *calendar) next() (b int64, ok bool) {
	from := uint(c.cur & (calendarRows - 1))
	for i := range uint(len(c.some) + 1) { // the first word twice: from the row on, and up to it
		w := (from/64 + i) % uint(len(c.some))
		word := c.some[w]
		if i == 0 {
			word &^= 1<<(from%64) - 1
		}
		if word != 0 {
			row := int64(w*64) + int64(bits.TrailingZeros64(word))
			return c.cur + (row-int64(from))&(calendarRows-1), true
		}
	}
	if len(c.far) == 0 {
		return 0, false
	}
	return int64(c.far[0].at) >> c.shift, true
}

// turn goes on to a bucket, the first in which a node may have something to do. Of nodes that far
// held until now it calls mark, which marks all that they have to do.
func (c *calendar) turn(b int64, mark func(node uint32)) {
	c.cur = b
	for len(c.far) > 0 && int64(c.far[0].at)>>c.shift < b+calendarRows {
		d := c.far.pop()
		if c.farAt[d.node] == d.at {
			c.farAt[d.node] = weft.Never
			mark(d.node)
		}
	}
}

// due is a node that has something to do at a time.
type due struct {
	at   weft.Time
	node uint32
}

func (d due) before(o due) bool { return d.at < o.at || d.at == o.at && d.node < o.node }

// dues is a heap of them, first by time and then by number.
type dues []due

func (h *dues) push(d due) {
	list := append(*h, d)
	i := len(list) - 1
	for i > 0 && d.before(list[(i-1)/4]) {
		list[i] = list[(i-1)/4]
		i = (i - 1) / 4
	}
	list[i] = d
	*h = list
}

func (h *dues) pop() due {
	list := *h
	first, last := list[0], list[len(list)-1]
	list = list[:len(list)-1]
	for i := 0; len(list) > 0; {
		least := 4*i + 1
		for k := least + 1; k < min(4*i+5, len(list)); k++ {
			if list[k].before(list[least]) {
				least = k
			}
		}
		if least >= len(list) || !list[least].before(last) {
			list[i] = last
			break
		}
		list[i] = list[least]
		i = least
	}
	*h = list
	return first
}
