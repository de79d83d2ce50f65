package subnet_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestEveryFirmwareIsMadeByItsNameAndFitsItsTopology(t *testing.T) {
	t.Parallel()
	tree, torus := parse(t, "mport-tree:4,3"), parse(t, "torus:4x3")
	names := subnet.Names()
	require.True(t, slices.IsSorted(names))
	require.Subset(t, names, firmware.Names())
	require.Contains(t, names, "deterministic-table")
	for _, name := range append(names, subnet.None) {
		e, err := subnet.ByName(name)
		require.NoError(t, err)
		require.Equal(t, name, e.Name)
		require.NotEmpty(t, e.About)
		g := tree
		if f, ok := firmware.ByName(name); ok && f.On == firmware.Grids {
			g = torus
		}
		fw, vcs, err := subnet.Firmware(name, g)
		require.NoError(t, err)
		require.NotNil(t, fw)
		require.Positive(t, vcs)
		if c, ok := fw.(switching.Checker); ok {
			for _, s := range g.Switches {
				require.NoError(t, c.Check(g.Place(s.ID), vcs), name)
				require.ErrorContains(t, c.Check(g.Place(s.ID), vcs-1), "raise the number", name)
			}
		}
	}
}

func TestAnUnknownNameGetsTheNearestMatch(t *testing.T) {
	t.Parallel()
	_, _, err := subnet.Firmware("deterministic-tabel", parse(t, "ring:3"))
	require.ErrorContains(t, err, `unknown firmware "deterministic-tabel": did you mean "deterministic-table"?`)
	_, err = subnet.ByName("non")
	require.ErrorContains(t, err, `did you mean "none"?`)
}

func TestAFirmwareWithTablesNeedsATopologyThatItHasTablesFor(t *testing.T) {
	t.Parallel()
	_, _, err := subnet.Firmware("deterministic-table", parse(t, "mesh:3x3"))
	require.ErrorContains(t, err, "mesh:3x3 is none: choose such a topology, as kary-ntree:4,3")
}

// Tables belong to one topology: elsewhere the firmware says so before anything runs.
func TestTablesOfAnotherTopologyAreRefused(t *testing.T) {
	t.Parallel()
	fw, vcs, err := subnet.Firmware("deterministic-table", parse(t, "kary-ntree:2,2"))
	require.NoError(t, err)
	g := parse(t, "kary-ntree:3,3")
	for _, id := range []weft.SwitchID{0, 26} {
		require.ErrorContains(t, fw.(switching.Checker).Check(g.Place(id), vcs), "make them for this topology")
	}
	require.ErrorContains(t, firmware.DeterministicTable{}.Check(g.Place(0), 2), "has no forwarding tables")
	require.ErrorContains(t, firmware.Static{}.Check(g.Place(0), 2), "firmware static has no forwarding tables")
}
