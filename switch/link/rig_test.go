package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// onWire is a frame with the time at which it arrives.
type onWire struct {
	weft.Frame
	at weft.Time
}

// side is an end, the wire that leads to it, and what has happened to it.
type pairSide struct {
	End
	in      []onWire
	cut     bool // the wire to it loses everything
	lostAt  []weft.Time
	upAt    []weft.Time
	frames  int // sent
	waiting int // packets that want to go out in VC 0
	keeps   bool
}

// link is two ends in virtual time. It does what a driver does: it sends what is owed, at once.
type pair struct {
	t    testing.TB
	now  weft.Time
	a, b pairSide
}

func newPair(t testing.TB, l Liveness) *pair {
	c := Config{VCs: 1, Buffer: 4, Liveness: l}
	return &pair{t: t, now: 7 * weft.Millisecond, a: pairSide{End: New(c)}, b: pairSide{End: New(c)}}
}

// upLink is a link that has been up and quiet for a second.
func upPair(t testing.TB, l Liveness) *pair {
	t.Helper()
	k := newPair(t, l)
	k.signal(&k.a, true)
	k.run(interval / 3)
	k.signal(&k.b, true)
	k.run(weft.Second)
	k.wantUp()
	k.a.upAt, k.b.upAt = nil, nil
	return k
}

func (l *pair) wantUp() {
	l.t.Helper()
	for _, s := range l.sides() {
		require.Equal(l.t, Up, s.State())
	}
	mine, peer := l.a.Epochs()
	theirs, ours := l.b.Epochs()
	require.Equal(l.t, [2]weft.Epoch{mine, peer}, [2]weft.Epoch{ours, theirs})
}

func (l *pair) sides() []*pairSide { return []*pairSide{&l.a, &l.b} }

func (l *pair) other(s *pairSide) *pairSide {
	if s == &l.a {
		return &l.b
	}
	return &l.a
}

func (l *pair) signal(s *pairSide, up bool) {
	if s.Signal(l.now, up) {
		s.lostAt = append(s.lostAt, l.now)
	}
	l.send(s)
}

// send sends what s owes, and packets as far as there are credits.
func (l *pair) send(s *pairSide) {
	for s.Owes() || s.waiting > 0 && s.Credits(0) > 0 {
		var f onWire
		s.Stamp(l.now, &f.Frame)
		for s.waiting > 0 && s.Credits(0) > 0 {
			s.Spend(0)
			s.waiting--
			f.Packets = append(f.Packets, weft.Header{})
		}
		s.frames++
		f.at = l.now + latency
		if r := l.other(s); !r.cut {
			r.in = append(r.in, f)
		}
	}
}

// run lets time pass, from event to event.
func (l *pair) run(d weft.Time) {
	l.t.Helper()
	until := l.now + d
	for steps := 0; ; steps++ {
		require.Less(l.t, steps, 1_000_000, "the ends go on exchanging frames for ever")
		next := weft.Never
		for _, s := range l.sides() {
			next = min(next, s.Due())
			if len(s.in) > 0 {
				next = min(next, s.in[0].at)
			}
		}
		if next > until {
			l.now = until
			return
		}
		l.now = max(l.now, next)
		for _, s := range l.sides() {
			for len(s.in) > 0 && s.in[0].at <= l.now {
				f := s.in[0]
				s.in = s.in[1:]
				l.take(s, &f.Frame)
			}
			if s.Due() <= l.now {
				if lost, _ := s.Tick(l.now); lost {
					s.lostAt = append(s.lostAt, l.now)
				}
			}
			l.send(s)
		}
	}
}

func (l *pair) take(s *pairSide, f *weft.Frame) {
	v, err := s.Receive(l.now, f)
	require.NoError(l.t, err)
	if v.Lost {
		s.lostAt = append(s.lostAt, l.now)
	}
	if v.CameUp {
		s.upAt = append(s.upAt, l.now)
	}
	if !v.Accept {
		return
	}
	for i := range f.Packets {
		fresh, err := s.Take(0, f.Sent[0]+uint64(i))
		require.NoError(l.t, err)
		require.True(l.t, fresh)
		if !s.keeps {
			s.Free(0)
		}
	}
}
