package link

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// lane is one direction of a wire: frames arrive in order.
type lane []weft.Time

func (l *lane) send(arrives weft.Time) {
	if n := len(*l); n > 0 {
		arrives = max(arrives, (*l)[n-1])
	}
	*l = append(*l, arrives)
}

// hear tells s of what has arrived by now.
func (l *lane) hear(s *detector, now weft.Time) {
	for len(*l) > 0 && (*l)[0] <= now {
		s.heard(now)
		*l = (*l)[1:]
	}
}

// Two ends, each in its own phase, until one direction is cut: every phase of the hellos against
// every instant of the cut.
func TestASilentCutIsNoticedWithinTheDetectionTimePlusAnInterval(t *testing.T) {
	t.Parallel()
	const interval, delay = 10 * ms, 2 * ms
	for multiplier := 1; multiplier <= 4; multiplier++ {
		c := Liveness{Interval: interval, Multiplier: multiplier, Together: multiplier%2 == 0}
		for phase := weft.Time(0); phase < interval; phase += ms {
			for cut := 20 * ms; cut < 20*ms+2*interval; cut += ms {
				a, b := newDetector(c), newDetector(c)
				var wire lane // from a to b
				var heard, noticed weft.Time
				for now := weft.Time(0); noticed == 0; now += ms {
					if now == phase {
						a.start(now)
					}
					if now == interval {
						b.start(now)
						b.up(now)
					}
					if a.tick(now).hello && now < cut {
						wire.send(now + delay)
						heard = now + delay
					}
					wire.hear(&b, now)
					if b.due() <= now && b.tick(now).silent {
						noticed = now
					}
				}
				require.Equal(t, heard+c.Detection(), noticed, "multiplier %d phase %v cut %v", multiplier, phase, cut)
				require.LessOrEqual(t, noticed, cut+c.Detection()+interval, "multiplier %d phase %v cut %v", multiplier, phase, cut)
			}
		}
	}
}

// The owner's ticks are on time in the sense of the package: at most half an interval after Due. In
// between it ticks and sends as it likes.
func TestNoScheduleOfHellosMakesDetectionLateOrFalse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		upTo := func(limit weft.Time) weft.Time { return weft.Time(rnd.Int64N(int64(limit) + 1)) }
		c := Liveness{Interval: ms + upTo(200*ms)/ms*ms, Multiplier: 2 + rnd.IntN(5), Together: rnd.IntN(2) == 0}
		cut := upTo(20*c.Interval) / ms * ms
		jitter := c.Interval*weft.Time(c.Multiplier-1) - ms
		var wire lane
		heard := weft.Time(0) // from up on, which counts as heard
		for at := upTo(c.Interval - ms); ; at += c.Interval {
			arrives := at + upTo(jitter)/ms*ms
			if arrives >= cut {
				break // lost on the wire, and all after it
			}
			wire.send(arrives)
			heard = max(heard, arrives)
		}
		s := newDetector(c)
		s.start(0)
		s.up(0)
		for now := weft.Time(0); ; {
			if s.tick(now).silent {
				require.GreaterOrEqual(t, now, heard+c.Detection(), "seed %d: false", seed)
				require.GreaterOrEqual(t, now, cut, "seed %d: before the cut", seed)
				require.LessOrEqual(t, now, heard+c.Detection()+c.Interval/2, "seed %d: late", seed)
				require.LessOrEqual(t, now, cut+c.Detection()+c.Interval, "seed %d: late", seed)
				break
			}
			require.Greater(t, s.due(), now, "seed %d", seed)
			next := s.due() + upTo(c.Interval/2)/ms*ms
			for len(wire) > 0 && wire[0] <= next {
				now = wire[0]
				wire.hear(&s, now)
			}
			if rnd.IntN(3) == 0 {
				s.sent(max(now, next-upTo(c.Interval)))
			}
			now = next
		}
	}
}

// This end is stopped at any moment for any time. The neighbour is well; what it sent meanwhile
// lies in our queues and is read within a quarter of an interval after we run again, before or
// after our own timers are.
func TestAHealthyNeighbourIsNotAccusedOfOurOwnAbsence(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		upTo := func(limit weft.Time) weft.Time { return weft.Time(rnd.Int64N(int64(limit) + 1)) }
		c := Liveness{Interval: 40 * ms, Multiplier: 3 + rnd.IntN(3)}
		var wire lane
		for at := upTo(c.Interval); at < 400*c.Interval; at += c.Interval {
			wire.send(at + upTo(c.Interval/4-ms))
		}
		s := newDetector(c)
		s.start(0)
		s.up(0)
		stop := upTo(10 * c.Interval)
		resume := stop + upTo(c.Interval<<rnd.IntN(7))
		read := resume + upTo(c.Interval/4) // the queue
		for now := weft.Time(0); now < resume+10*c.Interval; now += ms {
			if now > stop && now < resume {
				continue
			}
			if now == resume/ms*ms+ms && rnd.IntN(2) == 0 {
				s.sent(now) // data waited for us
			}
			if now <= stop || now >= read {
				wire.hear(&s, now)
			}
			if now >= s.due() {
				require.False(t, s.tick(now).silent, "seed %d: stopped at %v until %v, accused at %v", seed, stop, resume, now)
			}
		}
	}
}
