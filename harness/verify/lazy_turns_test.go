package verify

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// turning are firmwares whose packets turn, and mutants of them.
func turning() (list []switching.Firmware) {
	for _, fw := range append(firmware.All(), mutants()...) {
		if fw.On == switching.Trees && fw.Symmetric && fw.ChannelNumber == nil && fw.DestinationBased {
			list = append(list, fw)
		}
	}
	for _, of := range vectored() {
		list = append(list, mutantsOfTurns(of)...)
	}
	return append(list, mutantsOfTurns(firmware.MisrouteVector{}.Firmware())...)
}

// mutantsOfTurns turn otherwise.
func mutantsOfTurns(of switching.Firmware) (list []switching.Firmware) {
	for name, change := range map[string]func(
		d switching.Decision, at switching.Arrival, sw switching.View) switching.Decision{
		"turns to the port it came by as well": func(
			d switching.Decision, at switching.Arrival, _ switching.View,
		) switching.Decision {
			c := d.Candidates[0]
			c.Port = at.Port
			d.Candidates = append(d.Candidates, c)
			return d
		},
		"turns to one port": func(d switching.Decision, _ switching.Arrival, _ switching.View) switching.Decision {
			d.Candidates = d.Candidates[:1]
			return d
		},
		"turns back alone": func(
			d switching.Decision, at switching.Arrival, _ switching.View,
		) switching.Decision {
			d.Candidates = d.Candidates[:1]
			d.Candidates[0].Port = at.Port
			return d
		},
	} {
		fw := of
		fw.Name += ", " + name
		fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
			d := of.Route(pkt, at, sw)
			if d.Turn == switching.UTurn && len(d.Candidates) > 0 {
				return change(d, at, sw)
			}
			return d
		}
		list = append(list, fw)
	}
	return list
}

// Where exploring all sets at once says that packets always go on, no set can deadlock. Of the
// firmwares for trees it says so up to k-1 faults, and of mutants that deadlock it does not.
func TestNoSetDeadlocksWherePacketsAlwaysGoOn(t *testing.T) {
	testenv.Unraced(t)
	var bear []string // the names of firmwares that are to bear k-1 faults
	for _, fw := range firmware.All() {
		if !fw.Tolerance.One {
			bear = append(bear, fw.Name)
		}
	}
	for _, c := range []manySets{
		{on: "kary-ntree:2,2", most: 1},
		{on: "kary-ntree:2,3", most: 1},
		{on: "kary-ntree:2,3", kind: Any, most: 1},
		{on: "kary-ntree:3,2", most: 2},
		{on: "kary-ntree:3,2", kind: Any, most: 2},
		{on: "mport-tree:4,2", most: 1},
		{on: "mport-tree:4,3", most: 1},
		{on: "kary-ntree:2,4", kind: Any, most: 1, long: true},
		{on: "kary-ntree:4,2", most: 3, long: true},
		{on: "kary-ntree:2,2", most: 3},
		{on: "kary-ntree:2,3", most: 2},
		{on: "kary-ntree:3,2", most: 3},
		{on: "kary-ntree:3,3", most: 2, hours: true},
		{on: "kary-ntree:3,3", kind: Any, most: 2, hours: true},
		{on: "mport-tree:6,2", most: 2, long: true},
		{on: "kary-ntree:2,5", most: 1, long: true},
		{on: "kary-ntree:2,3", when: Arriving, most: 1},
		{on: "kary-ntree:2,3", when: Flapping, kind: Any, most: 1},
		{on: "kary-ntree:3,2", when: Flapping, most: 2},
		{on: "kary-ntree:3,2", when: Flapping, kind: Any, most: 3, atOnce: 2, long: true},
		{on: "kary-ntree:3,2", when: Repaired, kind: Any, most: 2, long: true},
		{on: "kary-ntree:4,2", when: Arriving, kind: Any, most: 3, hours: true},
		{on: "mport-tree:4,3", when: Flapping, kind: Any, most: 1, long: true},
		{on: "kary-ntree:2,4", when: Flapping, kind: Any, most: 1, long: true},
		{on: "kary-ntree:3,3", when: Flapping, most: 2, hours: true},
	} {
		c.each(t, turning(), func(t *testing.T, r *run) {
			r.folded = true
			found, err := r.find(t.Context(), (*lazyWalk).relevant)
			fw := r.Firmware
			bears := fw.Tolerance.Links && c.kind == Links || fw.Tolerance.Switches && c.kind == Any
			must := bears && c.most < r.Graph.Place(0).Tree.K && slices.Contains(bear, fw.Name)
			if !must && (gaveUp(err) || !found.released) {
				return
			}
			require.NoError(t, err)
			assert.True(t, found.released)
			config := r.Config
			config.Exhaustive = true
			each, err := Run(t.Context(), config)
			require.NoError(t, err)
			assert.Zero(t, each.Deadlocks)
		})
	}
}

// The same firmwares are not said to be without deadlock where they are not.
func TestMutantsThatDeadlockAreNotSaidToGoOn(t *testing.T) {
	testenv.Unraced(t)
	deadlocks := 0
	for _, fw := range turning() {
		c := Config{
			Graph: topologytest.Parse(t, "kary-ntree:3,2"), Firmware: fw, Workers: 1, Sets: Sets{Max: 2}, Exhaustive: true,
		}
		each, err := Run(t.Context(), c)
		require.NoError(t, err)
		if each.Deadlocks == 0 {
			continue
		}
		deadlocks++
		r := lazyRun(t, "kary-ntree:3,2", fw, 2)
		r.folded = true
		found, err := r.find(t.Context(), (*lazyWalk).relevant)
		assert.False(t, err == nil && found.released, fw.Name)
	}
	assert.NotZero(t, deadlocks)
	t.Log(deadlocks)
}
