package harness_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Live too: with links cut on the way down of every packet, the switch that only looks up its table
// sends each packet by the same ports, channels and rules as the one that computes them.
func TestPacketsGoTheSameWayByTableAndByRule(t *testing.T) {
	t.Parallel()
	run := func(name string) (hops [][]weft.Hop) {
		h := harness.New(t, "kary-ntree:3,2", harness.FirmwareByName(name))
		h.Cut("s0.0", "s1.0")
		h.Cut("s0.1", "s1.0")
		for _, dst := range []string{"n00", "n01", "n02"} {
			for _, src := range []string{"n10", "n11", "n21", "n22"} {
				path := h.RequireDelivered(h.Send(src, dst))
				for i := range path.Hops {
					h := &path.Hops[i]
					h.At, h.Waited, h.Why, h.Header, h.Candidates = 0, 0, 0, weft.Header{}, nil // as the machine has it
				}
				hops = append(hops, path.Hops)
			}
		}
		h.RequireLedger(harness.LostAtMost(0))
		return hops
	}
	want := run("deterministic-link")
	require.Equal(t, want, run("deterministic-table"))
	turned := 0
	for _, path := range want {
		turned += len(path) - 3
	}
	require.Positive(t, turned, "no packet made a U-turn")
}

// The last of several firmwares counts, whether it is given by name or not.
func TestTheLastFirmwareGivenCounts(t *testing.T) {
	t.Parallel()
	h := harness.New(t, tree, harness.FirmwareByName("deterministic-table"), harness.Firmware(firmware.None()))
	h.RequireDiscarded(h.Send("n000", "n111"), "none: no routing function")
	h = harness.New(t, tree, harness.Firmware(firmware.None()), harness.FirmwareByName("updown"))
	h.RequireDelivered(h.Send("n000", "n111"))
}
