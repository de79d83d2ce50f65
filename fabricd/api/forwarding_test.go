package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

func TestATableIsShownInAsFewLinesAsSayIt(t *testing.T) {
	t.Parallel()
	lft, err := tables.NewTablesOf(tables.TablesShape{VCs: 2, NICs: 3, Paths: 2, PerLayer: true, Ports: []int{2}})
	require.NoError(t, err)
	set := func(layer weft.VC, d weft.NICID, path int, entries ...[]tables.Hop) {
		row, err := lft.AddChoices(0, entries)
		require.NoError(t, err)
		require.NoError(t, lft.SetAddress(0, layer, d, path, row))
	}
	stay := tables.SameVC
	set(0, 0, 0, []tables.Hop{{Port: 1, VC: stay}, {Port: 0, VC: stay}})
	set(1, 0, 0, []tables.Hop{{Port: 1, VC: stay}, {Port: 0, VC: stay}})
	set(0, 1, 1, []tables.Hop{{Port: 1, VC: 0}})
	set(1, 1, 1, []tables.Hop{{Port: 0, VC: 1}})
	set(1, 2, 0, []tables.Hop{{Port: 1, VC: stay}}, nil, []tables.Hop{{Port: weft.NoPort}})
	lines := func(d weft.NICID, path uint16) []ForwardingView { return linesFor(lft, 0, d, path, 2, "n") }
	require.Equal(t, []ForwardingView{{Dst: "n", Port: 1, VC: -1, Or: []OutputView{{0, -1}}}}, lines(0, 0),
		"alike everywhere")
	require.Equal(t, []ForwardingView{
		{Dst: "n", Path: 1, InVC: new(0), Port: 1, VC: 0}, {Dst: "n", Path: 1, InVC: new(1), Port: 0, VC: 1},
	}, lines(1, 1), "alike within a layer")
	require.Equal(t, []ForwardingView{
		{Dst: "n", In: new(0), InVC: new(1), Port: 1, VC: -1}, {Dst: "n", In: new(-1), InVC: new(1), Port: -1, VC: 0},
	}, lines(2, 0), "by port, and from another layer")
	require.Empty(t, lines(0, 1))
	require.Empty(t, lines(0, 2))
}
