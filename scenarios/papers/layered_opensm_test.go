package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm/peer"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

const cyclic = "layered/opensm/" // where the tables of OpenSM are kept

// OpenSM's Up*/Down* has one port for each destination, whichever way packets come, and so turns
// from down to up: the tables that it made for these graphs have a cycle. Every pair is routed by
// them, so that nothing but the dependencies tells. Ours have none.
func TestCyclesInTablesOfOpenSMAreFound(t *testing.T) {
	for name, channels := range map[string]int{"updn-cyclic-16": 5, "updn-cyclic-64": 4} {
		g := topologytest.Parse(t, cyclic+name+".net")
		r, err := opensm.Open(t.Context(), g, cyclic+name+".lfts.gz")
		require.NoError(t, err)
		assert.Zero(t, r.Unroutable)
		cycle := r.Dependencies(t.Context()).Cycle()
		require.Len(t, cycle, channels, name)
		for i, c := range cycle {
			to, _, ok := g.Peer(c.From)
			require.True(t, ok)
			assert.Equal(t, cycle[(i+1)%channels].From.Node, to.Node, "each channel leads to the switch of the next")
			assert.True(t, used(r, c, cycle[(i+1)%channels]), "and some packet takes one after the other")
		}

		ours, err := layered.UpDown(t.Context(), g, layered.Options{})
		require.NoError(t, err)
		assert.Nil(t, ours.Dependencies(t.Context()).Cycle())
	}
}

// used reports whether the switch at the end of a channel sends packets on by another that come by
// it to some NIC.
func used(r *layered.Routing, by, on layered.Channel) bool {
	in, _, _ := r.Graph.Peer(by.From)
	for d := range weft.NICID(len(r.Graph.NICs)) {
		before, _ := r.Tables.Lookup(weft.SwitchID(by.From.Node.Index), d, 0, 0) // whichever port it came by
		after, _ := r.Tables.Lookup(weft.SwitchID(in.Node.Index), d, in.Port, 0)
		if before.Port == by.From.Port && after.Port == on.From.Port {
			return true
		}
	}
	return false
}

// What is kept is what OpenSM makes: made anew it is the same.
func TestKeptFilesAreMadeAgain(t *testing.T) {
	testenv.Raced(t)
	folder := t.TempDir()
	err := keepTables(t.Context(), "irregular:16,32,15", filepath.Join(folder, "kept"))
	if errors.Is(err, peer.ErrMissing) {
		testenv.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	want, err := os.ReadFile(cyclic + "updn-cyclic-16.net")
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(folder, "kept.net"))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
	g := topologytest.Parse(t, filepath.Join(folder, "kept.net"))
	r, err := opensm.Open(t.Context(), g, filepath.Join(folder, "kept.lfts.gz"))
	require.NoError(t, err)
	kept, err := opensm.Open(t.Context(), g, cyclic+"updn-cyclic-16.lfts.gz")
	require.NoError(t, err)
	assert.Equal(t, kept.Dependencies(t.Context()).Cycle(), r.Dependencies(t.Context()).Cycle())
}

func TestBothAreMeasuredOnTheSameGraphs(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	folder := t.TempDir()
	err := lashBeside(t.Context(), folder, []int{8}, 2)
	if errors.Is(err, peer.ErrMissing) {
		testenv.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(folder, "opensm.csv"))
	require.NoError(t, err)
	assert.Equal(t, 3, bytes.Count(text, []byte("\n")))
	text, err = os.ReadFile(filepath.Join(folder, "opensm.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "| 8 | OpenSM | 1 to 2 |")
	assert.Contains(t, string(text), "| 8 | `lash:both=true` | 1 to 1 |")
}

func TestALineSumsUp(t *testing.T) {
	rows := []lashRow{
		{"a", 8, false, []int{5, 3}, []time.Duration{100 * time.Millisecond, 2 * time.Millisecond}},
		{"b", 8, true, []int{9, 4}, []time.Duration{300 * time.Millisecond, time.Millisecond}},
	}
	assert.Equal(t, "| 8 | OpenSM | 5 to 9 | 7.0 | 1 of 2 | 300.000 |  |", lashLine(rows, 0, "OpenSM"))
	assert.Equal(t, "| 8 | `lash` | 3 to 4 | 3.5 | 0 of 2 | 2.000 | 50 (50) |", lashLine(rows, 1, "lash"))
}
