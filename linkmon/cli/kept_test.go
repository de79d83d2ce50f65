package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/registry"
)

// runs has a fabric of that name in the registry; the function ends it.
func runs(t *testing.T, name string) (end func()) {
	t.Helper()
	claim, err := registry.Take(name)
	require.NoError(t, err)
	require.NoError(t, claim.Publish(registry.Entry{Listed: registry.Listed{Name: name}}))
	return func() { require.NoError(t, claim.Release()) }
}

func TestAShellKeepsToTheFabricItBeganWith(t *testing.T) {
	ownRegistry(t)
	shell, single := monitor{chosen: new(chosenFabric)}, monitor{}
	endA := runs(t, "a")
	e, err := shell.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, "a", e.Name)

	defer runs(t, "b")()
	e, err = shell.find(t.Context())
	require.NoError(t, err, "another one does not make it unclear which is meant")
	require.Equal(t, "a", e.Name)
	_, err = single.find(t.Context())
	require.EqualError(t, err, "2 fabrics are running, say which with --fabric: a, b")

	endA()
	_, err = shell.find(t.Context())
	require.EqualError(t, err, `no fabric "a" is running; there are: b`, "and is not taken in its place")
	e, err = single.find(t.Context())
	require.NoError(t, err)
	require.Equal(t, "b", e.Name)

	defer runs(t, "a")()
	e, err = shell.find(t.Context())
	require.NoError(t, err, "it is found again")
	require.Equal(t, "a", e.Name)
}
