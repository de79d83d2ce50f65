package linkend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/linkmon/liveness"
	"github.com/weft-fabric/weft/switch/credit"
)

// onWire is a frame with the time at which it arrives.
type onWire struct {
	weft.Frame
	at weft.Time
}

// side is an end, the wire that leads to it, and what has happened to it.
type side struct {
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
type link struct {
	t    testing.TB
	now  weft.Time
	a, b side
}

func newLink(t testing.TB, l liveness.Config) *link {
	c := credit.Config{VCs: 1, Buffer: 4}
	return &link{t: t, now: 7 * weft.Millisecond, a: side{End: New(c, l)}, b: side{End: New(c, l)}}
}

// upLink is a link that has been up and quiet for a second.
func upLink(t testing.TB, l liveness.Config) *link {
	t.Helper()
	k := newLink(t, l)
	k.signal(&k.a, true)
	k.run(interval / 3)
	k.signal(&k.b, true)
	k.run(weft.Second)
	k.wantUp()
	k.a.upAt, k.b.upAt = nil, nil
	return k
}

func (l *link) wantUp() {
	l.t.Helper()
	for _, s := range l.sides() {
		require.Equal(l.t, credit.Up, s.State())
	}
	mine, peer := l.a.Epochs()
	theirs, ours := l.b.Epochs()
	require.Equal(l.t, [2]weft.Epoch{mine, peer}, [2]weft.Epoch{ours, theirs})
}

func (l *link) sides() []*side { return []*side{&l.a, &l.b} }

func (l *link) other(s *side) *side {
	if s == &l.a {
		return &l.b
	}
	return &l.a
}

func (l *link) signal(s *side, up bool) {
	if s.Signal(l.now, up) {
		s.lostAt = append(s.lostAt, l.now)
	}
	l.send(s)
}

// send sends what s owes, and packets as far as there are credits.
func (l *link) send(s *side) {
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
func (l *link) run(d weft.Time) {
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
			if s.Due() <= l.now && s.Tick(l.now) {
				s.lostAt = append(s.lostAt, l.now)
			}
			l.send(s)
		}
	}
}

func (l *link) take(s *side, f *weft.Frame) {
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
