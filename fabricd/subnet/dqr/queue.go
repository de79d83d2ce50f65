package dqr

import "math/bits"

// queue is a priority queue of small keys for a search whose keys never get smaller: what has the
// same key comes out in the order it went in. It holds no more than was pushed in one search: a
// channel once for each time that it gets cheaper.
type queue struct {
	head, tail []int32  // per key: its items; none for none
	some       []uint64 // per key: a bit for those with items
	node, next []int32  // per item
	word       int      // of some: none before it has a bit
}

func newQueue(keys int) queue {
	q := queue{head: make([]int32, keys), tail: make([]int32, keys), some: make([]uint64, (keys+63)/64)}
	for i := range q.head {
		q.head[i] = none
	}
	return q
}

// reset empties it.
func (q *queue) reset() {
	for i, w := range q.some {
		for ; w != 0; w &= w - 1 {
			q.head[i*64+bits.TrailingZeros64(w)] = none
		}
		q.some[i] = 0
	}
	q.node, q.next, q.word = q.node[:0], q.next[:0], 0
}

func (q *queue) push(key, node int32) {
	item := int32(len(q.node))
	q.node, q.next = append(q.node, node), append(q.next, none)
	if q.head[key] == none {
		q.head[key] = item
		q.some[key/64] |= 1 << (key % 64)
	} else {
		q.next[q.tail[key]] = item
	}
	q.tail[key] = item
}

// pop takes the first of the least key; false when there is none.
func (q *queue) pop() (key, node int32, ok bool) {
	for ; q.word < len(q.some); q.word++ {
		w := q.some[q.word]
		if w == 0 {
			continue
		}
		key = int32(q.word*64 + bits.TrailingZeros64(w))
		item := q.head[key]
		if q.head[key] = q.next[item]; q.head[key] == none {
			q.some[q.word] &= w - 1
		}
		return key, q.node[item], true
	}
	return 0, 0, false
}
