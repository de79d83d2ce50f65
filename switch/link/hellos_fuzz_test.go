package link

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-fabric/weft"
)

// FuzzCalls calls a detector in any order. The first byte is the configuration; each other one a
// call, and the time that passes before it.
func FuzzCalls(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{3, 0x00, 0x02, 0x55, 0xf6, 0xf6, 0x03, 0x02, 0xf6})
	for seed := range uint64(64) { // a spread of calls, so that plain `go test` covers all of them
		rnd := rand.New(rand.NewPCG(seed, 3))
		steps := []byte{byte(seed)}
		for range 400 {
			steps = append(steps, byte(rnd.Uint32()))
		}
		f.Add(steps)
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) == 0 || len(steps) > 4096 {
			return
		}
		c := Liveness{Interval: 10 * ms * weft.Time(steps[0]&3), Multiplier: 1 + int(steps[0]>>2&3)}
		if steps[0]&16 != 0 {
			c.Damping = Damping{HalfLife: 100 * ms, Suppress: 2, Reuse: 0.5, Max: 40 * ms << (steps[0] >> 5)}
		}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		m := detectorModel{t: t, c: c, s: newDetector(c)}
		for _, step := range steps[1:] {
			m.step(step)
		}
	})
}

// detectorModel knows of a detector what its owner knows.
type detectorModel struct {
	t           *testing.T
	c           Liveness
	s           detector
	now         weft.Time
	up, started bool
	heard       weft.Time // or up
	suppressed  weft.Time // began
}

func (m *detectorModel) step(step byte) {
	m.now += [...]weft.Time{0, 0, ms, 4 * ms, 10 * ms, 16 * ms, 30 * ms, 200 * ms}[step>>3&7]
	s, was, penalty := &m.s, m.s, m.penalty()
	switch step & 7 {
	case 0:
		s.start(m.now)
		m.started = true
	case 1:
		if step>>6 == 0 {
			s.stop()
			m.started, m.up = false, false
		}
	case 2:
		if m.started {
			s.up(m.now)
			m.up, m.heard = true, m.now
		}
	case 3:
		s.lost(m.now)
		m.up = false
		if s.suppressed() && !was.suppressed() {
			m.suppressed = m.now
		}
	case 4:
		s.heard(m.now)
		m.heard = m.now
		m.notEarlier(was)
	case 5:
		s.sent(m.now)
		m.notEarlier(was)
	default:
		m.tick()
	}
	m.check(was, penalty)
}

// A driver that sleeps until the Due it saw last relies on it.
func (m *detectorModel) notEarlier(was detector) {
	if m.s.due() < was.due() {
		m.t.Fatalf("a frame at %v makes the next tick due at %v instead of %v", m.now, m.s.due(), was.due())
	}
}

func (m *detectorModel) tick() {
	dueAt := m.s.due()
	d := m.s.tick(m.now)
	switch {
	case d != (due{}) && m.now < dueAt:
		m.t.Fatalf("%+v at %v, before it was due at %v", d, m.now, dueAt)
	case d.hello && (!m.started || m.c.Interval == 0):
		m.t.Fatalf("hello at %v without a start or an interval", m.now)
	case d.silent && (!m.up || m.c.Interval == 0):
		m.t.Fatalf("silent at %v without being up", m.now)
	case d.silent && m.now-m.heard < m.c.Detection():
		m.t.Fatalf("silent at %v, heard at %v", m.now, m.heard)
	case d.released && m.s.suppressed():
		m.t.Fatalf("released at %v and still suppressed", m.now)
	case m.s.due() <= m.now:
		m.t.Fatalf("at %v the next tick is due at %v", m.now, m.s.due())
	case m.s.suppressed() && m.now >= m.suppressed+m.c.Damping.Max:
		m.t.Fatalf("suppressed from %v until %v", m.suppressed, m.now)
	case m.up && m.c.Interval > 0 && !d.silent && m.s.due() > m.now+m.c.Interval:
		m.t.Fatalf("up at %v, and no tick due before %v", m.now, m.s.due())
	}
	m.up = m.up && !d.silent
}

// penalty of the link now, in losses.
func (m *detectorModel) penalty() float64 {
	if m.s.damper == nil {
		return 0
	}
	return m.s.damper.penaltyOf(m.now)
}

// check compares with the detector before the step, and with the penalty that was left of it now.
func (m *detectorModel) check(was detector, penalty float64) {
	d := m.c.Damping
	most := d.Suppress + 1 // the loss that suppresses
	if d != (Damping{}) {
		most = max(most, d.Reuse*math.Exp2(float64(d.Max)/float64(d.HalfLife))) // those reported while suppressed
	}
	p := m.penalty()
	if math.IsNaN(p) || p < 0 || p > most {
		m.t.Fatalf("penalty %v at %v", p, m.now)
	}
	if m.s.suppressed() && !was.suppressed() && penalty+1 <= d.Suppress {
		m.t.Fatalf("suppressed at %v with a penalty of %v before", m.now, penalty)
	}
	if !m.started && !m.s.suppressed() && m.s.due() != weft.Never {
		m.t.Fatalf("stopped at %v, yet a tick is due at %v", m.now, m.s.due())
	}
}
