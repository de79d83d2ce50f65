package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestAHopNamesTheFieldsThatAPacketDoesNotEnterWith(t *testing.T) {
	f := weft.NewFields()
	require.Empty(t, viewFields(f))
	f.PortField, f.Path, f.Layers, f.Misroute = 3, 2, 6, 5
	f.Route, _ = f.Route.Push(4)
	require.Equal(t, "port field p3, path 2, layers 0b110, misroute 0b101, route p4", viewFields(f))
	f.PortField = weft.PortFieldDown
	require.Contains(t, viewFields(f), "port field down, path 2")
}
