package link

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

const (
	interval = 50 * weft.Millisecond
	latency  = 200 * weft.Microsecond
)

var (
	listening   = Liveness{Interval: interval, Multiplier: 3}
	dampedFlaps = Liveness{Interval: interval, Multiplier: 3, Damping: Damping{
		HalfLife: weft.Second, Suppress: 1.5, Reuse: 0.5, Max: 10 * weft.Second,
	}}
)

func TestASilentCutIsDetectedInTime(t *testing.T) {
	for _, c := range []Liveness{
		listening,
		{Interval: interval, Multiplier: 1},
		{Interval: weft.Millisecond, Multiplier: 10},
	} {
		for _, traffic := range []bool{false, true} {
			for phase := weft.Time(0); phase < 16; phase += weft.Time(testenv.N(1, 4)) {
				t.Run(fmt.Sprintf("x%d/traffic=%t/phase=%d", c.Multiplier, traffic, phase), func(t *testing.T) {
					l := upPair(t, c)
					l.run(phase * c.Interval / 16)
					if traffic {
						l.a.waiting, l.b.waiting = 1000, 1000
						l.run(latency * 5)
					}
					l.a.cut, l.b.cut = true, true
					cut := l.now
					l.run(20*c.Interval + c.Detection())
					for _, s := range l.sides() {
						require.Len(t, s.lostAt, 1)
						took := s.lostAt[0] - cut
						require.LessOrEqual(t, took, c.Detection()+c.Interval)
						require.Greater(t, took, c.Detection()-c.Interval-latency, "and not before")
						require.Equal(t, Init, s.State())
						s.in = nil // what was on its way when it was cut
					}
					l.a.cut, l.b.cut = false, false
					l.run(c.Interval + 10*latency)
					l.wantUp()
				})
			}
		}
	}
}

func TestACutOfOneDirectionIsDetectedThereAndTheOtherEndFollows(t *testing.T) {
	for phase := range weft.Time(16) {
		l := upPair(t, listening)
		l.run(phase * interval / 16)
		l.b.cut = true // B hears nothing
		cut := l.now
		l.run(10 * interval)
		require.Len(t, l.b.lostAt, 1)
		require.LessOrEqual(t, l.b.lostAt[0]-cut, listening.Detection()+interval)
		require.Equal(t, []weft.Time{l.b.lostAt[0] + latency}, l.a.lostAt, "by the hello of the new epoch, at once")
		require.Equal(t, Init, l.a.State())
		require.Equal(t, Init, l.b.State())

		l.b.in, l.b.cut = nil, false
		l.run(interval + 10*latency)
		l.wantUp()
	}
}

// Whatever frame is lost without anybody noticing, the next hello of either end makes up for it:
// within an interval of hellos the link is up at both ends, or its credits are home.
func TestALostFrameIsMadeUpForByTheNextHello(t *testing.T) {
	for lost := range 8 {
		l := newPair(t, listening)
		l.signal(&l.a, true)
		l.signal(&l.b, true)
		drop := lost
		for range 40 { // the handshake, frame by frame
			for _, s := range l.sides() {
				if len(s.in) > 0 {
					if drop--; drop < 0 {
						s.in = s.in[1:]
						drop = 1 << 30
					}
				}
			}
			l.run(latency)
		}
		l.run(interval + 5*latency)
		l.wantUp()
	}
}

func TestALostLastFrameOfTheHandshakeIsMadeUpFor(t *testing.T) {
	l := newPair(t, listening)
	l.signal(&l.a, true)
	l.signal(&l.b, true)
	l.b.in = nil // A's hello is lost; its answer to B's brings B up
	for l.b.State() != Up {
		l.run(latency)
	}
	require.Equal(t, Init, l.a.State())
	require.NotEmpty(t, l.a.in)
	l.a.in = nil // B's first frame to A's epoch: the last of the handshake
	l.run(5 * latency)
	require.Equal(t, Init, l.a.State())
	l.run(interval)
	l.wantUp()
	require.Empty(t, l.b.lostAt)
}

func TestALostLastFrameOfCreditsIsMadeUpFor(t *testing.T) {
	l := upPair(t, listening)
	l.b.keeps = true
	l.a.waiting = 4
	l.send(&l.a)
	l.run(2 * latency)
	require.Zero(t, l.a.Credits(0))
	for range 4 {
		l.b.Free(0)
	}
	l.send(&l.b)
	require.NotEmpty(t, l.a.in)
	l.a.in = nil
	l.run(2 * latency)
	require.Zero(t, l.a.Credits(0))
	l.run(interval)
	require.Equal(t, 4, l.a.Credits(0))
}

func TestHellosGoOutWhileNoCreditIsLeftAndPacketsAreQueued(t *testing.T) {
	l := upPair(t, listening)
	l.a.keeps, l.b.keeps = true, true
	l.a.waiting, l.b.waiting = 100, 100
	l.send(&l.a)
	l.send(&l.b)
	l.run(10 * latency)
	for _, s := range l.sides() {
		require.Zero(t, s.Credits(0))
		require.Equal(t, 96, s.waiting)
		s.frames = 0
	}
	l.run(100 * interval)
	for _, s := range l.sides() {
		require.Empty(t, s.lostAt)
		require.InDelta(t, 100, s.frames, 2, "one each interval, no more")
	}
}

// While packets flow, no frame is sent for liveness.
func TestABusyLinkSendsNoHellos(t *testing.T) {
	l := upPair(t, listening)
	l.a.frames, l.b.frames = 0, 0
	for range 100 {
		l.a.waiting, l.b.waiting = l.a.waiting+1, l.b.waiting+1
		l.send(&l.a)
		l.send(&l.b)
		l.run(interval / 2)
	}
	require.Equal(t, 100, l.a.frames)
	require.Equal(t, 100, l.b.frames)
	require.Empty(t, l.a.lostAt)
}

func TestAQuietLinkIsNeverTakenForDead(t *testing.T) {
	for _, multiplier := range []int{1, 2, 3, 255} {
		l := upPair(t, Liveness{Interval: interval, Multiplier: multiplier})
		l.run(weft.Time(testenv.N(600, 100)) * weft.Second)
		l.wantUp()
		require.Empty(t, l.a.lostAt)
		require.Empty(t, l.b.lostAt)
	}
}

func TestAFrameOfAnotherEpochDoesNotCountAsHeard(t *testing.T) {
	l := upPair(t, listening)
	mine, peer := l.b.Epochs()
	began := l.now
	l.b.cut = true
	l.b.in = nil
	for range 100 {
		l.take(&l.b, &weft.Frame{From: peer, To: mine + 9, VCs: 1})
		l.run(interval / 10)
	}
	require.NotEmpty(t, l.b.lostAt)
	require.LessOrEqual(t, l.b.lostAt[0]-began, listening.Detection()+interval)
}

func TestDampingHoldsAFlappingLinkDownAndLetsItGo(t *testing.T) {
	for claim, flap := range map[string]func(l *pair){
		"signalled": func(l *pair) {
			l.signal(&l.a, false)
			l.signal(&l.b, false)
			l.a.in, l.b.in = nil, nil
			l.run(interval)
			l.signal(&l.a, true)
			l.signal(&l.b, true)
		},
		"silent": func(l *pair) {
			l.a.cut, l.b.cut = true, true
			l.run(listening.Detection() + interval)
			l.a.cut, l.b.cut, l.a.in, l.b.in = false, false, nil, nil
		},
		"one way": func(l *pair) {
			l.a.cut = true
			l.run(listening.Detection() + interval)
			l.a.cut, l.a.in = false, nil
		},
	} {
		t.Run(claim, func(t *testing.T) {
			l := upPair(t, dampedFlaps)
			flap(l)
			l.run(interval + 10*latency)
			l.wantUp()
			flap(l)
			for _, s := range l.sides() {
				require.True(t, s.Suppressed())
			}
			l.a.upAt, l.b.upAt = nil, nil
			lost := max(l.a.lostAt[1], l.b.lostAt[1])
			a, b := l.a.frames, l.b.frames
			l.run(weft.Second)
			require.Empty(t, l.a.upAt)
			require.Empty(t, l.b.upAt)
			require.LessOrEqual(t, l.a.frames-a, 2*20+2, "hellos and their answers at most, 20 a second")
			require.LessOrEqual(t, l.b.frames-b, 2*20+2)
			l.run(dampedFlaps.Damping.Max)
			l.wantUp()
			require.Len(t, l.a.upAt, 1)
			require.Greater(t, l.a.upAt[0], lost+dampedFlaps.Damping.HalfLife, "a penalty above 1 falls to a half")
			require.Less(t, l.a.upAt[0], lost+3*dampedFlaps.Damping.HalfLife)
			require.False(t, l.a.Suppressed())
		})
	}
}

func TestWithoutLivenessNothingIsEverDue(t *testing.T) {
	l := upPair(t, Liveness{})
	frames := l.a.frames
	l.a.cut, l.b.cut = true, true
	l.run(3600 * weft.Second)
	require.Equal(t, frames, l.a.frames)
	require.Equal(t, Up, l.a.State(), "a silent cut is never noticed")
	require.Equal(t, weft.Never, l.a.Due())
}

// Signals, silent cuts of either direction and lost frames in any order: once all is well, the link
// is up within an interval and the longest suppression, and it stays so.
func TestTheEndsMeetAgainWhateverHappened(t *testing.T) {
	for seed := range uint64(testenv.N(300, 80)) {
		c := []Liveness{listening, dampedFlaps}[seed%2]
		draw := rand.New(rand.NewPCG(seed, 1))
		l := newPair(t, c)
		for range 60 {
			s := l.sides()[draw.IntN(2)]
			switch draw.IntN(6) {
			case 0:
				l.signal(s, draw.IntN(3) > 0)
			case 1:
				s.cut = !s.cut
			case 2:
				if len(s.in) > 0 {
					s.in = s.in[1:]
				}
			case 3:
				s.waiting += draw.IntN(10)
				l.send(s)
			default:
				l.run(weft.Time(draw.Int64N(int64(2 * interval))))
			}
		}
		for _, s := range l.sides() {
			s.cut = false
			l.signal(s, true)
		}
		l.run(listening.Detection() + 2*interval + 10*latency)
		if seed%2 == 1 {
			l.run(3 * dampedFlaps.Damping.Max)
		}
		l.wantUp()
		for _, s := range l.sides() {
			s.lostAt = nil
		}
		l.run(weft.Second)
		require.Empty(t, l.a.lostAt, "seed %d", seed)
		require.Empty(t, l.b.lostAt, "seed %d", seed)
		require.Zero(t, l.a.waiting+l.b.waiting, "seed %d: all packets have gone", seed)
	}
}
