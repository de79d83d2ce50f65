package verify_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// remembering is a firmware with two registers in each switch.
type remembering struct{ routeFunc }

func (remembering) Registers(*weft.Place) []switching.Register {
	return []switching.Register{{Name: "a", Width: 1}, {Name: "b", Width: 1}}
}

// A firmware may write one register without having looked at any. The others keep what they had.
func TestARegisterThatIsWrittenLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	g := graph(t, "mesh:2x2")
	marks := remembering{func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if at.From == weft.RoleNIC {
			d := shortest{g, first}.Route(pkt, at, sw)
			d.Write = switching.RegisterWrite{Do: true, Index: int(pkt.Dst) % 2, Value: 1}
			return d
		}
		if sw.Register(0)+sw.Register(1) == 2 {
			return switching.Discard("both are marked")
		}
		return shortest{g, first}.Route(pkt, at, sw)
	}}
	r := run(t, verify.Config{Graph: g, Firmware: marks})
	require.NotNil(t, r.Counter, "packets from one NIC to others mark both")
	assert.Equal(t, "both are marked", r.Counter.Ends)
	assert.True(t, r.Counter.Others)
}

// A switch that died and is back has registers of zero, whatever a packet left in them.
func TestASwitchThatRestartsHasForgotten(t *testing.T) {
	t.Parallel()
	g := graph(t, "mesh:2x2")
	back := remembering{func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := shortest{g, first}.Route(pkt, at, sw)
		if leaf, _ := g.SwitchOf(pkt.Dst); at.From == weft.RoleNIC || leaf == sw.Place().Switch || sw.Register(0) == 1 {
			return d
		}
		d = switching.To(sw, at.Port, 0, pkt.Fields, "back, once")
		d.Write = switching.RegisterWrite{Do: true, Value: 1}
		return d
	}}
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
