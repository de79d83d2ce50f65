package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func busy() Detector {
	s := NewDetector(Liveness{Interval: 50 * ms, Multiplier: 3, Damping: damped.Damping})
	s.Start(0)
	s.Up(0)
	return s
}

func TestASessionAllocatesNothing(t *testing.T) {
	s, now := busy(), weft.Time(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += 10 * ms
		s.Heard(now)
		s.Sent(now)
		s.Tick(now)
		s.Lost(now)
		s.Stop()
		s.Start(now)
		s.Up(now)
		s = NewDetector(s.cfg)
		s.Start(now)
	}))
}

// BenchmarkSessionFrame is what every frame costs: one heard, one sent.
func BenchmarkSessionFrame(b *testing.B) {
	s, now := busy(), weft.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		now += weft.Microsecond
		s.Heard(now)
		s.Sent(now)
	}
}

// BenchmarkSessionTick is a tick that finds nothing due.
func BenchmarkSessionTick(b *testing.B) {
	s := busy()
	s.Sent(0)
	b.ReportAllocs()
	for b.Loop() {
		if s.Tick(ms) != (Due{}) {
			b.Fatal("something was due")
		}
	}
}
