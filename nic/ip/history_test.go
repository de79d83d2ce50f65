package ip_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
	"github.com/weft-fabric/weft/nic/nicd"
)

// What a record says of the time since a moment is what happened then, or a little less, whatever
// the moment.
func TestARecordSaysWhatConnectionsSufferedSinceAMoment(t *testing.T) {
	type stood struct{ from, to weft.Time }
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 1))
		var r ip.Record
		var now weft.Time
		var gaps []stood
		var resends []weft.Time
		seq, acked := uint32(1000), uint32(1000)
		r.Sent(0, segment(0, 1, seq, 1, ack, 0))
		for range 500 {
			now += weft.Time(1+draw.IntN(100)) * weft.Millisecond
			from := now
			r.Sent(now, segment(0, 1, seq, 1, ack, 100))
			seq += 100
			if draw.IntN(4) == 0 {
				now += weft.Time(1+draw.IntN(1000)) * weft.Millisecond
				r.Sent(now, segment(0, 1, acked, 1, ack, 100))
				resends = append(resends, now)
			}
			now += weft.Time(1+draw.IntN(20)) * weft.Millisecond
			acked = seq
			r.Came(now, segment(1, 0, 1, acked, ack, 0))
			gaps = append(gaps, stood{from, now})
		}
		for range 200 {
			since := weft.Time(draw.Int64N(int64(now)))
			var still weft.Time
			again := uint64(0)
			for _, g := range gaps {
				still = max(still, g.to-max(g.from, since))
			}
			for _, at := range resends {
				if at >= since {
					again += 100
				}
			}
			var got nicd.Suffered
			if list := r.Since(now, since); len(list) > 0 {
				got = list[0]
			}
			require.LessOrEqual(t, got.Still, still)
			require.GreaterOrEqual(t, got.Still, still*9/10)
			require.LessOrEqual(t, got.Resent, again)
			require.GreaterOrEqual(t, got.Resent+200, again*4/5)
		}
		exact := r.Since(now, 0)[0]
		require.EqualValues(t, 100*len(resends), exact.Resent, "since the beginning nothing is forgotten")
		require.Empty(t, r.Since(now, now))
	}
}

// A connection that stands still is told of before it goes on; one that has ended stands no more.
func TestARecordSaysWhoStandsStillNow(t *testing.T) {
	var r ip.Record
	at := func(n int) weft.Time { return weft.Time(n) * weft.Millisecond }
	r.Sent(at(0), segment(0, 1, 1, 1, ack, 100))
	require.Equal(t, at(400), r.Since(at(500), at(100))[0].Still, "but for what was before")
	r.End()
	require.Empty(t, r.Since(at(600), at(100)))
}
