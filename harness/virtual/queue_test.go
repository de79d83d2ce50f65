package virtual

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Whatever the density of events and however it changes, they come in the order of (time, sequence)
// and none is lost.
func TestTheQueueGivesEventsInOrderAtEveryDensity(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []weft.Time{1, 100, weft.Nanosecond, weft.Microsecond, weft.Millisecond} {
		q := newQueue()
		var now weft.Time
		var seq uint64
		var want, got []event
		push := func(ahead weft.Time) {
			seq++
			e := event{at: now + ahead, seq: seq}
			q.push(e, lane(r.IntN(int(laneOther)+1)))
			want = append(want, e)
		}
		for range 100 {
			push(weft.Time(r.Int64N(int64(scale) * 1000)))
		}
		for range 6 * lookEvery {
			e, ok := q.next(weft.Never)
			require.True(t, ok)
			got, now = append(got, e), e.at
			for range r.IntN(3) { // as many as are taken, in the mean
				switch r.IntN(20) {
				case 0:
					push(0)
				case 2, 3, 4, 5:
					push(scale * 100) // as many as a lane takes
				case 1:
					push(weft.Time(r.Int64N(int64(scale) * 1_000_000))) // beyond the wheel
				default:
					push(weft.Time(r.Int64N(int64(scale) * 1000)))
				}
			}
			if q.size == 0 {
				push(scale)
			}
		}
		for q.size > 0 {
			e, ok := q.next(weft.Never)
			require.True(t, ok)
			got = append(got, e)
		}
		_, ok := q.next(weft.Never)
		require.False(t, ok)
		slices.SortFunc(want, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i], "scale %d, event %d", scale, i)
		}
	}
}

// Looking no further than a time leaves room for events between it and the next.
func TestAnEventMayBePushedBetweenNowAndTheNext(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.push(event{at: weft.Second, seq: 1}, laneOther)
	for i := range weft.Time(1000) {
		_, ok := q.next(i * weft.Microsecond)
		require.False(t, ok)
		q.push(event{at: i*weft.Microsecond + 1, seq: uint64(i) + 2}, lane(i%weft.Time(laneOther+1)))
		e, ok := q.next(i*weft.Microsecond + 1)
		require.True(t, ok)
		require.Equal(t, uint64(i)+2, e.seq)
	}
	e, ok := q.next(weft.Never)
	require.True(t, ok)
	require.Equal(t, weft.Second, e.at)
}

func FuzzQueue(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 0, 0, 9})
	f.Fuzz(func(t *testing.T, steps []byte) {
		q := newQueue()
		var pending []event
		now, seq := weft.Time(0), uint64(0)
		for _, s := range steps {
			if s%3 != 0 || len(pending) == 0 {
				seq++
				e := event{at: now + 1<<(s/5), seq: seq} // up to 2^51
				q.push(e, lane(s%5)+laneOther-4)
				pending = append(pending, e)
				continue
			}
			i := 0
			for j := range pending {
				if pending[j].before(pending[i]) {
					i = j
				}
			}
			e, ok := q.next(weft.Never)
			if !ok || e != pending[i] {
				t.Fatalf("got %v %v, want %v", e, ok, pending[i])
			}
			now = e.at
			pending = slices.Delete(pending, i, i+1)
		}
		if q.size != len(pending) {
			t.Fatalf("holds %d, want %d", q.size, len(pending))
		}
	})
}
