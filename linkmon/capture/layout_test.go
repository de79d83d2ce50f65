package capture

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// full is a record with no two fields alike.
func full(t testing.TB) Record {
	t.Helper()
	r := Record{
		Kind: KindPacket, State: StateImpaired, SrcName: "n000", DstName: "n133", Index: 3, Packets: 7, From: 0x01020304,
		To:   0x05060708,
		Sent: 1 << 40, Limit: 1<<41 + 5,
		Header: weft.Header{
			Src: 11, Dst: 1<<18 - 1, Seq: 1 << 50, Injected: weft.Second + 7, Size: 1500, VC: 13, Generation: 9,
			Hops: 300, Reroutes: 2, Traced: true,
			Fields: weft.Fields{PortField: weft.PortFieldDown, Path: 0x0203, Layers: 0x8001, Misroute: 1<<63 | 5},
		},
	}
	for _, p := range []weft.PortID{255, 0, 17} {
		r.Header.Route, _ = r.Header.Route.Push(p)
	}
	r.Header.Sub = weft.SubHeaders{
		weft.NewSubHeader(0x0a0b).WithDeterministic().WithMisroute(0, 1, 2).WithMisroute(1, 4, 8),
		weft.NewSubHeader(0).WithOtherWay(1).WithOtherWay(3).WithMisroute(0, 7, 1).WithMisroute(1, 6, 3).WithMisroute(2, 5,
			4),
	}
	return r
}

// Decode reads a record of this version that is all of data.
func Decode(t testing.TB, data []byte) (r Record) {
	t.Helper()
	in := bytes.NewReader(data)
	read := func(fields ...any) {
		for _, f := range fields {
			require.NoError(t, binary.Read(in, binary.BigEndian, f))
		}
	}
	text := func(n int) string {
		b := make([]byte, n)
		read(b)
		return string(b)
	}
	var version, flags, route, subs, n uint8
	read(&version, &r.Kind, &flags, &r.State)
	require.EqualValues(t, Version, version)
	if r.Kind == KindMark {
		var n uint16
		read(&n)
		r.Text = text(int(n))
	} else {
		h := &r.Header
		h.Traced = flags == flagTraced
		read(&h.VC, &route, &h.Generation, &h.Src, &h.Dst, &h.Seq, &h.Injected, &h.Size, &h.Hops, &h.Reroutes, &h.PortField)
		read(&r.Index, &r.Packets, &h.Misroute, &r.From, &r.To, &r.Sent, &r.Limit, &h.Path, &h.Layers, &subs)
		ports := []byte(text(int(route)))
		for _, p := range slices.Backward(ports) {
			h.Route, _ = h.Route.Push(weft.PortID(p))
		}
		read(h.Sub[:subs])
		for _, name := range []*string{&r.SrcName, &r.DstName} {
			read(&n)
			*name = text(int(n))
		}
	}
	if in.Len() > 0 {
		require.Equal(t, KindPacket, r.Kind, "bytes follow its end")
		r.Payload = []byte(text(in.Len()))
	}
	return r
}

func TestARecordReadsBackAsItWasWritten(t *testing.T) {
	for name, r := range map[string]Record{
		"full":    full(t),
		"carries": {Kind: KindPacket, Payload: []byte("payload"), Header: weft.Header{Fields: weft.NewFields()}},
		"empty":   {Kind: KindPacket, Header: weft.Header{Fields: weft.NewFields()}},
		"mark":    {Kind: KindMark, State: StateSilent, Text: "cut of s0.00-s1.00"},
		"no text": {Kind: KindMark},
	} {
		data := Append([]byte("before"), &r)
		require.Equal(t, "before", string(data[:6]), name)
		require.Equal(t, r, Decode(t, data[6:]), name)
	}
}

// The layout is what the documentation says: files of before must stay readable.
func TestTheLayoutStaysAsItIsDocumented(t *testing.T) {
	r := full(t)
	require.Equal(t, []byte{
		4, 1, 1, 3,
		13, 3, 0, 9, 0, 0, 0, 11, 0, 3, 0xff, 0xff, 0, 4, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0xe8, 0xd4, 0xa5, 0x10, 0x07, 0, 0, 5, 0xdc, 1, 44, 0, 2, 0xff, 0xfe, 0, 3, 0, 7,
		0x80, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 8,
		0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 5,
		2, 3, 0x80, 1,
		2, 17, 0, 255,
		0x80, 0, 0, 4, 0x82, 0x41, 0x0a, 0x0b, 0x80, 0, 0x02, 0xa6, 0x3e, 0x34, 0, 0,
		4, 'n', '0', '0', '0', 4, 'n', '1', '3', '3',
	}, Append(nil, &r))
	require.Equal(t, []byte{4, 2, 0, 1, 0, 2, 'h', 'i'}, Append(nil, &Record{Kind: KindMark, State: StateCut, Text: "hi"}))
}

func TestWhatDoesNotFitIsCut(t *testing.T) {
	r := Record{
		Kind: KindPacket, SrcName: strings.Repeat("s", 300), DstName: "d",
		Header: weft.Header{Fields: weft.NewFields()},
	}
	got := Decode(t, Append(nil, &r))
	require.Equal(t, []string{r.SrcName[:255], "d"}, []string{got.SrcName, got.DstName})
	r = Record{Kind: KindMark, Text: strings.Repeat("x", 1<<17)}
	got = Decode(t, Append(nil, &r))
	require.Len(t, got.Text, 1<<16-1)
}
