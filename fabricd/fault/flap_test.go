package fault

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/weft-fabric/weft/harness/testenv"
)

// edges are the changes of a flap.
func edges(f Flap, draw func() uint64) iter.Seq[Edge] {
	next := f.Changes(draw)
	return func(yield func(Edge) bool) {
		for e, ok := next(); ok && yield(e); e, ok = next() {
		}
	}
}

func noDraw() uint64 { panic("drawn without need") }

func TestFlapWithoutJitterIsPeriodic(t *testing.T) {
	f := Flap{Period: Duration(time.Second), Duty: new(Percent(30)), Count: 2}
	assert.Equal(t, []Edge{
		{0, true}, {300 * time.Millisecond, false}, {time.Second, true}, {1300 * time.Millisecond, false},
	}, slices.Collect(edges(f, noDraw)))
}

func TestFlapIsDownHalfOfThePeriodUnlessGiven(t *testing.T) {
	f := Flap{Period: Duration(time.Second), Count: 1}
	assert.Equal(t, []Edge{{0, true}, {500 * time.Millisecond, false}}, slices.Collect(edges(f, noDraw)))
}

func TestJitterReachesFromNoneToAllOfIt(t *testing.T) {
	f := Flap{Period: Duration(time.Second), Jitter: Duration(100 * time.Millisecond), Count: 1}
	most := func() uint64 { return math.MaxUint64 }
	assert.Equal(t, []Edge{{100 * time.Millisecond, true}, {600 * time.Millisecond, false}},
		slices.Collect(edges(f, most)))
	least := func() uint64 { return 0 }
	assert.Equal(t, []Edge{{0, true}, {500 * time.Millisecond, false}}, slices.Collect(edges(f, least)))
}

// Every flap that is valid has edges that strictly increase and alternate, each no later than its
// jitter after its place; one with a count ends, up, after that many periods.
func TestEdgesOfAnyValidFlapAlternateAndIncrease(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	valid := 0
	many := testenv.Levels(20_000, 5000, 1000)
	for range many {
		f := Flap{
			Period: Duration(MinPeriod + time.Duration(r.Int64N(int64(time.Second)))),
			Duty:   new(Percent(r.Float64() * 100)),
			Count:  r.IntN(4),
		}
		f.Jitter = Duration(r.Int64N(int64(f.Period)))
		if r.IntN(4) == 0 { // the most that is allowed
			f.Jitter = Duration(max(0, min(f.down(), time.Duration(f.Period)-f.down())-1))
		}
		if f.Validate() != nil {
			assert.Empty(t, slices.Collect(edges(f, r.Uint64)))
			continue
		}
		valid++
		last, n := time.Duration(-1), 0
		for e := range edges(f, r.Uint64) {
			require.Greater(t, e.At, last, "%+v: edge %d", f, n)
			require.Equal(t, n%2 == 0, e.Down)
			place := time.Duration(n/2) * time.Duration(f.Period)
			if !e.Down {
				place += f.down()
			}
			require.GreaterOrEqual(t, e.At, place)
			require.LessOrEqual(t, e.At, place+time.Duration(f.Jitter))
			last = e.At
			if n++; n == 100 {
				break
			}
		}
		if f.Count > 0 {
			require.Equal(t, 2*f.Count, n)
		} else {
			require.Equal(t, 100, n, "a flap without a count goes on")
		}
	}
	assert.Greater(t, valid, many/4, "the property was hardly tried")
}

func TestEdgesEndBeforeTimeDoes(t *testing.T) {
	f := Flap{Period: Duration(MaxDuration)}
	last, n := time.Duration(-1), 0
	for e := range edges(f, noDraw) {
		require.Greater(t, e.At, last)
		last = e.At
		n++
	}
	assert.Zero(t, n%2, "the last is a repair")
	assert.Greater(t, last, 290*365*24*time.Hour)
}

func TestFlapsThatMakeNoSenseAreRefused(t *testing.T) {
	sec := Duration(time.Second)
	for _, c := range []struct {
		flap Flap
		want string
	}{
		{Flap{}, "flap without a period: say how often, such as period 1s"},
		{Flap{Period: -sec}, "flap with period -1s: expected 1ms to 720h0m0s"},
		{Flap{Period: 1}, "flap with period 1ns: expected 1ms to 720h0m0s"},
		{
			Flap{Period: sec, Duty: new(Percent(0))},
			"duty 0%: the link would never change, expected a share between 0% and 100%",
		},
		{
			Flap{Period: sec, Duty: new(Percent(100))},
			"duty 100%: the link would never change, expected a share between 0% and 100%",
		},
		{Flap{Period: sec, Duty: new(Percent(-1))}, "duty -1%: expected 0% to 100%"},
		{Flap{Period: sec, Duty: new(Percent(math.NaN()))}, "duty NaN%: expected 0% to 100%"},
		{Flap{Period: sec, Jitter: -1}, "flap with jitter -1ns: expected 0s to 720h0m0s"},
		{
			Flap{Period: sec, Count: MaxCount + 1},
			"flap with count 1000000001: expected a number of periods, at most 1000000000, or 0 for until repaired",
		},
		{
			Flap{Period: sec, Count: -1},
			"flap with count -1: expected a number of periods, at most 1000000000, or 0 for until repaired",
		},
		{
			Flap{Period: sec, Jitter: sec / 2},
			"flap with jitter 500ms: the link is down for 500ms and up for 500ms of a period, expected less than the shorter",
		},
		{
			Flap{Period: sec, Duty: new(Percent(90)), Jitter: sec / 10},
			"flap with jitter 100ms: the link is down for 900ms and up for 100ms of a period, expected less than the shorter",
		},
		{
			Flap{Period: Duration(MinPeriod), Duty: new(Percent(1e-7))},
			"flap with jitter 0s: the link is down for 0s and up for 1ms of a period, expected less than the shorter",
		},
	} {
		assert.EqualError(t, c.flap.Validate(), c.want)
	}
	assert.NoError(t, Flap{Period: sec, Jitter: sec/2 - 1}.Validate())
}
