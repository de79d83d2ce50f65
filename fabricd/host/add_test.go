package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/nic"
)

// A host that is started anew time and again is remembered by the generations that NICs tell apart,
// and not by all there ever were: a leader keeps them, and writes them down for the next.
func TestIncarnationsKeepTheGenerationsThatNICsTellApart(t *testing.T) {
	t.Parallel()
	var retired host.Counters
	const incarnations, apart = 50, 100
	for i := range incarnations {
		retired.Add(&host.Counters{
			FirstGeneration: i * apart,
			Generations:     []nic.GenerationStats{{Injected: 1}, {Injected: 2, MostExtra: i}},
		})
	}
	require.LessOrEqual(t, len(retired.Generations), nic.MaxGenerations)
	require.Equal(t, (incarnations-1)*apart+2, retired.FirstGeneration+len(retired.Generations),
		"the latest is among them")
	all := retired.OlderGenerations
	for _, g := range retired.Generations {
		all.Injected += g.Injected
	}
	require.EqualValues(t, 3*incarnations, all.Injected, "older ones count as one")
}
