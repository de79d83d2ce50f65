package weft_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestTheFieldsThatAPacketDoesNotEnterWithAreNamed(t *testing.T) {
	t.Parallel()
	name := func(s weft.SwitchID) string { return fmt.Sprintf("sw%d", s) }
	f := weft.NewFields()
	require.Empty(t, f.Text(name))
	f.PortField, f.Path, f.Layers, f.Misroute = 3, 2, 6, 5
	f.Route, _ = f.Route.Push(4)
	require.Equal(t, "port field p3, path 2, layers 0b110, misroute 0b101, route p4", f.Text(name))
	f.PortField = weft.PortFieldDown
	require.Contains(t, f.Text(name), "port field down, path 2")
	f = weft.NewFields()
	f.Sub = weft.SubHeaders{weft.NewSubHeader(6).WithDeterministic(), weft.NewSubHeader(0).WithMisroute(0, 1, 2)}
	require.Equal(t, "sub-headers sw6,d;end,p1x2", f.Text(name))
}
