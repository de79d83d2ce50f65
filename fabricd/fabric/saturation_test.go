package fabric_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestASaturatedFabricIsNeverWedgedByALinkCutAThousandTimes(t *testing.T) {
	testenv.Unraced(t)
	times := testenv.Levels(1000, 20, 6)
	spec, nics := loadedTree()
	for name, f := range linkFirmware {
		t.Run(name, func(t *testing.T) {
			h := harness.New(t, spec, saturating(nics), harness.Firmware(f))
			links := betweenSwitches(h.Topology())
			saturated(h)
			for i := range times {
				l := links[[]int{0, len(links)/2 + 6}[i%2]] // one of each tier
				h.Cut(ends(h, l))
				more(h, 20)
				restore(h, l)
				more(h, 20)
			}
			h.Cut(ends(h, links[0])) // and stays cut, so that all that waited for it must find another way
			totals := h.Fabric().Totals()
			require.Positive(t, totals.Rerouted)
			// adaptive-link may discard while a re-route vector remembers faults that are gone, and
			// none is waited for here.
			l := h.RequireLedger()
			assert.Len(t, h.Fabric().Faults(), times+1)
			if name == "deterministic-link" {
				healed(t, h)
			}
			t.Logf("%d delivered, %d lost, %d discarded, %d refused", l.Delivered, l.Lost, l.Discarded, totals.Refused)
		})
	}
	attack.Seen(t, "a link of a saturated fabric cut", times*len(linkFirmware))
}

// irregular are ways to choose the up port that no table would: up/down is free of deadlock
// whatever the choice.
var irregular = map[string]func(sw switching.View, pkt *weft.Header) int{
	"random": func(sw switching.View, _ *weft.Header) int { return int(sw.Draw() % uint64(sw.Place().Tree.K)) },
	"hash": func(sw switching.View, pkt *weft.Header) int {
		h := (uint64(pkt.Src)<<32 | uint64(pkt.Dst)) * 0x9E3779B97F4A7C15
		return int(h >> 33 % uint64(sw.Place().Tree.K))
	},
	"all by one": func(switching.View, *weft.Header) int { return 0 },
}

func TestUpDownWithAnIrregularChoiceOfUpPortsDoesNotDeadlockAtSaturation(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	cuts := testenv.Levels(10, 4, 2)
	spec, nics := loadedTree()
	for name, up := range irregular {
		t.Run(name, func(t *testing.T) {
			h := harness.New(t, spec, saturating(nics), harness.Firmware(firmware.UpDown{Up: up}.Firmware()),
				harness.Buffers(1, 1))
			links := betweenSwitches(h.Topology())
			saturated(h)
			for i := range cuts {
				more(h, 1000)
				h.Cut(ends(h, links[i*11]))
				more(h, 1000)
				restore(h, links[i*11])
			}
			h.RequireLedger()
			require.Empty(t, h.Fabric().Deadlock())
		})
	}
}

// clockwise can deadlock: every packet goes round the ring in one virtual channel.
func clockwise(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	out := weft.PortID(1)
	if uint32(sw.Place().Switch) == uint32(pkt.Dst) {
		out = 2
	}
	if !sw.PortUp(out) {
		return switching.Discard("dead")
	}
	return switching.To(sw, out, 0, pkt.Fields, "on")
}

func TestAFirmwareThatCanDeadlockDoesAndQuiesceNamesTheCycle(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", saturating(4), harness.Firmware(switching.Firmware{Name: "clockwise", Route: clockwise}),
		harness.Buffers(1, 1))
	// Sooner or later the packets in the ring all want to go on. Then no more are delivered, for
	// ever.
	last, same := uint64(0), 0
	h.Eventually(func() error {
		if d := delivered(h); d != last {
			last, same = d, 0
		} else if same++; same > 100 {
			return nil
		}
		return fmt.Errorf("%d packets delivered and counting", last)
	})
	stuck := h.QuiesceStuck()
	require.Len(t, stuck.Cycle, 4)
	for i, c := range stuck.Cycle {
		assert.Equal(t, 1, c.Port)
		assert.Equal(t, 0, c.VC)
		assert.Equal(t, stuck.Cycle[(i+1)%4].Switch, c.To)
	}
	assert.ErrorContains(t, stuck,
		"wait for each other: s0 -> s1 vc0, s1 -> s2 vc0, s2 -> s3 vc0, s3 -> s0 vc0, and round again")
	assert.True(t, stuck.Ledger.Balanced)
	assert.GreaterOrEqual(t, stuck.Ledger.Waiting.Switches, uint64(8))
	assert.ErrorContains(t, h.Fabric().CreditsHome(), "credits are missing")

	h.Crash("s0") // it takes its part of the cycle along, and all drain but the queue of its NIC
	stuck = h.QuiesceStuck()
	assert.Empty(t, stuck.Cycle)
	assert.Equal(t, stuck.Ledger.InFlight, stuck.Ledger.Waiting.Queues)
	h.Restart("s0")
	assert.Positive(t, h.RequireLedger().LostCrash)
	assert.Empty(t, h.Fabric().Deadlock())
}

// waits sends packets on even when the link is dead: they wait for it, which is no deadlock.
func waits(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	out := weft.PortID(1)
	if uint32(sw.Place().Switch) == uint32(pkt.Dst) {
		out = 2
	}
	return switching.To(sw, out, 0, pkt.Fields, "on")
}

func TestPacketsThatWaitForADeadLinkAreStuckAndNotDeadlocked(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, "ring:4", harness.Firmware(switching.Firmware{Name: "waits", Route: waits}))
	h.Cut("s2", "s3")
	var sent []harness.Packet
	for range 20 {
		sent = append(sent, h.Send("n0", "n3"))
	}
	stuck := h.QuiesceStuck()
	assert.Empty(t, stuck.Cycle)
	assert.EqualValues(t, 20, stuck.Ledger.InFlight)
	assert.ErrorContains(t, stuck, "nothing moves but 20 packets are left")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // far below what it takes to be stuck
	defer cancel()
	l, err := h.Fabric().Quiesce(ctx)
	var late *fabric.NotDrainedError
	require.ErrorAs(t, err, &late)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, l, late.Ledger)
	assert.False(t, l.Balanced)
	assert.Regexp(t, `^not drained in [\d.]+m?s, so the ledger was not checked$`, l.NotChecked)
	assert.Regexp(t,
		`^not drained in [\d.]+m?s, so the ledger was not checked: 20 packets are left: \d+ in send queues, \d+ in switches, 0 on wires: \d+ in `, err.Error())
	assert.Contains(t, err.Error(), " in switch s2, which wait for the link to s3, which is down")
	assert.Contains(t, err.Error(), " in switch s1, which wait for room at s2")
	assert.Contains(t, err.Error(), " in the send queue of n0, which wait for room at s0")
	h.Restore("s2", "s3")
	for _, p := range sent {
		h.RequireDelivered(p)
	}
	h.RequireLedger(harness.LostAtMost(0))
}
