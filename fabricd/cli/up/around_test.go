package up

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func TestWhoDiscardsAtADeadLinkIsToldWhatDoesNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ topology, routing, method, want string }{
		{"torus:4x4", "dimension-order", "none", "--routing updn"},
		{"torus:4x4", "duato", "none", "--routing updn"},
		{"torus:4x4", "duato:mechanisms=I+D", "none", "--method auto"},
		{"torus:4x4", "updn", "none", "--method auto"},
		{"torus:4x4", "updn", "engine", ""},
		{"torus:4x4", "none", "none", ""},
		{"kary-ntree:2,2", "updown", "none", "--routing adaptive-link"},
		{"kary-ntree:2,2", "adaptive-link", "none", ""},
	} {
		require.Equal(t, c.want, wayAround(c.routing, c.method, topologytest.Parse(t, c.topology)), "%v", c)
	}
}
