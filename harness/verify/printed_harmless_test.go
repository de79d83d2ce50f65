package verify_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Changes that look as wrong as the others, and within k-1 faults are not: the checker must not cry
// wolf. Each is told from the real firmware by something else.
func TestChangesThatDoNoHarmWithinKMinus1Pass(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	header, link := firmware.MisrouteVector{}.Firmware(), firmware.AdaptiveLink{}.Firmware()
	adaptive, fixed := firmware.AdaptiveSwitch{}.Firmware(), firmware.DeterministicSwitch{}.Firmware()
	for _, c := range []struct {
		name   string
		real   switching.Firmware
		rule   rule
		on     string
		kind   verify.Kind
		faults int
		hops   int // at most, of the changed firmware and of the real one
	}{
		{"R_m: 5 for packets from any switch below", header, alwaysBounces, "3,3", verify.Links, 2, 9},
		{"R_m: 2 also for packets from a U-turn switch", header, neverBounces, "3,3", verify.Links, 2, 9},
		{"R_m: the vector not cleared, faults in one group", header, vectorNotCleared, "3,3", verify.Links, 2, 9},
		{"R_m: dead ports named beside live ones", header, deadUps, "3,2", verify.Links, 2, 7},
		{"adaptive-link: the vector consulted on the way up", link, vectorConsultedUp, "3,3", verify.Links, 2, 9},
		{"adaptive-switch: 7 for port field -2 only", adaptive, sevenOnlyMinus2, "3,3", verify.Switches, 2, 13},
		{"adaptive-switch: port field of another port", adaptive, portFieldOfAnother, "2,3", verify.Any, 1, 9},
		{"deterministic-switch: port field of another port", fixed, portFieldOfAnother, "3,3", verify.Switches, 2, 17},
		{"deterministic-switch: 2c stays in ML1", fixed, layerOf("2c", ml1), "3,3", verify.Switches, 2, 17},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := verify.Config{
				Graph: topologytest.Parse(t, "kary-ntree:"+c.on), Firmware: with(c.real, c.rule),
				Sets: verify.Sets{
					Kind: c.kind, Min: testenv.Levels(0, c.faults, c.faults), Max: c.faults,
					Samples: testenv.Levels(0, 100, 100), Seed: 1,
				},
			}
			r := run(t, config)
			assert.True(t, r.Pass, "%s\n%v", r, r.Counter)
			assert.Equal(t, c.hops, r.MaxHops)
			config.Firmware = c.real
			r = run(t, config)
			assert.True(t, r.Pass, "%s\n%v", r, r.Counter)
			assert.Equal(t, c.hops, r.MaxHops)
		})
	}
}

// beyond runs a firmware over sets of exactly so many links.
func beyond(t *testing.T, fw switching.Firmware, on string, faults int) *verify.Result {
	t.Helper()
	return run(t, verify.Config{
		Graph: topologytest.Parse(t, on), Firmware: fw,
		Sets: verify.Sets{Min: faults, Max: faults},
	})
}

// "All other bits set: discard" to the letter waits for a dead port when the only clear bits are of
// dead ports: a packet that would be discarded holds its buffer for ever.
func TestAPortThatIsDeadAndNotInTheVectorIsWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	fw := firmware.MisrouteVector{}.Firmware()
	real, literal := beyond(t, fw, "kary-ntree:3,2", 3), beyond(t, with(fw, deadUps), "kary-ntree:3,2", 3)
	const waits = "4: U-turn, an up port not in the misroute vector: waits for dead ports only"
	none := "6: every up port is dead or in the misroute vector"
	require.Positive(t, real.Discards[none])
	assert.Zero(t, real.Discards[waits])
	assert.Positive(t, literal.Discards[none+": waits for dead ports only"]+literal.Discards[waits], "%v",
		literal.Discards)
	assert.Less(t, literal.Discards[none], real.Discards[none])
}

// Rule 7 must hold for port field -1 at the leaves: otherwise a packet that no port leads on goes
// around for ever.
func TestRule7ForPortFieldMinus2OnlyIsALivelockBeyondKMinus1(t *testing.T) {
	t.Parallel()
	assert.Zero(t, beyond(t, firmware.AdaptiveSwitch{}.Firmware(), "kary-ntree:2,2", 2).Livelocks)
	r := beyond(t, with(firmware.AdaptiveSwitch{}.Firmware(), sevenOnlyMinus2), "kary-ntree:2,2", 2)
	require.NotNil(t, r.Counter)
	assert.Positive(t, r.Livelocks)
}

// The vector is for U-turns. Consulted on the way up it shuts out packets that have nothing to do
// with the faults.
func TestAVectorConsultedOnTheWayUpCostsPairsBeyondKMinus1(t *testing.T) {
	t.Parallel()
	real := beyond(t, firmware.AdaptiveLink{}.Firmware(), "kary-ntree:2,3", 2)
	up := beyond(t, with(firmware.AdaptiveLink{}.Firmware(), vectorConsultedUp), "kary-ntree:2,3", 2)
	assert.Greater(t, up.Unconnected, real.Unconnected)
	assert.Positive(t, up.Discards["1: an up port not in the vector"])
}

// One vector shared by all packets discards, beyond k-1, packets that have a way left: fewer are
// lost with one per digit or with the vector in the header. Alone in the fabric a packet does as
// well with either register. (The header's vector is not the best of the three here, because R_m's
// first bounce may go to any switch below and from there find no way, where R^link_adaptive goes
// back.)
func TestASharedVectorDiscardsPacketsThatItNeedNot(t *testing.T) {
	t.Parallel()
	count := func(fw switching.Firmware, regs verify.Registers) uint64 {
		return run(t, verify.Config{
			Graph: topologytest.Parse(t, "kary-ntree:3,2"), Firmware: fw,
			Sets: verify.Sets{Min: 3, Max: 3}, Regs: regs,
		}).Unconnected
	}
	shared := count(firmware.AdaptiveLink{}.Firmware(), verify.Shared)
	digit := count(firmware.AdaptiveLink{Vector: firmware.VectorPerDigit}.Firmware(), verify.Shared)
	header := count(firmware.MisrouteVector{}.Firmware(), verify.Shared)
	t.Logf("pairs not connected by three dead links: one vector %d, per digit %d, in the header %d", shared, digit, header)
	assert.Greater(t, shared, digit)
	assert.Greater(t, shared, header)
	assert.Equal(t, digit, count(with(firmware.MisrouteVector{}.Firmware(), alwaysBounces), verify.Shared))
	assert.Equal(t, count(firmware.AdaptiveLink{}.Firmware(), verify.Alone),
		count(firmware.AdaptiveLink{Vector: firmware.VectorPerDigit}.Firmware(), verify.Alone))
}

// An output fixed on arrival makes cycles of two dead links real, for the adaptive firmwares alone:
// the deterministic ones have only one output to choose.
func TestAnOutputFixedOnArrivalDeadlocksAtTwoFaults(t *testing.T) {
	t.Parallel()
	for name, fw := range map[string]switching.Firmware{
		"adaptive-link":       firmware.AdaptiveLink{}.Firmware(),
		"misroute-vector":     firmware.MisrouteVector{}.Firmware(),
		"adaptive-switch":     firmware.AdaptiveSwitch{}.Firmware(),
		"adaptive-link-digit": firmware.AdaptiveLink{Vector: firmware.VectorPerDigit}.Firmware(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := verify.Config{
				Graph: topologytest.Parse(t, "kary-ntree:3,2"), Firmware: fw,
				Sets: verify.Sets{Max: 2},
			}
			r := run(t, config)
			assert.True(t, r.Pass, "chosen anew while blocked: %v", r.Counter)
			assert.Positive(t, r.CyclicSets)
			config.FixedChoice = true
			r = run(t, config)
			require.NotNil(t, r.Counter)
			assert.False(t, r.Pass)
			assert.Equal(t, verify.Deadlock, r.Counter.What)
			assert.Len(t, r.Counter.Faults, 2)
			assert.Equal(t, 2, firstDeadlock(r))
			assert.NotEmpty(t, r.Counter.Channels)
		})
	}
	for name, fw := range map[string]switching.Firmware{
		"deterministic-link":   firmware.DeterministicLink(),
		"deterministic-switch": firmware.DeterministicSwitch{}.Firmware(),
	} {
		r := run(t, verify.Config{
			Graph: topologytest.Parse(t, "kary-ntree:3,2"), Firmware: fw,
			Sets: verify.Sets{Max: 2}, FixedChoice: true,
		})
		assert.True(t, r.Pass, name)
	}
}

// portFieldOfAnother stores the number of another down port.
func portFieldOfAnother(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "5:", "6:") {
		return withPortField(d, int16((int(at.Port)+1)%sw.Place().Tree.Down))
	}
	return d
}
