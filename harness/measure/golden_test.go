package measure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What makes a run faster must not change what happens in it, to the last event. Where the model
// itself is changed, these fingerprints are to be replaced.
func TestTheEventsOfARunStayTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec, routing, hash string
		load                float64
		with                func(c *Config)
	}{
		{"kary-ntree:4,2", "updown", "b086e1b3c67e15a3", 0.3, func(*Config) {}},
		{
			"kary-ntree:4,2", "deterministic-link", "a330b3267ce1a8c6", 1,
			func(c *Config) { c.Switch.EagerCredits, c.FaultCount = true, 2 },
		},
		{
			"kary-ntree:2,4", "adaptive-link", "7589b324664c280b", 0.8,
			func(c *Config) { c.FaultCount, c.Switch.Selection = 3, "random" },
		},
		{
			"kary-ntree:2,3", "adaptive-switch", "9e57be85e3ebaf91", 0.5,
			func(c *Config) { c.FaultCount, c.FaultKind = 1, SwitchFaults },
		},
		{
			"mesh:3x3", "dimension-order", "f44d811dea1ae5d8", 1,
			func(c *Config) { c.Switch.Queueing, c.Switch.InputBuffer, c.Switch.OutputBuffer = "fifo", 3, 1 },
		},
		{"torus:4x4", "dimension-order", "4fea045704ac15e1", 0.6, func(c *Config) {
			c.Switch.EagerCredits, c.WireDelay, c.RoutingDelay, c.CrossbarDelay = true, cycle, cycle, cycle
		}},
	} {
		k := config(t, c.spec, c.routing, c.load)
		k.Window, k.Warmup.Skip, k.FaultSpacing = 500, true, 100
		c.with(&k)
		require.Equal(t, c.hash, measured(t, k).Hash, "%s, %s", c.spec, c.routing)
	}
}
