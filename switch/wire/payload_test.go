package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
)

func loaded(p *wire.Payloads, sizes ...int) *weft.Frame {
	f := &weft.Frame{From: 1, To: 2, VCs: 2}
	for i, n := range sizes {
		h := weft.Header{Src: 1, Dst: 2, Seq: uint64(i), Size: uint32(n + weft.PayloadOverhead), VC: weft.VC(i % 2)}
		if n > 0 {
			h.Payload = p.Put(bytes.Repeat([]byte{byte(i + 1)}, n))
			f.Carrying++
		}
		f.Packets = append(f.Packets, h)
	}
	p.Load(f)
	return f
}

func TestPayloadsTravelInFrames(t *testing.T) {
	t.Parallel()
	var here, there wire.Payloads
	f := loaded(&here, 1, 0, weft.MaxPayload)
	var got weft.Frame
	require.NoError(t, wire.DecodeFrame(&got, 5, wire.AppendFrame(nil, 5, f)))
	there.Unload(&got)
	require.Zero(t, got.Packets[1].Payload)
	require.Equal(t, []byte{1}, there.Bytes(got.Packets[0].Payload))
	require.Equal(t, here.Bytes(f.Packets[2].Payload), there.Bytes(got.Packets[2].Payload))
	require.Equal(t, 2, there.Held())
	there.FreeOf(got.Packets)
	require.Zero(t, there.Held())
}

func TestFramesWithoutPayloadsAreOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	data := wire.AppendFrame(nil, 0, &weft.Frame{VCs: 1, Packets: []weft.Header{{Size: 1}}})
	require.EqualValues(t, []byte{0x98, wire.Version}, data[:2])
}

func TestAPayloadLongerThanItsPacketIsRefused(t *testing.T) {
	t.Parallel()
	var p wire.Payloads
	f := loaded(&p, 100)
	f.Packets[0].Size = 99
	var got weft.Frame
	require.ErrorIs(t, wire.DecodeFrame(&got, 0, wire.AppendFrame(nil, 0, f)), wire.ErrFrame)
}

func TestFitKeepsFramesWithinTheTransport(t *testing.T) {
	t.Parallel()
	var p wire.Payloads
	rest := *loaded(&p, 9000, 9000, 9000, 100, 100)
	packets, sent := 0, rest.Sent
	for len(rest.Packets) > 0 {
		part := rest
		rest = wire.Fit(&part, 20_000)
		require.Equal(t, sent, part.Sent)
		require.LessOrEqual(t, len(wire.AppendFrame(nil, 0, &part)), 20_000)
		for _, h := range part.Packets {
			require.EqualValues(t, packets, h.Seq)
			sent[h.VC]++
			packets++
		}
	}
	require.Equal(t, 5, packets)
}
