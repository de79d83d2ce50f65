package up

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

func TestOverloadIsToldOnceUntilItIsOver(t *testing.T) {
	var out bytes.Buffer
	o := upOutput{stdout: &out, line: command.NewLine(&out)}
	o.deadlock = func() []fabric.Channel { return nil }
	over := fabric.Overload{Offered: 130_000, Carried: 48_000}.String()
	much, well := api.Sample{InFlight: 5000, DeliveredRate: 1000, Overload: over}, api.Sample{
		InFlight:      1500,
		DeliveredRate: 1000,
	}
	told := func(samples ...api.Sample) (text string, advice int) {
		out.Reset()
		for _, s := range samples {
			o.sample(s)
		}
		return out.String(), strings.Count(out.String(), "give less, as --traffic")
	}
	_, n := told(well, well)
	require.Zero(t, n)
	text, n := told(slices.Repeat([]api.Sample{much}, 20)...)
	require.Equal(t, 1, n)
	require.Equal(t, 21, strings.Count(text, over), "each line says so")
	text, n = told(slices.Repeat([]api.Sample{well, well, much}, 20)...)
	require.Zero(t, n, "near saturation one second differs from the next")
	require.Zero(t, strings.Count(text, "carried again"))
	text, n = told(slices.Repeat([]api.Sample{well}, 2*calmFor)...)
	require.Zero(t, n)
	require.Equal(t, 1, strings.Count(text, "all that is offered is carried again"))
	_, n = told(much)
	require.Equal(t, 1, n, "again")
}

func TestADeadlockIsToldWhenNothingMovesAndNotTakenForTooMuchTraffic(t *testing.T) {
	var out bytes.Buffer
	cycle := []fabric.Channel{{Switch: "s0", To: "s1"}, {Switch: "s1", To: "s0"}}
	o := upOutput{stdout: &out, line: command.NewLine(&out), deadlock: func() []fabric.Channel { return cycle }}
	still, moves, empty := api.Sample{InFlight: 5000, Overload: "more is offered than carried"}, api.Sample{
		InFlight:      500,
		DeliveredRate: 1000,
	}, api.Sample{}
	told := func(samples ...api.Sample) [2]int { // that it is a deadlock, and that less would do
		out.Reset()
		for _, s := range samples {
			o.sample(s)
		}
		return [2]int{
			strings.Count(out.String(), "deadlock: nothing moves any more, for packets wait for each other: s0 -> s1 vc0, s1 -> s0 vc0, and round again;"),
			strings.Count(out.String(), "give less, as --traffic uniform:0.02\n"),
		}
	}
	require.Zero(t, told(still, moves, still, empty, empty, moves), "too short")
	require.Equal(t, [2]int{1, 0}, told(slices.Repeat([]api.Sample{still}, 20)...))
	require.Equal(t, [2]int{1, 0}, told(moves, still, still), "again")
	cycle = nil
	require.Equal(t, [2]int{0, 1}, told(append([]api.Sample{moves}, slices.Repeat([]api.Sample{still}, 20)...)...))
}
