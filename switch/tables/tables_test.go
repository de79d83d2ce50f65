package tables

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// twoSwitches are tables for 3 NICs, 2 VCs and switches of 2 and 4 ports.
func twoSwitches(t testing.TB) *Tables {
	tables, err := NewTables(2, 3, []int{2, 4})
	require.NoError(t, err)
	return tables
}

func TestTablesAnswerByArrivalWhatWasPutIn(t *testing.T) {
	tables := twoSwitches(t)
	row := []Hop{{0, 0}, {0, 1}, {1, 0}, {weft.NoPort, 0}} // p0 vc0, p0 vc1, p1 vc0, p1 vc1
	byArrival, err := tables.AddRow(0, row)
	require.NoError(t, err)
	row[0].Port = 1 // was copied
	always, err := tables.AddRow(0, []Hop{{1, 1}})
	require.NoError(t, err)
	require.NoError(t, tables.Set(0, 2, byArrival))
	require.NoError(t, tables.Set(0, 1, always))
	for _, c := range []struct {
		sw   weft.SwitchID
		dst  weft.NICID
		in   weft.PortID
		vc   weft.VC
		want Hop
		ok   bool
	}{
		{0, 2, 0, 0, Hop{0, 0}, true},
		{0, 2, 0, 1, Hop{0, 1}, true},
		{0, 2, 1, 0, Hop{1, 0}, true},
		{0, 2, 1, 1, Hop{weft.NoPort, 0}, true},
		{0, 1, 0, 0, Hop{1, 1}, true},
		{0, 1, 1, 1, Hop{1, 1}, true},
		{0, 0, 0, 0, Hop{weft.NoPort, 0}, false}, // nothing set
		{0, 3, 0, 0, Hop{weft.NoPort, 0}, false}, // no such NIC, port, VC, switch
		{0, 2, 2, 0, Hop{weft.NoPort, 0}, false},
		{0, 1, 2, 0, Hop{weft.NoPort, 0}, false},
		{0, 2, weft.NoPort, 0, Hop{weft.NoPort, 0}, false},
		{0, 2, 0, 2, Hop{weft.NoPort, 0}, false},
		{2, 2, 0, 0, Hop{weft.NoPort, 0}, false},
		{1, 2, 0, 0, Hop{weft.NoPort, 0}, false}, // the other switch has none
	} {
		got, ok := tables.Lookup(c.sw, c.dst, c.in, c.vc)
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, c.ok, ok, "%+v", c)
	}
	require.Equal(t, 2, tables.VCs())
}

func TestTablesRefuseWhatASwitchDoesNotHave(t *testing.T) {
	tables := twoSwitches(t)
	_, err := tables.AddRow(0, []Hop{{2, 0}})
	require.ErrorContains(t, err, "forwarding table of switch 0: out by p2 vc0, which it does not have: there are 2 "+
		"ports and 2 VCs")
	_, err = tables.AddRow(0, []Hop{{0, 2}})
	require.ErrorContains(t, err, "out by p0 vc2")
	_, err = tables.AddRow(0, make([]Hop, 3))
	require.ErrorContains(t, err, "a row of 3 hops: give 1, or 4 for 2 ports and 2 VCs")
	_, err = tables.AddRow(2, make([]Hop, 1))
	require.ErrorContains(t, err, "no switch 2, there are 2")
	require.ErrorContains(t, tables.Set(0, 0, 0), "no row 0, there are 0: add it first")
	require.ErrorContains(t, tables.Set(0, 3, 0), "no address 0 of NIC 3")
	require.ErrorContains(t, tables.Set(7, 0, 0), "no switch 7")
	require.ErrorContains(t, tables.SetSequence(0, []weft.PortID{1, 1}), "p1 is there twice")
	require.ErrorContains(t, tables.SetSequence(0, []weft.PortID{2}), "p2 is there twice or not a port, of 2")
	require.ErrorContains(t, tables.SetSequence(7, nil), "no switch 7")
	require.Empty(t, tables.Sequence(7))

	for want, err := range map[string]error{
		"for 0 virtual channels: give 1 to 16": second(NewTables(0, 1, nil)),
		"of 1 switches for 300000 NICs":        second(NewTables(1, 300_000, []int{1})),
		"switch 0 with 257 ports":              second(NewTables(1, 1, []int{257})),
		"more than 268435456: use a firmware":  second(NewTables(1, weft.MaxNIC, make([]int, 1025))),
	} {
		require.ErrorContains(t, err, want)
	}
}

func second(_ *Tables, err error) error { return err }

func TestAFullTableTakesNoMoreRows(t *testing.T) {
	tables := twoSwitches(t)
	for range noRow {
		_, err := tables.AddRow(1, []Hop{{3, 0}})
		require.NoError(t, err)
	}
	_, err := tables.AddRow(1, []Hop{{3, 0}})
	require.ErrorContains(t, err, "more than 65535 different rows")
}
