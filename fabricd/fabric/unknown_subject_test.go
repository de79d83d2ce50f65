package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// The broker refuses whoever has no business on a link (bus tests show it). One who has the rights
// of the fabric itself can speak there; what he says is counted and dropped, and costs the fabric
// nothing.
func TestFramesOfAStrangerWithFullRightsAreCountedAndDropped(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "lab"})
	tr := bustest.Links(t, bus.NATSConfig{Fabric: "lab", Broker: b})
	l := startTaped(t, tr, firmware.AdaptiveLink{}.Firmware(), nil)
	foreign := bustest.Links(t, bus.NATSConfig{
		Fabric: "lab", URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric), Subscription: bus.PerDirection,
	})

	link, err := l.Topology().LinkByName("s0.00-s1.00")
	require.NoError(t, err)
	send := func(d wire.Direction, frames ...[]byte) {
		s, err := foreign.Sender(d)
		require.NoError(t, err)
		for _, f := range frames {
			require.NoError(t, s.Send(f))
		}
	}
	d := wire.Direction{From: "s0.00", FromPort: link.A.Port, To: "s1.00", ToPort: link.B.Port}
	packets := []weft.Header{{Dst: 5, Size: 256, Fields: weft.NewFields()}}
	old := wire.AppendFrame(nil, d.Sum(), &weft.Frame{From: 1 << 30, To: 1 << 30, VCs: 1, Packets: packets})
	lanes := wire.AppendFrame(nil, d.Sum(), &weft.Frame{From: 1, To: 1, VCs: 3})
	nowhere := d
	nowhere.FromPort = 77
	l.flows(100)
	send(d, []byte("garbage"), nil, old[:len(old)-1], lanes)
	send(nowhere, old)

	l.until("garbage is counted", func() bool { return l.Drivers().BadFrames == 3 })
	l.until("damaged frames are told, with how many there were", func() bool {
		var n uint64
		for _, e := range registerText(l, fabric.EventDamaged) {
			n += max(1, e.Count)
		}
		return n == 3
	})
	l.until("protocol faults are told", func() bool { return len(registerText(l, fabric.EventProtocolFault)) == 1 })
	l.until("a frame of no link is told", func() bool { return len(registerText(l, fabric.EventUnknownSubject)) == 1 })
	l.flows(100)
	assert.Empty(t, registerText(l, fabric.EventLinkDown), "the link does not even notice")

	// A frame of an epoch to come is a neighbour that has started anew: the ends agree on a new
	// epoch of their own. An end that stood still meanwhile does so
	// without an event.
	l.until("the link has been down", func() bool {
		send(d, old)
		l.flows(20)
		return len(registerText(l, fabric.EventLinkDown)) > 0
	})
	l.until("and is back", func() bool { return len(l.LinksDown()) == 0 })
	l.flows(100)
	balance := l.sound()
	assert.Zero(t, balance.Discarded)
	require.Empty(t, l.account[weft.Discarded])
	attack.Count(t, "frames of a stranger with all rights", 6)
}
