package firmware

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// saying is a firmware whose every answer has a number in it.
func saying(n int) Firmware {
	return Firmware{
		Name: "saying", VCs: n, MostHops: n, DestinationBased: true, Symmetric: true, Notifies: n > 2,
		Route:         func(*weft.Header, Arrival, View) Decision { return Decision{Rule: string(rune('0' + n))} },
		Registers:     func(*weft.Place) []Register { return make([]Register, n) },
		LeastRoom:     func(*weft.Place) int { return n },
		CheckRequeue:  mayRequeue,
		Source:        func(_ *weft.Place, _ weft.PortID, h *weft.Header) { h.Misroute = uint64(n) },
		HeaderBytes:   func(*weft.Fields) int { return n },
		Addresses:     func(*weft.Place, weft.PortID, weft.NICID) []weft.Address { return make([]weft.Address, n) },
		ChannelNumber: func(*weft.Place, weft.PortID, weft.VC) int { return n },
	}
}

// slow is f as a firmware that takes long.
func slow(f Firmware) Firmware {
	route := f.Route
	f.Batch = func(asks []*switching.Ask) func() {
		for _, k := range asks {
			k.Decision = route(&k.Packet, k.At, k.View)
		}
		return func() {}
	}
	return f
}

func TestOfAMixtureAlsoFirmwareThatTakesLongIsAskedAtItsSwitchesAlone(t *testing.T) {
	t.Parallel()
	slow, panics := slow(saying(4)), saying(5)
	slow.Route = nil
	panics.Route = func(*weft.Header, Arrival, View) Decision { panic("my mistake") }
	at := map[weft.SwitchID]Firmware{1: saying(3), 2: panics}
	require.Nil(t, Mixed(saying(2), at).Batch)
	for sw, want := range map[weft.SwitchID][2]string{0: {"4", ""}, 1: {"3", ""}, 2: {"", "my mistake"}} {
		fw := Mixed(slow, at)
		ask := switching.Ask{View: &switching.Still{At: &weft.Place{Switch: sw}}}
		fw.Batch([]*switching.Ask{&ask})()
		assert.Equal(t, want[0], ask.Decision.Rule)
		if want[1] != "" {
			require.EqualError(t, ask.Err, want[1])
		}
	}
	assert.Equal(t, switching.Asked{Queues: true, Draw: true, Now: true}, Mixed(slow, at).Reads, "as a Route may")

	quick := Firmware{Route: func(pkt *weft.Header, _ Arrival, sw View) Decision {
		return switching.To(sw, weft.PortID(pkt.Dst), 0, pkt.Fields, "")
	}}
	sw := &switching.Still{At: &weft.Place{Roles: make([]weft.Role, 4)}}
	asks := []*switching.Ask{{View: sw, Packet: weft.Header{Dst: 1}}, {View: sw, Packet: weft.Header{Dst: 2}}}
	Mixed(quick, map[weft.SwitchID]Firmware{1: slow}).Batch(asks)()
	for _, k := range asks {
		assert.EqualValues(t, k.Packet.Dst, k.Decision.Candidates[0].Port, "none is where that of another is")
	}
}

func TestOfAMixtureEachSwitchDoesAsItsFirmwareSays(t *testing.T) {
	t.Parallel()
	route := func(*weft.Header, Arrival, View) Decision { return switching.Discard("plain") }
	plain := Firmware{Name: "plain", MostHops: 9, Route: route}
	fw := Mixed(saying(2), map[weft.SwitchID]Firmware{1: saying(3), 2: plain})
	for sw, want := range map[weft.SwitchID]struct {
		rule string
		n    int
	}{0: {"2", 2}, 1: {"3", 3}, 2: {"plain", 0}} {
		place := &weft.Place{Switch: sw}
		assert.Equal(t, want.rule, fw.Route(&weft.Header{}, Arrival{}, &switching.Still{At: place}).Rule)
		assert.Len(t, fw.RegistersAt(place), want.n)
		assert.Equal(t, max(1, want.n), fw.LeastRoom(place))
		assert.Len(t, fw.Addresses(place, 0, 0), want.n)
		h := weft.Header{Size: 100}
		fw.Write(place, 0, &h)
		assert.EqualValues(t, want.n, h.Misroute)
		assert.EqualValues(t, 103, h.Size, "as much longer as any says")
		assert.Equal(t, want.n == 0, fw.Requeues(place) != nil)
		if want.n > 0 {
			require.ErrorContains(t, fw.Fits(place, want.n-1), "virtual channels")
		}
		require.NoError(t, fw.Fits(place, max(1, want.n)))
	}
	assert.Equal(t, 9, fw.MostHops)
	assert.True(t, fw.Notifies)
	assert.False(t, fw.DestinationBased, "plain does not say so")
	assert.False(t, fw.Symmetric)
	assert.Nil(t, fw.ChannelNumber)
	assert.Nil(t, Mixed(plain, map[weft.SwitchID]Firmware{1: plain}).Registers)
	unbounded := map[weft.SwitchID]Firmware{1: {Route: plain.Route}}
	assert.Equal(t, weft.MaxHops, Mixed(plain, unbounded).MostHops)
}
