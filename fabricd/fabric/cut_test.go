package fabric_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	linkend "github.com/weft-fabric/weft/switch/link"
)

func TestWhenCutReturnsBothEndsHaveActedOnItAndItsReportSaysHowLongThatTook(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree)
	for _, l := range betweenSwitches(h.Topology()) {
		before := h.Fabric().Now()
		fault := h.Cut(ends(h, l))
		took := (h.Fabric().Now() - before).Duration()
		a, b := h.Fabric().Switch(0), h.Fabric().Switch(0)
		for _, s := range h.Topology().Switches {
			switch s.ID.Node() {
			case l.A.Node:
				a = h.Fabric().Switch(s.ID)
			case l.B.Node:
				b = h.Fabric().Switch(s.ID)
			}
		}
		assert.Equal(t, linkend.Down, a.Ports[l.A.Port].State)
		assert.Equal(t, linkend.Down, b.Ports[l.B.Port].State)
		assert.Positive(t, fault.SeenAfter)
		assert.LessOrEqual(t, fault.SeenAfter, took.Seconds())
		assert.GreaterOrEqual(t, fault.At, before.Duration().Seconds())
		restore(h, l)
	}
}

func TestCuttingACutLinkAndRepairingASoundOneDoNothing(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree)
	f := h.Fabric()
	_, changed, err := f.Cut(0)
	require.NoError(t, err)
	assert.True(t, changed)
	_, changed, err = f.Cut(0)
	require.NoError(t, err)
	assert.False(t, changed)
	_, changed, err = f.Crash(3)
	require.NoError(t, err)
	assert.True(t, changed)
	_, changed, err = f.Crash(3)
	require.NoError(t, err)
	assert.False(t, changed)
	healed, err := f.Heal(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{h.Topology().Links[0].Name, h.Topology().Switches[3].Name}, healed)
	last := f.Events().Last()
	healed, err = f.Heal(t.Context())
	require.NoError(t, err)
	assert.Empty(t, healed)
	changed, err = f.Restore(t.Context(), 0)
	require.NoError(t, err)
	assert.False(t, changed)
	changed, err = f.Restart(t.Context(), 3)
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Equal(t, last, f.Events().Last(), "nothing happened, so nothing is told")
	assert.Len(t, f.Faults(), 2)
}

// BenchmarkCutSeen reports how long after a signalled cut the last of its ends has acted on it, on
// an idle fabric. The goal is 5 ms at the 99th percentile.
func BenchmarkCutSeen(b *testing.B) {
	for name, options := range map[string][]harness.Option{"memory": nil, "nats": {live.OverNATS()}} {
		b.Run(name, func(b *testing.B) {
			h := harness.New(b, tree, options...)
			links := betweenSwitches(h.Topology())
			var seen []float64
			for i := 0; b.Loop(); i++ {
				l := links[i%len(links)]
				seen = append(seen, 1000*h.Cut(ends(h, l)).SeenAfter)
				restore(h, l)
			}
			slices.Sort(seen)
			b.ReportMetric(seen[len(seen)/2], "p50-ms")
			b.ReportMetric(seen[len(seen)*99/100], "p99-ms")
			b.ReportMetric(seen[len(seen)-1], "max-ms")
		})
	}
}

// BenchmarkSilentCutSeen reports how long after a silent cut, under load, the first of its ends has
// found out by itself: at most the interval of 50 ms times 4.
func BenchmarkSilentCutSeen(b *testing.B) {
	for name, options := range map[string][]harness.Option{"memory": nil, "nats": {live.OverNATS()}} {
		b.Run(name, func(b *testing.B) {
			h := harness.New(b, tree,
				append(options, harness.Traffic("uniform:0.5"), harness.Liveness(50*time.Millisecond, 3))...)
			links := betweenSwitches(h.Topology())
			var seen []float64
			for i := 0; b.Loop(); i++ {
				l := links[i*37%len(links)]
				h.CutSilently(ends(h, l))
				h.Eventually(func() error {
					faults := h.Fabric().Faults()
					r := faults[len(faults)-1]
					if len(r.Detected) == 0 {
						return errors.New("nobody has found out")
					}
					if len(seen) == i {
						seen = append(seen, 1000*r.Detected[0].AfterSeconds)
					}
					return nil
				})
				restore(h, l)
			}
			slices.Sort(seen)
			b.ReportMetric(seen[len(seen)/2], "p50-ms")
			b.ReportMetric(seen[len(seen)*99/100], "p99-ms")
			b.ReportMetric(seen[len(seen)-1], "max-ms")
		})
	}
}
