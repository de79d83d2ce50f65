package leader

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is one that needs so much time per time of the fabric for what it carries, and wakes
// goroutines so late.
type machine struct{ needs, wakes float64 }

// late is what is measured while the clock goes with a factor: what goes wrong with timers is in
// proportion to it, and what the machine cannot do waits.
func (m machine) late(factor float64) float64 {
	late := m.wakes * factor
	if busy := m.needs * factor; busy > 0.95 {
		late += 10
	} else if busy > 0.5 {
		late += 0.05 / (1 - busy)
	}
	return late
}

// measured has a tempo measure a machine so often, and returns how often the clock went otherwise.
func (m machine) measured(t *Tempo, times int) (steps int) {
	for range times {
		if to := t.next(m.late(t.Factor)); to != t.Factor {
			t.set(to)
			steps++
		}
	}
	return steps
}

// The clock goes as fast as the machine can, in time, and does not swing.
func TestTheClockGoesAsFastAsTheMachineCan(t *testing.T) {
	t.Parallel()
	idle := machine{needs: 0.3, wakes: 0.2}
	tempo := tempoOf(Tempo{})
	require.Zero(t, idle.measured(&tempo, 1000))
	for _, m := range []machine{{2, 0.2}, {10, 0.2}, {100, 3}, {0.5, 4}, {0.94, 0.3}} {
		best := 0.
		for f := 0.001; f <= 1; f *= 1.01 {
			if m.late(f) <= tooLate {
				best = f
			}
		}
		m.measured(&tempo, 40)
		inTime := false
		for range 10 { // it may be at a step that is one too many
			m.measured(&tempo, 1)
			inTime = inTime || m.late(tempo.Factor) <= tooLate
		}
		require.True(t, inTime, "in ten seconds")
		m.measured(&tempo, 1000)
		steps := m.measured(&tempo, 1000)
		require.Less(t, steps, 60, "of %v", m)
		late, lowest := 0, math.Inf(1)
		for range 1000 {
			m.measured(&tempo, 1)
			lowest = min(lowest, tempo.Factor)
			if tempo.Late > tooLate {
				late++
			}
		}
		require.Less(t, late, 60, "of %v", m)
		require.Greater(t, lowest, best/6, "of %v", m)
		idle.measured(&tempo, 1000)
		require.EqualValues(t, 1, tempo.Factor, "it is idle again")
	}
}

// owing is a machine that catches up with what it owes: what the fabric was to carry while the
// machine could not. It needs so much time per time of the fabric, and what it owes is in the time of
// the fabric, in milliseconds, which is what a packet takes on a link.
type owing struct{ needs, owes float64 }

// measured has a tempo measure so often, and returns the lowest factor.
func (m *owing) measured(t *Tempo, times int) (lowest float64) {
	const each = 200 // ms of the machine
	lowest = t.Factor
	for range times {
		m.owes = max(0, m.owes+each*(t.Factor-0.95/m.needs))
		if to := t.next(0.05 + m.owes); to != t.Factor {
			t.set(to)
		}
		lowest = min(lowest, t.Factor)
	}
	return lowest
}

// What a machine owes from before a step is late for as long as it catches up: that says nothing
// about the factor.
func TestTheClockIsNotSlowedForWhatIsBeingCaughtUpWith(t *testing.T) {
	t.Parallel()
	for _, needs := range []float64{1.2, 2, 5, 10, 50} {
		tempo := tempoOf(Tempo{})
		m := owing{needs: needs}
		lowest := m.measured(&tempo, 4000)
		require.Greater(t, lowest, 0.95/needs/8, "%v times too much", needs)
		require.Zero(t, m.owes, "%v times too much", needs)
		require.Greater(t, tempo.Factor, 0.95/needs/2, "%v times too much", needs)
	}
}

func TestAFixedClockGoesAsItWasAskedTo(t *testing.T) {
	t.Parallel()
	tempo := tempoOf(Tempo{Factor: 1, Most: 1, Fixed: true})
	require.Zero(t, machine{needs: 10}.measured(&tempo, 100))
	require.True(t, tempo.Behind())
	require.Less(t, tempo.Bearable(), 0.5)
}

// A machine that stalls now and then is not too slow.
func TestAHiccupIsNoReasonToGoSlower(t *testing.T) {
	t.Parallel()
	tempo := tempoOf(Tempo{})
	for i := range 100 {
		late := 0.1
		if i%10 == 0 {
			late = 50
		}
		require.EqualValues(t, 1, tempo.next(late))
	}
	for range 2 {
		require.EqualValues(t, 1, tempo.next(50))
	}
	tempo.next(50)
	require.Less(t, tempo.next(50), 0.5)
}
