package measure

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// layeredRing is a ring under full load, by the shorter way, whose packets enter in the layer that
// of says.
func layeredRing(t testing.TB, vcs int, of func(s, d int) []weft.Address) Config {
	c := config(t, "ring:6", "", 1)
	n := len(c.Topology.Switches)
	ports := make([]int, n)
	for i := range ports {
		ports[i] = c.Topology.Switches[i].Ports
	}
	lft, err := tables.NewTables(vcs, n, ports)
	require.NoError(t, err)
	for s := range n {
		for d := range n {
			p := weft.PortID(2) // to its NIC
			if s != d {
				p = 0
				if shorterIsUp(n, s, d) {
					p = 1
				}
			}
			row, err := lft.AddRow(weft.SwitchID(s), []tables.Hop{{Port: p, VC: tables.SameVC}})
			require.NoError(t, err)
			require.NoError(t, lft.Set(weft.SwitchID(s), weft.NICID(d), row))
		}
	}
	a, err := tables.NewAssignment(n, n, vcs, 1,
		func(s weft.SwitchID, d weft.NICID) []weft.Address { return of(int(s), int(d)) })
	require.NoError(t, err)
	c.Firmware, c.Switch.VCs = firmware.Layered{Tables: lft, Assignment: a}.Firmware(), vcs
	return c
}

// shorterIsUp: half way round the way up is.
func shorterIsUp(n, s, d int) bool { return 2*((d-s+n)%n) <= n }

func TestARingThatIsMinimalInOneLayerDeadlocksAndInTwoDoesNot(t *testing.T) {
	t.Parallel()
	r := measured(t, layeredRing(t, 1, func(int, int) []weft.Address { return []weft.Address{{}} }))
	require.True(t, r.Deadlocked)
	assert.Equal(t, "s0 -> s1 vc0, s1 -> s2 vc0, s2 -> s3 vc0, s3 -> s4 vc0, s4 -> s5 vc0, s5 -> s0 vc0", r.Cycle)

	r = measured(t, layeredRing(t, 2, func(s, d int) []weft.Address {
		if shorterIsUp(6, s, d) != (s < d) { // around the end
			return []weft.Address{{VC: 1}}
		}
		return []weft.Address{{}}
	}))
	assert.False(t, r.Deadlocked)
	assert.Greater(t, r.Accepted, 0.3)
	assert.Zero(t, r.Reordered)
}

// A run is the same, to the last event, whether its packets enter in VC 0 because a firmware says
// so or because none says anything.
func TestOneAddressInTheFirstLayerChangesNothing(t *testing.T) {
	t.Parallel()
	c := layeredRing(t, 2, func(int, int) []weft.Address { return []weft.Address{{}} })
	c.Traffic.Load = 0.2
	with := measured(t, c)
	c.Firmware = firmware.Static{Tables: c.Firmware.Program.Tables}.Firmware()
	require.Equal(t, measured(t, c), with)
}

// Registers that expire otherwise leave a firmware what else it is.
func TestAFirmwareWithAnotherTimerStillAssignsAndBounds(t *testing.T) {
	t.Parallel()
	c := around(t)
	c.Firmware, c.Switch.VCs, c.RegisterExpire = withTimer(c.Topology, cycle), 2, 7
	c.Firmware.Addresses = func(*weft.Place, weft.PortID, weft.NICID) []weft.Address { return []weft.Address{{VC: 1}} }
	c.Firmware.MostHops = 5
	n, err := build(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, []weft.Address{{VC: 1}}, n.addresses(1)(2))
	require.Equal(t, 5, n.firmware.MostHops)
	require.EqualValues(t, 7*c.Cycle, n.firmware.Registers(nil)[0].Expire)
}
