package up

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func TestWhoDiscardsAtADeadLinkIsToldWhatDoesNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ topology, routing, want string }{
		{"torus:4x4", "dimension-order", "updn"},
		{"torus:4x4", "duato", "updn"},
		{"torus:4x4", "duato:mechanisms=I+D", ""}, // by ways of a subnet manager
		{"torus:4x4", "minimal-hop", ""},          // it is told why no subnet manager takes it
		{"torus:4x4", "updn", ""},
		{"torus:4x4", "none", ""},
		{"torus:4x4", "of-somebody", ""},
		{"kary-ntree:2,2", "updown", "adaptive-link"},
		{"kary-ntree:2,2", "adaptive-link", ""},
	} {
		require.Equal(t, c.want, wayAround(c.routing, topologytest.Parse(t, c.topology)), "%v", c)
	}
}
