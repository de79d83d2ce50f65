package verify_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// fewerLayers runs a firmware with some of its virtual layers in one virtual channel. Which layer a
// packet is in it then carries in the header (in the misroute vector, which these firmwares do not
// use).
func fewerLayers(channel [3]weft.VC) switching.Firmware { // per layer
	real := firmware.DeterministicSwitch{}.Firmware()
	fw := real
	fw.ChannelNumber = nil // the numbering of the three layers says nothing here
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		h := *pkt
		h.Misroute, at.VC = 0, weft.VC(pkt.Misroute)
		d := real.Route(&h, at, sw)
		for i := range d.Candidates {
			c := &d.Candidates[i]
			c.Fields.Misroute, c.VC = uint64(c.VC), channel[c.VC]
		}
		return d
	}
	return fw
}

// Whether R^switch_deterministic needs its three layers is open in the paper. With the two
// re-routing layers in one channel there is no cycle up to k-1 faults, and there are some beyond;
// with the normal layer and another in one there are at two faults.
func TestLayersOfDeterministicSwitchThatCanBeOne(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	merges := []struct {
		name    string
		channel [3]weft.VC
	}{
		{"three layers", [3]weft.VC{0, 1, 2}},
		{"ML1 and ML2 in one", [3]weft.VC{0, 1, 1}},
		{"NL and ML1 in one", [3]weft.VC{0, 0, 1}},
		{"NL and ML2 in one", [3]weft.VC{0, 1, 0}},
	}
	type row struct {
		tree    string
		faults  int
		acyclic [4]bool
	}
	rows := []row{
		{"kary-ntree:2,3", 1, [4]bool{true, true, true, true}},
		{"kary-ntree:2,4", 1, [4]bool{true, true, true, true}},
		{"kary-ntree:3,3", 2, [4]bool{true, true, false, false}},
		{"kary-ntree:2,4", 2, [4]bool{true, true, false, false}}, // beyond k-1, but not enough for a cycle
		{"kary-ntree:2,4", 3, [4]bool{true, false, false, false}},
	}
	for _, c := range rows[:testenv.Levels(5, 3, 3)] {
		g := topologytest.Parse(t, c.tree)
		for i, m := range merges {
			t.Run(fmt.Sprintf("%s/%d faults/%s", c.tree, c.faults, m.name), func(t *testing.T) {
				r, err := verify.Run(context.Background(), verify.Config{
					Graph: g, Firmware: fewerLayers(m.channel), VCs: 3,
					Sets: verify.Sets{
						Kind: verify.Any, Min: testenv.Levels(0, c.faults, c.faults), Max: c.faults,
						Samples: testenv.Levels(0, 300, 300), Seed: 1,
					},
				})
				require.NoError(t, err)
				require.Equal(t, c.acyclic[i], r.CDGAcyclic, "%v", r.Counter)
			})
		}
	}
}
