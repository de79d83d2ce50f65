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
)

// remembering is a firmware with two registers in each switch.
func remembering(r route) switching.Firmware {
	fw := routeFunc(r)
	fw.Registers = func(*weft.Place) []switching.Register {
		return []switching.Register{{Name: "a", Width: 1}, {Name: "b", Width: 1}}
	}
	return fw
}

// A firmware may write one register without having looked at any. The others keep what they had.
func TestARegisterThatIsWrittenLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:2x2")
	marks := remembering(func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if at.From == weft.RoleNIC {
			d := shortest{g, first}.route(pkt, at, sw)
			d.Write = switching.RegisterWrite{Do: true, Index: int(pkt.Dst) % 2, Value: 1}
			return d
		}
		if sw.Register(0)+sw.Register(1) == 2 {
			return switching.Discard("both are marked")
		}
		return shortest{g, first}.route(pkt, at, sw)
	})
	r := run(t, verify.Config{Graph: g, Firmware: marks})
	require.NotNil(t, r.Counter, "packets from one NIC to others mark both")
	assert.Equal(t, "both are marked", r.Counter.Ends)
	assert.True(t, r.Counter.Others)
}

// A switch that died and is back has registers of zero, whatever a packet left in them.
func TestASwitchThatRestartsHasForgotten(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:2x2")
	back := remembering(func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := shortest{g, first}.route(pkt, at, sw)
		if leaf, _ := g.SwitchOf(pkt.Dst); at.From == weft.RoleNIC || leaf == sw.Place().Switch || sw.Register(0) == 1 {
			return d
		}
		d = switching.To(sw, at.Port, 0, pkt.Fields, "back, once")
		d.Write = switching.RegisterWrite{Do: true, Value: 1}
		return d
	})
	c := verify.Config{Graph: g, Firmware: back, When: verify.Flapping}
	for _, c.Regs = range []verify.Registers{verify.Shared, verify.Alone} {
		for _, e := range []string{"s0.0-s1.0", "s1.0"} {
			dead, err := verify.ElementByName(g, e)
			require.NoError(t, err)
			c.Sets = verify.Sets{List: [][]verify.Element{{dead}}}
			r := run(t, c)
			assert.Equal(t, dead.Switch, r.Livelocks > 0, "%s: %s", e, r)
		}
	}
}

// So k-1 faults that come and go are too many for the re-route vector in the switch when one of
// them is the U-turn switch itself, from four ports up: it forgets one of two bad ports while the
// packet is at the other. In the header the vector is safe.
func TestAUTurnSwitchThatFlapsBreaksTheKMinus1GuaranteeOfItsVector(t *testing.T) {
	testenv.Nightly(t)
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:4,4")
	var set []verify.Element
	for _, name := range []string{"s0.000-s1.100", "s0.010-s1.110", "s2.200"} {
		e, err := verify.ElementByName(g, name)
		require.NoError(t, err)
		set = append(set, e)
	}
	livelocks := map[string]bool{"adaptive-switch": true, "adaptive-switch-header": false, "deterministic-switch": false}
	if testenv.Soak() {
		livelocks["adaptive-switch-digit"] = true
	}
	for name, want := range livelocks {
		c := verify.Config{
			Graph: g, Firmware: named(t, name), When: verify.Flapping,
			Sets: verify.Sets{List: [][]verify.Element{set}},
		}
		assert.Equal(t, want, run(t, c).Livelocks > 0, name)
		c.When = verify.Arriving
		assert.True(t, run(t, c).Pass, name)
	}
}

// Packets for a NIC whose switch is dead are sent all the same, and what they write is found by
// others.
func TestPacketsForADeadSwitchWriteRegistersToo(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "mesh:2x2")
	dead := verify.Element{Switch: true, ID: 3}
	cross := remembering(func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if sw.Register(0) == 1 {
			return switching.Discard("marked")
		}
		d := shortest{g, first}.route(pkt, at, sw)
		if leaf, _ := g.SwitchOf(pkt.Dst); leaf == 3 {
			d = switching.Discard("dead")
			d.Write = switching.RegisterWrite{Do: true, Value: 1}
		}
		return d
	})
	for _, when := range []verify.When{verify.Before, verify.Arriving, verify.Flapping} {
		r := run(t, verify.Config{Graph: g, Firmware: cross, When: when, Sets: verify.Sets{List: [][]verify.Element{{dead}}}})
		require.NotNil(t, r.Counter, when)
		assert.Equal(t, "marked", r.Counter.Ends)
		assert.EqualValues(t, 3*2, r.Walks, "pairs that are there")
		assert.NotContains(t, r.Discards, "dead")
	}
}

// They also hold channels that others wait for.
func TestPacketsForADeadSwitchCanDeadlock(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:6")
	dead := verify.Element{Switch: true, ID: 5}
	back := routeFunc(func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if leaf, _ := g.SwitchOf(pkt.Dst); leaf == 5 && at.From != weft.RoleNIC && sw.Place().Switch >= 1 &&
			sw.Place().Switch <= 3 {
			return switching.To(sw, at.Port, 0, pkt.Fields, "back")
		}
		return shortest{g, first}.route(pkt, at, sw)
	})
	r := run(t, verify.Config{Graph: g, Firmware: back, Sets: verify.Sets{List: [][]verify.Element{{dead}}}})
	assert.EqualValues(t, 1, r.Deadlocks, "%s", r)
	assert.EqualValues(t, 5*4, r.Walks)
}
