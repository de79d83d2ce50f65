package fabric_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/nic"
)

// Every kind of traffic flows live, and every packet of it is accounted for.
func TestEveryPatternFlowsLive(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, harness.Firmware(linkFirmware["adaptive-link"]), shortQueues)
	for _, spec := range []string{
		"uniform:0.2,arrivals=normal", "hotspot:0.2,hot=n000/n111,share=0.3,arrivals=bursts",
		"pairwise:0.2,arrivals=periodic",
		"complement:0.2,sizes=64:0.6/1500:0.4", "reversal:0.2", "shuffle:0.2", "rotation:0.2", "neighbour:0.2,radix=2",
		"tornado:0.2", "all-to-all:0.2", "incast:0.2,to=n010,from=3",
	} {
		before := h.Fabric().Totals().Delivered
		h.SetTraffic(spec)
		require.Equal(t, spec, h.Fabric().Traffic().String())
		h.Eventually(func() error {
			if n := h.Fabric().Totals().Delivered - before; n < 20 {
				return fmt.Errorf("%s: %d packets delivered", spec, n)
			}
			return nil
		})
	}
	h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
}

// A trace is played packet by packet, each with its size, and played again when it is set again.
func TestATraceIsPlayedPacketByPacket(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.csv")
	text := "time_ms,src,dst,bytes\n"
	for i := range 100 {
		text += fmt.Sprintf("%d,n000,n1%d%d,%d\n", i/10, i/2%2, i%2, 1+i)
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	h := harness.New(t, smallTree, harness.Firmware(linkFirmware["adaptive-link"]), harness.Traffic("trace:"+file),
		harness.TraceEvery(1))
	played := func(n uint64) {
		h.Eventually(func() error {
			if d := h.Fabric().Totals().Delivered; d != n {
				return fmt.Errorf("%d packets delivered of %d", d, n)
			}
			return nil
		})
	}
	played(100)
	require.EqualValues(t, 100, h.Fabric().NIC(0).Stats.Injected)
	require.EqualValues(t, 25, h.Fabric().NIC(4).Stats.Delivered)
	h.SetTraffic("trace:" + file)
	played(200)
	h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
}

// What does not fit the topology is refused before anything is built.
func TestTrafficThatDoesNotFitTheTopologyIsRefused(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, harness.Firmware(linkFirmware["adaptive-link"]))
	o := fabric.Options{Topology: h.Topology()}
	require.NoError(t, o.Fits(nic.Traffic{Pattern: "reversal", Load: 0.2}))
	require.ErrorContains(t, o.Fits(nic.Traffic{Pattern: "transpose", Load: 0.2}),
		"an even power of 2, not 8: 4 or 16 would do")
	require.ErrorContains(t, o.Fits(nic.Traffic{Pattern: "hotspot", Load: 0.2, Hot: "n00"}),
		`unknown NIC "n00": did you mean "n000"?`)
	require.ErrorIs(t, h.Fabric().SetTraffic(nic.Traffic{Pattern: "transpose", Load: 0.2}), nic.ErrTraffic)
	require.True(t, h.Fabric().Traffic().Idle(), "the old stays")
}
