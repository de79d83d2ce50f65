package harness_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// waitsForPort1 waits for the way on when it is dead, instead of discarding.
func waitsForPort1(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	out := weft.PortID(1)
	if uint32(sw.Place().Switch) == uint32(pkt.Dst) {
		out = 2
	}
	return switching.To(sw, out, 0, pkt.Fields, "on")
}

// routed is a firmware that is nothing but its routing function.
func routed(
	name string, route func(*weft.Header, switching.Arrival, switching.View) switching.Decision,
) harness.Option {
	return harness.Firmware(switching.Firmware{Name: name, Route: route})
}

func TestFirmwareGetsTheVirtualChannelsItsCheckAsksFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		firmware switching.Firmware
		want     int
	}{{firmware.DeterministicLink(), 2}, {firmware.AdaptiveLink{}.Firmware(), 1}, {firmware.UpDown{}.Firmware(), 1}} {
		h := harness.New(t, tree, harness.Firmware(c.firmware))
		assert.Len(t, h.Fabric().Switch(0).Ports[0].VCs, c.want, "%T", c.firmware)
	}
}

func TestEveryOptionReachesTheFabric(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", routed("waitsForPort1", waitsForPort1), harness.VCs(3), harness.Buffers(1, 2),
		harness.NICs(settings.NIC{QueueBytes: 1000, PacketBytes: 250}), harness.TraceEvery(1))
	assert.Len(t, h.Fabric().Switch(0).Ports[0].VCs, 3)
	h.Cut("s0", "s1")
	for range 4 { // the 2 packets s0 holds, and 2 in the queue of 1000 bytes, or more while they are on their way
		h.Send("n0", "n1")
	}
	h.Eventually(func() error {
		if q := h.Fabric().NIC(0).Queued; q != 3 {
			return fmt.Errorf("%d packets are queued, expected 3: the switch takes one", q)
		}
		return nil
	})
	h.Send("n0", "n1")
	_, err := h.Fabric().Send(0, 1, false)
	assert.ErrorContains(t, err, "send queue full (1000 of 1000 bytes)")
	h.Restore("s0", "s1")
	assert.EqualValues(t, 5, h.RequireLedger(harness.LostAtMost(0), harness.NoneDiscarded).Delivered)
}

func TestSwitchesAndLinksSetAllThatTheirOptionsHold(t *testing.T) {
	t.Parallel()
	h := harness.New(t, tree, harness.FirmwareByName("updown"), harness.Switches(settings.Switch{VCs: 2, InputBuffer: 5}),
		harness.Options(harness.Links(settings.Link{Rate: 1e5}), harness.Traffic("pairwise:0.5")))
	sw := h.Fabric().Switch(0)
	assert.Len(t, sw.Ports[0].VCs, 2)
	assert.Equal(t, 5, sw.Ports[0].VCs[0].Credits)
	h.Eventually(delivered(h, 100))
	h.RequireLedger()
}

func TestOverNATSTheSameHoldsAsInMemory(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, tree, live.OverNATS(), harness.Traffic("uniform:0.2"))
	h.Eventually(delivered(h, 50))
	h.Cut("s0.00", "s1.00")
	path := h.RequireDelivered(h.Send("n100", "n000"))
	assert.Equal(t, "s2.00", path.Switches()[len(path.Hops)-1])
	h.Restore("s0.00", "s1.00")
	h.RequireLedger(harness.NoneDiscarded)
}

func TestTheSeedFixesWhatIsInjected(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	first := func(seed uint64) (packets []harness.Packet) {
		h := harness.New(t, tree, harness.Seed(seed), harness.Traffic("pairwise:1"), harness.TraceEvery(1),
			harness.Links(settings.Link{Rate: 16_000})) // so slow that a busy machine does not forget the first packets
		h.Eventually(delivered(h, 64))
		h.RequireLedger()
		for src := range weft.NICID(8) {
			for dst := range weft.NICID(8) {
				if p := (harness.Packet{Src: src, Dst: dst}); h.Path(p).End == weft.Delivered {
					packets = append(packets, p)
				}
			}
		}
		return packets
	}
	a := first(1)
	require.Len(t, a, 8, "each NIC sends to one other")
	assert.Equal(t, a, first(1))
	assert.NotEqual(t, a, first(2))
}

func TestPathNamesSwitchesAndRulesInOrder(t *testing.T) {
	t.Parallel()
	h := harness.New(t, tree, harness.FirmwareByName("updown"))
	path := h.RequireDelivered(h.Send("n000", "n011"))
	assert.Equal(t, []string{"s2.00", "s1.01", "s2.01"}, path.Switches())
	assert.Equal(t, []string{"1: up", "2: down", "2: down"}, path.Rules())
	assert.Equal(t, weft.Delivered, path.End)
}

func TestCrashAndRestartLoseOnlyWhatTheSwitchHeldAndItsLinks(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, tree, harness.Traffic("uniform:0.5"))
	h.Eventually(delivered(h, 100))
	fault := h.Crash("s0.00")
	h.Heal()
	h.Crash("s0.01")
	h.Restart("s0.01")
	h.RequireDelivered(h.Send("n000", "n111"))
	l := h.RequireLedger()
	assert.GreaterOrEqual(t, l.Lost, fault.Lost())
}

// delivered is the condition that so many packets have been delivered.
func delivered(h *harness.Harness, n uint64) func() error {
	return func() error {
		if l := h.Fabric().Ledger(); l.Delivered < n {
			return fmt.Errorf("%d of %d packets delivered", l.Delivered, n)
		}
		return nil
	}
}
