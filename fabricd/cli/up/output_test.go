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

func TestADeadlockIsNotTakenForTooMuchTraffic(t *testing.T) {
	var out bytes.Buffer
	o := upOutput{stdout: &out, line: command.NewLine(&out)}
	const cycle = "s0 -> s1 vc0, s1 -> s0 vc0, and round again"
	dead := api.Sample{InFlight: 5000, Overload: "more is offered than carried", Deadlock: cycle}
	for range 20 {
		o.sample(dead)
	}
	require.Zero(t, strings.Count(out.String(), "give less"))
	require.Contains(t, out.String(), "DEADLOCK;")
	dead.Deadlock = ""
	o.sample(dead)
	require.Equal(t, 1, strings.Count(out.String(), "give less"))
}
