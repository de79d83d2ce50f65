package virtual

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// However far ahead nodes are marked, they are found in the order of buckets, and none is lost.
func TestTheCalendarFindsEveryNodeInItsBucket(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, nodes := range []int{1, 64, 200} {
		const width = 1 << 10
		c := calendar{shift: 10}
		c.grow(nodes)
		due := make([]weft.Time, nodes) // when each is; Never: not at all
		for i := range due {
			due[i] = weft.Never
		}
		now := weft.Time(0)
		mark := func() {
			if i := r.IntN(nodes); due[i] == weft.Never {
				due[i] = now + weft.Time(r.Int64N(width<<r.IntN(12)))
				c.mark(uint32(i), due[i])
			}
		}
		for range 20_000 {
			for range r.IntN(3) {
				mark()
			}
			b, ok := c.next()
			if !ok {
				for _, at := range due {
					require.Equal(t, weft.Never, at)
				}
				continue
			}
			c.turn(b, func(node uint32) { c.mark(node, due[node]) })
			now = weft.Time(b) * width
			row, words := c.row(b)
			c.some[row/64] &^= 1 << (row % 64)
			for i := range due {
				marked := words[i/64]>>(i%64)&1 == 1
				if due[i] < now || due[i] < now+width && !marked {
					require.Fail(t, "passed over", "node %d, due at %d, at %d", i, due[i], now)
				}
				if due[i] < now+width {
					due[i] = weft.Never
				}
			}
			clear(words)
		}
	}
}

// Whatever the order in which they are added, nodes come up by their times, and those of one
// instant by their numbers.
func TestInstantsComeInOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var s instants
	s.grow(200)
	waits := map[due]bool{}
	last := due{}
	for range 20_000 {
		for range r.IntN(3) {
			d := due{at: last.at + weft.Time(r.IntN(4)*r.IntN(2)), node: uint32(r.IntN(200))}
			if d.at > last.at || d.node > last.node {
				waits[d] = true
				s.add(d.node, d.at)
			}
		}
		if !s.find() {
			require.Empty(t, waits)
			continue
		}
		d := due{s.at, uint32(s.take())}
		require.True(t, last.before(d), "%v after %v", d, last)
		for o := range waits {
			require.False(t, o.before(d), "%v before %v", d, o)
		}
		s.drop()
		delete(waits, d)
		last = d
	}
}
