// Package topologytest makes topologies for tests. It is no _test file because the tests of many
// packages use it; nothing but tests imports it.
package topologytest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// Parse is the topology of a spec or a file, see [topology.Parse].
func Parse(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse(spec)
	require.NoError(t, err)
	return g
}
