package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

var damped = Liveness{Damping: Damping{HalfLife: weft.Second, Suppress: 3, Reuse: 1, Max: 4 * weft.Second}}

func TestThePenaltyHalvesEveryHalfLife(t *testing.T) {
	t.Parallel()
	s := newDetector(damped)
	for _, c := range []struct {
		steps   string
		at      weft.Time
		penalty float64
	}{
		{"", 0, 0},
		{"1000:lost", 1000, 1},
		{"", 1500, 0.7071},
		{"", 2000, 0.5},
		{"", 4000, 0.125},
		{"4000:lost", 4000, 1.125},
		{"4000:lost", 4000, 2.125},
		{"", 4001, 2.1235},
		{"", 5000, 1.0625},
		{"", 1000000, 0},
	} {
		script(t, &s, c.steps)
		require.InDelta(t, c.penalty, s.damper.penaltyOf(c.at*ms), 0.00005, "at %d ms", c.at)
	}
	require.False(t, s.suppressed())
}

func TestALossAfterTheEndOfSuppressionLeavesThePenaltyAtReuse(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"4000", "4500", "100000000"} {
		s := newDetector(damped)
		require.Equal(t, "due 4000", script(t, &s, "0:lost 0:lost 0:lost 0:lost "+late+":lost"))
		require.InDelta(t, 1, s.damper.penaltyOf(s.damper.penaltyAt), 1e-9)
	}
}

func TestSuppressionEndsAtAWholeNanosecond(t *testing.T) {
	t.Parallel()
	c := damped
	c.Damping.Suppress = 6
	s := newDetector(c)
	script(t, &s, "0:lost 0:lost 0:lost 0:lost 0:lost 0:lost 0:lost")
	require.Equal(t, 2807354922*weft.Nanosecond, s.due()) // log2(7) = 2.807354922058
}

// Half-life 1 s, suppressed above 3, reused at 1, for 4 s at most.
func TestAFlappingLinkIsHeldDownToTheMillisecond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim, steps, want string
		suppressed         bool
	}{
		{"a loss costs nothing", "0:lost", "due never", false},
		{"a penalty of exactly 3 neither", "0:lost 0:lost 0:lost", "due never", false},
		{"four at once: from 4 to 1 takes two half-lives", "0:lost 0:lost 0:lost 0:lost", "due 2000", true},
		{"not released a millisecond earlier", "0:lost 0:lost 0:lost 0:lost 1999:tick", "due 2000", true},
		{"released once", "0:lost 0:lost 0:lost 0:lost 2000:tick 2001:tick", "2000:released due never", false},
		{"released by a late tick", "0:lost 0:lost 0:lost 0:lost 9000:tick", "9000:released due never", false},
		{"six, one every 500 ms, make 2.987", "0:lost 500:lost 1000:lost 1500:lost 2000:lost 2500:lost", "due never", false},
		{
			"the seventh makes 3.112", "0:lost 500:lost 1000:lost 1500:lost 2000:lost 2500:lost 3000:lost", "due 4638.045",
			true,
		},
		{
			"one a second never suffices", "0:lost 1000:lost 2000:lost 3000:lost 4000:lost 5000:lost 6000:lost", "due never",
			false,
		},
		{
			"after release one loss makes 2, two make 3", "0:lost 0:lost 0:lost 0:lost 2000:tick 2000:lost 2000:lost",
			"2000:released due never", false,
		},
		{
			"three make 4", "0:lost 0:lost 0:lost 0:lost 2000:tick 2000:lost 2000:lost 2000:lost", "2000:released due 4000",
			true,
		},
		{
			"a loss reported while suppressed prolongs it: from 2+1 at 1 s", "0:lost 0:lost 0:lost 0:lost 1000:lost",
			"due 2584.963", true,
		},
		{
			"but not beyond the 4 s", "0:lost 0:lost 0:lost 0:lost 1000:lost 2000:lost 3000:lost 3500:lost 3900:lost 3999:lost",
			"due 4000", true,
		},
		{
			"a loss after the end, before a tick, neither",
			"0:lost 0:lost 0:lost 0:lost 1000:lost 2500:lost 3000:lost 3900:lost 4500:lost", "due 4000", true,
		},
		{"stop and start change nothing", "0:lost 0:lost 0:lost 0:lost 100:stop 200:start 300:stop", "due 2000", true},
	} {
		s := newDetector(damped)
		require.Equal(t, c.want, script(t, &s, c.steps), c.claim)
		require.Equal(t, c.suppressed, s.suppressed(), c.claim)
	}
}

func TestLossesWithoutEndHoldALinkDownForMaxAndLeaveItAtReuse(t *testing.T) {
	t.Parallel()
	s := newDetector(damped)
	var began weft.Time
	for now := range 30 * weft.Time(1000) {
		now *= ms
		was := s.suppressed()
		s.lost(now)
		if s.suppressed() && !was {
			began = now
		}
		if s.tick(now).released {
			require.Equal(t, 4*weft.Second, now-began)
			require.InDelta(t, 1, s.damper.penaltyOf(now), 1e-9)
		}
		if s.suppressed() {
			require.Less(t, now-began, 4*weft.Second)
		}
	}
	require.GreaterOrEqual(t, began, 28*weft.Second, "suppressed again and again")
}

// Where a router's ceiling of Reuse * 2^(Max/HalfLife), here 1.07, would turn damping off.
func TestAShortMaxShortensSuppressionAndDoesNotTurnItOff(t *testing.T) {
	t.Parallel()
	c := damped
	c.Damping.Max = 100 * ms
	s := newDetector(c)
	require.Equal(t, "due 100", script(t, &s, "0:lost 0:lost 0:lost 0:lost"))
	require.InDelta(t, 1.0718, s.damper.penaltyOf(0), 0.00005)
}

func TestALossWithoutDampingIsForgotten(t *testing.T) {
	t.Parallel()
	s := newDetector(Liveness{Interval: 50 * ms, Multiplier: 3})
	require.Equal(t, "due never", script(t, &s, "0:lost 0:lost 0:lost 0:lost 0:lost"))
	require.False(t, s.suppressed())
}

func TestReleaseIsDueAmongHellosAndDeadlines(t *testing.T) {
	t.Parallel()
	c := damped
	c.Interval, c.Multiplier = 1500*ms, 2
	s := newDetector(c)
	require.Equal(t, "0:hello 1500:hello 2000:released due 3000",
		script(t, &s, "0:start 0:lost 0:lost 0:lost 0:lost 2999:run"))
}
