package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet/opensm/peer"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestOpenSMHearsOfEachCutAndItsTablesAreTimed(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	g := topologytest.Parse(t, "mport-tree:4,2")
	p := pairing{spec: g.Spec, engine: "ftree"}
	list, refused, err := p.theirs(t.Context(), g, drawnLinks(g, 2), verbose...)
	if errors.Is(err, peer.ErrMissing) {
		testenv.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	require.Zero(t, refused)
	require.Len(t, list, 2)
	for _, r := range list {
		require.Positive(t, r.Heard)
		require.Greater(t, r.Configured, r.Heard)
		require.Greater(t, r.Up, r.Configured)
		require.Positive(t, r.Engine)
		require.Less(t, r.Engine, r.Configured)
	}
}

// An m-port tree of two tiers stays connected without a link, but its only link to a NIC is not
// drawn.
func TestOnlyLinksBetweenSwitchesAreDrawnAndNoneTwice(t *testing.T) {
	g := topologytest.Parse(t, "mport-tree:4,2")
	seen := map[string]bool{}
	for _, id := range drawnLinks(g, 100) {
		l := g.Links[id]
		require.True(t, l.BetweenSwitches())
		require.False(t, seen[l.Name])
		seen[l.Name] = true
	}
	require.Len(t, seen, 8)
}

func TestOursAreTimedByTheFaultReport(t *testing.T) {
	testenv.Raced(t)
	g := topologytest.Parse(t, "mport-tree:4,2")
	list, err := own{"ftree", "ddrc"}.measure(t.Context(), g, drawnLinks(g, 2))
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, r := range list {
		require.InDelta(t, r[0], r[1]+r[2]+r[3], 1e-3, "in force: detected, computed, distributed")
	}
}
