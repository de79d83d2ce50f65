package link

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

const ms = weft.Millisecond

func TestAConfigIsRefusedWithEveryReasonThatHolds(t *testing.T) {
	t.Parallel()
	damping := Damping{HalfLife: weft.Second, Suppress: 3, Reuse: 1, Max: 10 * weft.Second}
	damped := func(change func(d *Damping)) Liveness {
		d := damping
		change(&d)
		return Liveness{Damping: d}
	}
	for name, c := range map[string]struct {
		Liveness
		want []string // parts of the error; none for a valid one
	}{
		"zero":                 {},
		"usual":                {Liveness: Liveness{Interval: 50 * ms, Multiplier: 3, Damping: damping}},
		"off, multiplier set":  {Liveness: Liveness{Multiplier: 3}},
		"shortest":             {Liveness: Liveness{Interval: weft.Microsecond, Multiplier: 1}},
		"longest":              {Liveness: Liveness{Interval: 60 * weft.Second, Multiplier: 255}},
		"negative interval":    {Liveness{Interval: -ms, Multiplier: 3}, []string{"hellos is -1ms: set 1µs to 1m0s, or 0"}},
		"interval too short":   {Liveness{Interval: 50, Multiplier: 3}, []string{"hellos is 0s"}},
		"interval too long":    {Liveness{Interval: weft.Never, Multiplier: 3}, []string{"hellos is never"}},
		"no multiplier":        {Liveness{Interval: ms}, []string{"multiplier is 0 with an interval of 1ms"}},
		"negative multiplier":  {Liveness{Multiplier: -1}, []string{"multiplier of the hello interval is -1: set 1 to 255"}},
		"multiplier too large": {Liveness{Interval: ms, Multiplier: 256}, []string{"is 256"}},
		"no half-life":         {damped(func(d *Damping) { d.HalfLife = 0 }), []string{"half-life is 0s"}},
		"negative half-life":   {damped(func(d *Damping) { d.HalfLife = -ms }), []string{"half-life is -1ms"}},
		"half-life too long":   {damped(func(d *Damping) { d.HalfLife = weft.Never }), []string{"half-life is never"}},
		"no suppress":          {damped(func(d *Damping) { d.Suppress = 0 }), []string{"above 0 losses", "below suppress"}},
		"suppress too high":    {damped(func(d *Damping) { d.Suppress = math.Inf(1) }), []string{"above +Inf losses"}},
		"suppress not a number": {
			damped(func(d *Damping) { d.Suppress = math.NaN() }),
			[]string{"above NaN losses", "below suppress"},
		},
		"no reuse":           {damped(func(d *Damping) { d.Reuse = 0 }), []string{"penalty of 0: set at least 0.001"}},
		"reuse not a number": {damped(func(d *Damping) { d.Reuse = math.NaN() }), []string{"penalty of NaN"}},
		"reuse is suppress": {
			damped(func(d *Damping) { d.Reuse = 3 }),
			[]string{"penalty of 3 but suppresses it above 3"},
		},
		"no max": {damped(func(d *Damping) { d.Max = 0 }), []string{"suppression by damping is 0s"}},
		"max too long": {
			damped(func(d *Damping) { d.Max = weft.Never }),
			[]string{"suppression by damping is never"},
		},
		"several": {Liveness{Interval: -1, Multiplier: -1, Damping: Damping{Max: -1}}, []string{
			"interval", "multiplier", "half-life", "losses", "penalty", "longest suppression",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.Validate()
			if len(c.want) == 0 {
				require.NoError(t, err)
				return
			}
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), len(c.want))
		})
	}
}
