package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

var busyLiveness = Liveness{Interval: 50 * ms, Multiplier: 3, Damping: damped.Damping}

func busy() detector {
	s := newDetector(busyLiveness)
	s.start(0)
	s.up(0)
	return s
}

func TestASessionAllocatesNothing(t *testing.T) {
	s, now := busy(), weft.Time(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += 10 * ms
		s.heard(now)
		s.sent(now)
		s.tick(now)
		s.lost(now)
		s.stop()
		s.start(now)
		s.up(now)
	}))
}

// BenchmarkSessionFrame is what every frame costs: one heard, one sent.
func BenchmarkSessionFrame(b *testing.B) {
	s, now := busy(), weft.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		now += weft.Microsecond
		s.heard(now)
		s.sent(now)
	}
}

// BenchmarkSessionTick is a tick that finds nothing due.
func BenchmarkSessionTick(b *testing.B) {
	s := busy()
	s.sent(0)
	b.ReportAllocs()
	for b.Loop() {
		if s.tick(ms) != (due{}) {
			b.Fatal("something was due")
		}
	}
}
