package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli"
)

func TestThatPacketsPileUpIsToldOnceUntilTheyDoNot(t *testing.T) {
	var out bytes.Buffer
	o := upOutput{stdout: &out, line: cli.NewLine(&out)}
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
