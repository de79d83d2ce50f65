package link

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// within reports whether n of so many events are what their probability makes of them, to four
// standard deviations.
func within(n, of int, p float64) bool {
	return math.Abs(float64(n)-float64(of)*p) <= 4*math.Sqrt(float64(of)*p*(1-p))
}

func TestThePacerLosesAsManyFramesAsItShould(t *testing.T) {
	t.Parallel()
	const draws = 200_000
	for _, loss := range []float64{0, 1e-9, 0.001, 0.1, 0.5, 0.999, 1} {
		var k Pacer
		k.Adopt(Pace{}, &Impairment{Loss: loss})
		r := rand.NewPCG(7, 0)
		lost := 0
		for range draws {
			if k.of.loses(r) {
				lost++
			}
		}
		require.True(t, within(lost, draws, loss), "%d of %d at %v", lost, draws, loss)
	}
}

func TestThePacerKeepsOrderAndBoundsOfJitter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ delay, jitter time.Duration }{
		{20 * time.Millisecond, 15 * time.Millisecond},
		{20 * time.Millisecond, 0},
		{5 * time.Millisecond, 50 * time.Millisecond}, // more jitter than delay: no frame arrives before it is sent
		{0, time.Millisecond},
	} {
		var k Pacer
		k.Adopt(Pace{}, &Impairment{Delay: c.delay, Jitter: c.jitter})
		require.True(t, k.Timed())
		delay, jitter := weft.FromDuration(c.delay), weft.FromDuration(c.jitter)
		r := rand.NewPCG(3, 4)
		now, last := weft.Second, weft.Time(0)
		least, most := weft.Never, -weft.Never
		for range 10_000 {
			now += weft.Millisecond / 4
			drawn := k.of.drawJitter(r)
			least, most = min(least, drawn), max(most, drawn)
			due := k.sent(now, &weft.Frame{Packets: make([]weft.Header, 1)}, drawn)
			require.GreaterOrEqual(t, due, last, "none overtakes")
			require.GreaterOrEqual(t, due, now+max(0, delay-jitter))
			require.LessOrEqual(t, due, max(last, now+delay+jitter))
			last = due
		}
		require.InDelta(t, -float64(jitter), float64(least), float64(jitter)/50, "all of the range is drawn from")
		require.InDelta(t, float64(jitter), float64(most), float64(jitter)/50)
	}
}

func TestThePacerTakesTheLowerRateAndBothDelays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pace    Pace
		impair  Impairment
		perByte weft.Time
		delay   weft.Time
		timed   bool
		limit   int
	}{
		{Pace{}, Impairment{}, 0, 0, false, 64},
		{Pace{Rate: 1e6}, Impairment{}, weft.Microsecond, 0, true, 1},
		{Pace{Rate: 1e6}, Impairment{Rate: 1e3}, weft.Millisecond, 0, true, 1},
		{Pace{Rate: 1e3}, Impairment{Rate: 1e6}, weft.Millisecond, 0, true, 1},
		{Pace{}, Impairment{Rate: 1e3}, weft.Millisecond, 0, true, 1},
		{Pace{Delay: time.Second}, Impairment{Delay: time.Minute}, 0, 61 * weft.Second, true, 64},
		{Pace{}, Impairment{Jitter: 1}, 0, 0, true, 64},
		{Pace{}, Impairment{Loss: 0.5}, 0, 0, false, 64},
	} {
		var k Pacer
		k.Adopt(Pace{Rate: 3, Delay: 7}, &Impairment{Loss: 1, Jitter: 5}) // and nothing of what was before
		k.Adopt(c.pace, &c.impair)
		require.InDelta(t, float64(c.perByte), k.perByte, 1e-6, "%+v", c)
		require.Equal(t, c.delay, k.delay, "%+v", c)
		require.Equal(t, c.timed, k.Timed(), "%+v", c)
		require.Equal(t, c.limit, allowed(t, &k), "%+v", c)
		require.Same(t, &c.impair, k.Of())
	}
}

func TestAChangeOfRateMovesOnlyWhatIsStillToBeSent(t *testing.T) {
	t.Parallel()
	var k Pacer
	var line Line[int]
	slow := &Impairment{Rate: 256_000, Delay: 10 * time.Millisecond} // a packet a millisecond
	k.changeRate(weft.Second, Pace{}, slow, &line)
	f := weft.Frame{Packets: []weft.Header{{Size: 256}}}
	const ms = weft.Millisecond
	now := weft.Second + ms
	k.free = now
	for range 2 {
		line.Push(new(Flight[int]), k.sent(now, &f, 0)) // given at the end of the one before
		now += ms
	}
	now -= ms / 2
	line.Push(new(Flight[int]), k.sent(now, &weft.Frame{}, 0)) // a hello, which stays behind the packet
	dues := func() (d []weft.Time) {
		for f := line.first; f != nil; f = f.next {
			d = append(d, f.due-weft.Second)
		}
		return d
	}
	require.Equal(t, []weft.Time{12 * ms, 13 * ms, 13 * ms}, dues())
	k.changeRate(now, Pace{}, &Impairment{Rate: 128_000}, &line) // half of the second packet is left, at half the rate
	require.Equal(t, []weft.Time{12 * ms, 13*ms + ms/2, 13*ms + ms/2}, dues())
	require.Equal(t, now+ms, k.free)
	k.changeRate(now, Pace{}, &Impairment{}, &line)
	require.Equal(t, []weft.Time{12 * ms, 12*ms + ms/2, 12*ms + ms/2}, dues())
	require.Equal(t, 12*ms+ms/2, k.last-weft.Second, "what comes next stays behind them")
	require.Zero(t, k.free)
	k.changeRate(now, Pace{}, slow, &line)
	require.Equal(t, now, k.free)
}

// A packet takes its time from when it could leave, or the link was free.
func TestAPacketTakesItsTimeFromWhenItCouldLeave(t *testing.T) {
	t.Parallel()
	var k, unpaced Pacer
	k.Adopt(Pace{Rate: 256_000}, &Impairment{}) // a packet a millisecond
	f := weft.Frame{Packets: []weft.Header{{Size: 256}}}
	now := weft.Second
	require.Equal(t, now+weft.Millisecond, k.sent(now, &f, 0))
	require.Equal(t, now+2*weft.Millisecond, k.sent(now-weft.Second, &f, 0), "the link was not free")
	now += 10 * weft.Millisecond
	require.Equal(t, now-weft.Millisecond, k.sent(now-2*weft.Millisecond, &f, 0))
	require.Equal(t, now, k.sent(now-2*weft.Millisecond, &f, 0))
	require.Equal(t, now+weft.Millisecond, k.sent(now, &f, 0))
	require.Equal(t, now+weft.Millisecond, k.sent(now, &weft.Frame{}, 0), "credits alone cost nothing")
	require.Equal(t, 1, allowed(t, &k))
	unpaced.Adopt(Pace{Delay: time.Second}, &Impairment{})
	require.Equal(t, now+weft.Second, unpaced.sent(now, &f, 0))
	require.Equal(t, 64, allowed(t, &unpaced))
}

// allowed is how many packets of 64 a link that is free takes.
func allowed(t *testing.T, k *Pacer) int {
	t.Helper()
	n, ok := k.Allow(max(0, k.Free()), 64, false)
	require.True(t, ok)
	return n
}

func TestABusyLinkTakesNothingButAHelloThatIsDue(t *testing.T) {
	t.Parallel()
	var k Pacer
	k.Adopt(Pace{Rate: 256_000}, &Impairment{}) // a packet a millisecond
	f := weft.Frame{Packets: []weft.Header{{Size: 256}}}
	now := weft.Second
	arrives, lost := k.Send(now, &f, nil)
	require.False(t, lost)
	require.Equal(t, now+weft.Millisecond, arrives)
	for _, c := range []struct {
		after   weft.Time
		owed    bool
		packets int
		ok      bool
	}{
		{0, false, 0, false},
		{0, true, 0, true},
		{weft.Millisecond - 1, false, 0, false},
		{weft.Millisecond - 1, true, 0, true},
		{weft.Millisecond, false, 1, true},
		{weft.Millisecond, true, 1, true}, // it takes a packet along
	} {
		packets, ok := k.Allow(now+c.after, 64, c.owed)
		require.Equal(t, c.packets, packets, "%+v", c)
		require.Equal(t, c.ok, ok, "%+v", c)
	}
	at, _ := k.Send(now+weft.Microsecond, &weft.Frame{}, nil)
	require.Equal(t, arrives, at, "a hello that leaves early does not overtake the packet")
}

func TestALineKeepsOrderWhateverFramesAreDue(t *testing.T) {
	t.Parallel()
	var line Line[int]
	require.True(t, line.Empty())
	for i, due := range []weft.Time{5, 3, 9} {
		f := &Flight[int]{Frame: i}
		require.Equal(t, i == 0, line.Push(f, due))
	}
	for i, due := range []weft.Time{5, 5, 9} {
		require.Equal(t, due, line.Due())
		require.Equal(t, i, line.Pop().Frame)
	}
	require.True(t, line.Empty())
	require.True(t, line.Push(new(Flight[int]), 1), "it is the first again")
}
