package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatCannotBeRunIsNamed(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "usage",
		"fattree64 0.1 100":                 "usage",
		"fattree65 0.1 100 eager":           `no network "fattree65"`,
		"fattree64 much 100 eager":          "load",
		"fattree64 -1 100 eager":            "load",
		"fattree64 0.1 0 eager":             `cycles must be a whole number, 1 or more, not "0"`,
		"fattree64 0.1 1.5 eager":           `not "1.5"`,
		"fattree64 0.1 100 lazy":            `no model "lazy"`,
		"fattree64 0.1 100 eager and so on": "usage",
	} {
		var out strings.Builder
		err := run(strings.Fields(args), &out)
		require.Error(t, err, args)
		assert.ErrorContains(t, err, want, args)
		assert.Empty(t, out.String(), args)
	}
}

func TestHopsAreThoseThatTheLoadMakes(t *testing.T) {
	for _, model := range []string{"eager", "experiments"} {
		var out strings.Builder
		require.NoError(t, run([]string{"fattree64", "0.1", "2000", model}, &out))
		var hops, cycles int
		var accepted float64
		_, err := fmt.Sscan(out.String(), &hops, &cycles, &accepted)
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
	eager, err := parse(strings.Fields("torus512 0.3 10 eager"))
	require.NoError(t, err)
	experiments, err := parse(strings.Fields("torus512 0.3 10 experiments"))
	require.NoError(t, err)
	assert.True(t, eager.Switch.EagerCredits)
	assert.False(t, experiments.Switch.EagerCredits)
	assert.Zero(t, experiments.RoutingDelay)
	for _, delay := range []any{eager.RoutingDelay, eager.CrossbarDelay, eager.WireDelay, experiments.CrossbarDelay} {
		assert.Equal(t, experiments.WireDelay, delay)
	}
}
