package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHopsAreThoseThatTheLoadMakes(t *testing.T) {
	for _, model := range []string{"eager", "experiments"} {
		said, err := execute(t, "booksim-speed", "fattree64", "0.1", "2000", model)
		require.NoError(t, err)
		var hops, cycles int
		var accepted float64
		_, err = fmt.Sscan(said, &hops, &cycles, &accepted)
		require.NoError(t, err)
		assert.Equal(t, 2000, cycles)
		// 64 NICs send a packet of two cycles every 20, and of 63 others 3 are one switch away, 12
		// three and 48 five.
		path := (3*1.0 + 12*3 + 48*5) / 63
		assert.InEpsilon(t, 64*2000/20*path, hops, 0.03, model)
		assert.InEpsilon(t, 3.2, accepted, 0.03, model)
	}
}

func TestTheModelsDifferInWhatTheySay(t *testing.T) {
	eager, err := parseSpeed(strings.Fields("torus512 0.3 10 eager"))
	require.NoError(t, err)
	experiments, err := parseSpeed(strings.Fields("torus512 0.3 10 experiments"))
	require.NoError(t, err)
	assert.True(t, eager.Switch.EagerCredits)
	assert.False(t, experiments.Switch.EagerCredits)
	assert.Zero(t, experiments.RoutingDelay)
	for _, delay := range []any{eager.RoutingDelay, eager.CrossbarDelay, eager.WireDelay, experiments.CrossbarDelay} {
		assert.Equal(t, experiments.WireDelay, delay)
	}
}
