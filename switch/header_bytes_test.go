package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// sized is a firmware whose sub-headers take 5 bytes each, and whose NICs write two.
func sized(fw *scripted) *Firmware {
	f := fw.value()
	f.HeaderBytes = func(f *weft.Fields) int { return 5 * f.Sub.Len() }
	f.Source = func(_ *weft.Place, at weft.PortID, h *weft.Header) {
		h.Sub = weft.SubHeaders{weft.NewSubHeader(weft.SwitchID(at)), weft.NewSubHeader(0)}
	}
	return &f
}

// newSizedRig is a rig whose firmware takes off a sub-header and sends by the first live port of 1
// and 2.
func newSizedRig(t testing.TB, c Config) *rig {
	fw := &scripted{route: func(h *weft.Header, _ Arrival, sw View) Decision {
		f := h.Fields
		f.Sub = f.Sub.Pop()
		for p := range weft.PortID(2) {
			if sw.PortUp(p + 1) {
				return To(sw, p+1, 0, f, "live")
			}
		}
		return Discard("none is live")
	}}
	c.Firmware = *sized(fw)
	return newRig(t, 3, c)
}

func TestAPacketIsAsLongAsItsFieldsTakeOnTheWire(t *testing.T) {
	r := newSizedRig(t, Config{InputBuffer: 8})
	h := weft.Header{Size: 100, Fields: weft.NewFields()}
	r.cfg.Firmware.Write(nil, 7, &h)
	require.EqualValues(t, 110, h.Size)
	require.EqualValues(t, 7, h.Sub[0].To())
	for _, want := range []uint32{105, 100, 100} { // the third has none that could be taken off
		r.arriveHeader(0, h)
		out, ok := r.send(1)
		require.True(t, ok)
		require.Equal(t, want, out.Size)
		h.Fields, h.Size = out.Fields, out.Size
	}
}

func TestAPacketThatIsRoutedASecondTimeIsShortenedOnce(t *testing.T) {
	r := newSizedRig(t, Config{Requeue: true})
	h := weft.Header{Size: 100, Fields: weft.NewFields()}
	r.cfg.Firmware.Write(nil, 0, &h)
	r.arriveHeader(0, h)
	r.cut(1)
	out, ok := r.send(2)
	require.True(t, ok)
	require.EqualValues(t, 105, out.Size)
	require.Equal(t, 1, out.Sub.Len())
}

func TestNoPacketIsLongerThanOneCanBeOrShorterThanNothing(t *testing.T) {
	h := weft.Header{Size: weft.MaxPacket - 3}
	sized(&scripted{}).Write(nil, 0, &h)
	require.EqualValues(t, weft.MaxPacket, h.Size)
	h.Size = 3 // as no NIC makes it: the wire is not trusted
	r := newSizedRig(t, Config{})
	r.arriveHeader(0, h)
	out, _ := r.send(1)
	require.Zero(t, out.Size)
}

func TestOnlyAFirmwareThatChangesPacketsOfNICsIsAsked(t *testing.T) {
	plain, writes := (&scripted{}).value(), sized(&scripted{})
	require.False(t, plain.Writes())
	require.True(t, writes.Writes())
	h := weft.Header{Size: 100}
	writes.Write(nil, 3, &h)
	require.EqualValues(t, 110, h.Size)
	h = weft.Header{Size: 100}
	plain.Write(nil, 0, &h)
	require.Equal(t, weft.Header{Size: 100}, h)
}

func TestAFirmwareThatIsLoadedSaysHowLongPacketsAre(t *testing.T) {
	r := newSizedRig(t, Config{})
	require.NotNil(t, r.bytes)
	r.call(func() { require.NoError(t, r.Load(r.now, r.fw.value(), 1, &r.out)) })
	require.Nil(t, r.bytes)
}
