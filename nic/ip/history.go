package ip

import (
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// maxHistory bounds what a connection remembers of each kind; chosen by us. What is forgotten makes
// an answer a little smaller, never larger.
const maxHistory = 32

// history is what a connection has suffered, for questions about the time since any moment.
type history struct {
	still  []span  // standstills that have ended, each longer than all later ones
	resent []burst // bytes sent again, by time
}

type span struct{ from, to weft.Time }

// burst is when bytes were sent again, and how many had been before.
type burst struct {
	at     weft.Time
	before uint64
}

// stood notes a standstill that ends.
func (h *history) stood(from, to weft.Time) {
	for n := len(h.still); n > 0 && h.still[n-1].to-h.still[n-1].from <= to-from; n-- {
		h.still = h.still[:n-1]
	}
	if h.still = append(h.still, span{from, to}); len(h.still) > maxHistory {
		h.still = slices.Delete(h.still, maxHistory-1, maxHistory)
	}
}

// sentAgain notes bytes that are sent again, beside so many before. Where there is no room, the two
// bursts become one that are the smallest, compared with all that came later.
func (h *history) sentAgain(at weft.Time, before uint64) {
	if h.resent = append(h.resent, burst{at, before}); len(h.resent) <= maxHistory {
		return
	}
	least, share := 1, math.Inf(1)
	for i := 1; i < maxHistory-1; i++ {
		both := float64(h.resent[i+1].before - h.resent[i-1].before)
		if s := both / float64(before-h.resent[i+1].before); s < share {
			least, share = i, s
		}
	}
	h.resent = slices.Delete(h.resent, least, least+1)
}

// longest is the longest standstill of the time since from that has ended.
func (h *history) longest(from weft.Time) (d weft.Time) {
	for _, s := range h.still {
		d = max(d, s.to-max(s.from, from))
	}
	return d
}

// again is how many of so many bytes were sent again since from.
func (h *history) again(from weft.Time, all uint64) uint64 {
	for _, b := range h.resent {
		if b.at >= from {
			return all - b.before
		}
	}
	return 0
}
