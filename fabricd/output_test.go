package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

func TestThatPacketsPileUpIsToldOnceUntilTheyDoNot(t *testing.T) {
	var out bytes.Buffer
	o := upOutput{stdout: &out, line: cli.NewLine(&out)}
	o.deadlock = func() []fabric.Channel { return nil }
	backlog, well, few := api.Sample{InFlight: 5000, DeliveredRate: 1000}, api.Sample{InFlight: 1500, DeliveredRate: 1000}, api.Sample{InFlight: 900}
	told := func(samples ...api.Sample) int {
		out.Reset()
		for _, s := range samples {
			o.sample(s)
		}
		return strings.Count(out.String(), "pile up")
	}
	require.Zero(t, told(slices.Repeat([]api.Sample{few}, 10)...))
	require.Zero(t, told(backlog, backlog, backlog, backlog, well), "too short")
	require.Equal(t, 1, told(slices.Repeat([]api.Sample{backlog}, 20)...))
	require.Equal(t, 1, told(append([]api.Sample{well}, slices.Repeat([]api.Sample{backlog}, 5)...)...), "again")
}

func TestADeadlockIsToldWhenNothingMovesAndNotTakenForTooMuchTraffic(t *testing.T) {
	var out bytes.Buffer
	cycle := []fabric.Channel{{Switch: "s0", To: "s1"}, {Switch: "s1", To: "s0"}}
	o := upOutput{stdout: &out, line: cli.NewLine(&out), deadlock: func() []fabric.Channel { return cycle }}
	still, moves, empty := api.Sample{InFlight: 5000}, api.Sample{InFlight: 500, DeliveredRate: 1000}, api.Sample{}
	told := func(samples ...api.Sample) int {
		out.Reset()
		for _, s := range samples {
			o.sample(s)
		}
		return strings.Count(out.String(), "deadlock: nothing moves any more, for packets wait for each other: s0 -> s1 vc0, s1 -> s0 vc0, and round again;")
	}
	require.Zero(t, told(still, moves, still, empty, empty, moves), "too short")
	require.Equal(t, 1, told(slices.Repeat([]api.Sample{still}, 20)...))
	require.NotContains(t, out.String(), "pile up")
	require.Equal(t, 1, told(moves, still, still), "again")
	cycle = nil
	require.Zero(t, told(append([]api.Sample{moves}, slices.Repeat([]api.Sample{still}, 20)...)...))
	require.Contains(t, out.String(), "pile up")
}
