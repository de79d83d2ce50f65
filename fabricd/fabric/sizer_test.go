package fabric_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// shedding goes up a ring. Its NICs write two sub-headers of 7 bytes, of which the first switch
// takes one off.
var shedding = switching.Firmware{
	Name: "shedding",
	Source: func(_ *weft.Place, _ weft.PortID, h *weft.Header) {
		h.Sub = weft.SubHeaders{weft.NewSubHeader(1), weft.NewSubHeader(0)}
	},
	HeaderBytes: func(f *weft.Fields) int { return 7 * f.Sub.Len() },
	Route:       shed,
}

func shed(h *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	f, port := h.Fields, weft.PortID(1)
	if at.From == weft.RoleNIC {
		f.Sub = f.Sub.Pop()
	}
	if g := sw.Place().Grid; uint32(h.Dst) == g.Dims[0].At {
		port = g.NICPort(h.Dst)
	}
	return switching.To(sw, port, 0, f, "up")
}

// sizes notes how long packets are when they arrive, and with how many sub-headers.
type sizes struct {
	mu      sync.Mutex
	arrived map[[2]int]int
}

func (s *sizes) Record(_ weft.Time, _ weft.Node, a *weft.Actions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range a.Arrived {
		s.arrived[[2]int{int(a.Arrived[i].Size), a.Arrived[i].Sub.Len()}]++
	}
}

// As in virtual time: what a NIC writes makes the packet longer on the link, and what a switch
// takes off makes it shorter.
func TestLivePacketsAreAsLongAsTheirFields(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "sizes", NoListen: true})
	tr := bustest.Links(t, bus.NATSConfig{Fabric: "sizes", Broker: b})
	g := topologytest.Parse(t, "ring:4")
	seen := &sizes{arrived: map[[2]int]int{}}
	f, err := fabric.New(fabric.Options{
		Topology: g, Firmware: shedding, Transport: tr, Record: seen, Seed: 7,
	})
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	t.Cleanup(f.Stop)
	const packets = 50
	for range packets {
		_, err := f.Send(0, 2, true)
		require.NoError(t, err)
	}
	balance, err := f.Quiesce(t.Context())
	require.NoError(t, err)
	require.True(t, balance.Balanced, "%+v", balance)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Equal(t, map[[2]int]int{{nic.DefaultPacketBytes + 7, 1}: packets}, seen.arrived)
}
