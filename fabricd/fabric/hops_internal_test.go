package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

func TestAHopNamesTheFieldsThatAPacketDoesNotEnterWith(t *testing.T) {
	g, err := topology.Parse("torus:4x3")
	require.NoError(t, err)
	viewFields := (&Fabric{graph: g}).viewFields
	f := weft.NewFields()
	require.Empty(t, viewFields(f))
	f.PortField, f.Path, f.Layers, f.Misroute = 3, 2, 6, 5
	f.Route, _ = f.Route.Push(4)
	require.Equal(t, "port field p3, path 2, layers 0b110, misroute 0b101, route p4", viewFields(f))
	f.PortField = weft.PortFieldDown
	require.Contains(t, viewFields(f), "port field down, path 2")
	f = weft.NewFields()
	f.Sub = weft.SubHeaders{weft.NewSubHeader(6).WithDeterministic(), weft.NewSubHeader(0).WithMisroute(0, 1, 2)}
	require.Equal(t, "sub-headers s2.0,d;end,p1x2", viewFields(f))
}
