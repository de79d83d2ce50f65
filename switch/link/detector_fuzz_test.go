package link

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-fabric/weft"
)

// FuzzCalls calls a session in any order. The first byte is the configuration; each other one a call, and the time that
// passes before it.
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
		m := detectorModel{t: t, c: c, s: NewDetector(c)}
		for _, step := range steps[1:] {
			m.step(step)
		}
	})
}

// model knows of a session what its owner knows.
type detectorModel struct {
	t           *testing.T
	c           Liveness
	s           Detector
	now         weft.Time
	up, started bool
	heard       weft.Time // or up
	suppressed  weft.Time // began
}

func (m *detectorModel) step(step byte) {
	m.now += [...]weft.Time{0, 0, ms, 4 * ms, 10 * ms, 16 * ms, 30 * ms, 200 * ms}[step>>3&7]
	s, was := &m.s, m.s
	switch step & 7 {
	case 0:
		s.Start(m.now)
		m.started = true
	case 1:
		if step>>6 == 0 {
			s.Stop()
			m.started, m.up = false, false
		}
	case 2:
		if m.started {
			s.Up(m.now)
			m.up, m.heard = true, m.now
		}
	case 3:
		s.Lost(m.now)
		m.up = false
		if s.Suppressed() && !was.Suppressed() {
			m.suppressed = m.now
		}
	case 4:
		s.Heard(m.now)
		m.heard = m.now
		m.notEarlier(was)
	case 5:
		s.Sent(m.now)
		m.notEarlier(was)
	default:
		m.tick()
	}
	m.check(was)
}

// A driver that sleeps until the Due it saw last relies on it.
func (m *detectorModel) notEarlier(was Detector) {
	if m.s.Due() < was.Due() {
		m.t.Fatalf("a frame at %v makes the next tick due at %v instead of %v", m.now, m.s.Due(), was.Due())
	}
}

func (m *detectorModel) tick() {
	dueAt := m.s.Due()
	due := m.s.Tick(m.now)
	switch {
	case due != Due{} && m.now < dueAt:
		m.t.Fatalf("%+v at %v, before it was due at %v", due, m.now, dueAt)
	case due.Hello && (!m.started || m.c.Interval == 0):
		m.t.Fatalf("hello at %v without a start or an interval", m.now)
	case due.Silent && (!m.up || m.c.Interval == 0):
		m.t.Fatalf("silent at %v without being up", m.now)
	case due.Silent && m.now-m.heard < m.c.Detection():
		m.t.Fatalf("silent at %v, heard at %v", m.now, m.heard)
	case due.Released && m.s.Suppressed():
		m.t.Fatalf("released at %v and still suppressed", m.now)
	case m.s.Due() <= m.now:
		m.t.Fatalf("at %v the next tick is due at %v", m.now, m.s.Due())
	case m.s.Suppressed() && m.now >= m.suppressed+m.c.Damping.Max:
		m.t.Fatalf("suppressed from %v until %v", m.suppressed, m.now)
	case m.up && m.c.Interval > 0 && !due.Silent && m.s.Due() > m.now+m.c.Interval:
		m.t.Fatalf("up at %v, and no tick due before %v", m.now, m.s.Due())
	}
	m.up = m.up && !due.Silent
}

func (m *detectorModel) check(was Detector) {
	d := m.c.Damping
	most := d.Suppress + 1 // the loss that suppresses
	if d != (Damping{}) {
		most = max(most, d.Reuse*math.Exp2(float64(d.Max)/float64(d.HalfLife))) // those reported while suppressed
	}
	p := m.s.Penalty(m.now)
	if math.IsNaN(p) || p < 0 || p > most {
		m.t.Fatalf("penalty %v at %v", p, m.now)
	}
	if m.s.Suppressed() && !was.Suppressed() && was.Penalty(m.now)+1 <= d.Suppress {
		m.t.Fatalf("suppressed at %v with a penalty of %v before", m.now, was.Penalty(m.now))
	}
	if !m.started && !m.s.Suppressed() && m.s.Due() != weft.Never {
		m.t.Fatalf("stopped at %v, yet a tick is due at %v", m.now, m.s.Due())
	}
}
