package switching

import "math/bits"

// waiters remembers which blocked packet waits for which output queues: a bit matrix, read by rows
// in both directions, so that entering, waking and leaving never search, and only the first that
// waits allocates. Rows are served round robin: every waiter of an output is woken before any is
// woken twice.
type waiters struct {
	channels             int
	count                []int32  // per output, how many wait for it
	kept                 []slotID // per output, for whom its places are kept; noSlot: for nobody
	next                 []slotID // per output, where the round robin goes on
	slots                int
	slotWords, chanWords int
	bySlot               []uint64 // per slot, the outputs it waits for; nil before the first waits, as all per output
	byOutput             []uint64 // per output, the slots that wait for it
	blocked              []uint64 // the slots that wait for anything
	keeps                int      // outputs whose places are kept
	waiting              int      // slots that wait for anything
}

func newWaiters(slots, channels int) waiters {
	w := waiters{slots: slots, channels: channels, slotWords: (slots + 63) / 64, chanWords: (channels + 63) / 64}
	w.blocked = make([]uint64, w.slotWords)
	return w
}

// begin makes room for the first that waits.
func (w *waiters) begin() {
	w.bySlot, w.byOutput = make([]uint64, w.slots*w.chanWords), make([]uint64, w.channels*w.slotWords)
	w.count, w.next, w.kept = make([]int32, w.channels), make([]slotID, w.channels), make([]slotID, w.channels)
	for c := range w.kept {
		w.kept[c] = noSlot
	}
}

// any reports whether anybody waits for c.
func (w *waiters) any(c channel) bool { return w.waiting > 0 && w.count[c] > 0 }

// isKept reports whether the places of c are kept for somebody.
func (w *waiters) isKept(c channel) bool { return w.keeps > 0 && w.kept[c] != noSlot }

// enter makes id wait for the output queue c, beside those it waits for already.
func (w *waiters) enter(id slotID, c channel) {
	if w.bySlot == nil {
		w.begin()
	}
	word, bit := &w.bySlot[int(id)*w.chanWords+int(c)/64], uint64(1)<<(uint(c)%64)
	if *word&bit != 0 {
		return
	}
	*word |= bit
	w.count[c]++
	w.byOutput[int(c)*w.slotWords+int(id)/64] |= 1 << (uint(id) % 64)
	if b, bit := &w.blocked[id/64], uint64(1)<<(uint(id)%64); *b&bit == 0 {
		*b |= bit
		w.waiting++
	}
}

// row is what id waits for.
func (w *waiters) row(id slotID) []uint64 {
	if w.bySlot == nil {
		return nil
	}
	return w.bySlot[int(id)*w.chanWords : (int(id)+1)*w.chanWords]
}

// leave makes id wait for nothing.
func (w *waiters) leave(id slotID) {
	row := w.row(id)
	mask := ^(uint64(1) << (uint(id) % 64))
	for i, word := range row {
		for ; word != 0; word &= word - 1 {
			c := i*64 + bits.TrailingZeros64(word)
			w.byOutput[c*w.slotWords+int(id)/64] &= mask
			w.count[c]--
			if w.kept[c] == id {
				w.kept[c] = noSlot
				w.keeps--
			}
		}
		row[i] = 0
	}
	if b := &w.blocked[id/64]; *b&^mask != 0 {
		*b &= mask
		w.waiting--
	}
}

// waits reports whether id waits for c.
func (w *waiters) waits(id slotID, c channel) bool {
	return w.bySlot[int(id)*w.chanWords+int(c)/64]>>(uint(c)%64)&1 == 1
}

// keep has the places of c kept for id, which waits for it and has its turn, until it waits no
// more.
func (w *waiters) keep(id slotID, c channel) {
	w.kept[c] = id
	w.keeps++
	w.next[c] = id
}

// after returns the first slot at or after from that waits for c, without wrapping round, or
// noSlot.
func (w *waiters) after(c channel, from slotID) slotID {
	return nextBit(w.byOutput[int(c)*w.slotWords:(int(c)+1)*w.slotWords], from)
}

// blockedAfter returns the first blocked slot at or after from, or noSlot.
func (w *waiters) blockedAfter(from slotID) slotID { return nextBit(w.blocked, from) }

// outputs calls f for each output id waits for.
func (w *waiters) outputs(id slotID, f func(c channel)) {
	for i, word := range w.row(id) {
		for ; word != 0; word &= word - 1 {
			f(channel(i*64 + bits.TrailingZeros64(word)))
		}
	}
}

func nextBit(row []uint64, from slotID) slotID {
	i := int(from) / 64
	if i >= len(row) {
		return noSlot
	}
	word := row[i] &^ (1<<(uint(from)%64) - 1)
	for word == 0 {
		if i++; i == len(row) {
			return noSlot
		}
		word = row[i]
	}
	return slotID(i*64 + bits.TrailingZeros64(word))
}
