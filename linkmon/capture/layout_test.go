package capture

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// full is a record with no two fields alike.
func full(t testing.TB) Record {
	t.Helper()
	r := Record{
		Kind: KindPacket, State: StateImpaired, SrcName: "n000", DstName: "n133", Index: 3, Packets: 7, From: 0x01020304, To: 0x05060708,
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
		weft.NewSubHeader(0).WithOtherWay(1).WithOtherWay(3).WithMisroute(0, 7, 1).WithMisroute(1, 6, 3).WithMisroute(2, 5, 4),
	}
	return r
}

func TestARecordReadsBackAsItWasWritten(t *testing.T) {
	for name, r := range map[string]Record{
		"full":    full(t),
		"empty":   {Kind: KindPacket, Header: weft.Header{Fields: weft.NewFields()}},
		"mark":    {Kind: KindMark, State: StateSilent, Text: "cut of s0.00-s1.00"},
		"no text": {Kind: KindMark},
	} {
		data := Append([]byte("before"), &r)
		require.Equal(t, "before", string(data[:6]), name)
		got, err := Decode(data[6:])
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
	}
}

// The layout is what the documentation says: files of before must stay readable.
func TestTheLayoutStaysAsItIsDocumented(t *testing.T) {
	r := full(t)
	require.Equal(t, []byte{
		3, 1, 1, 3,
		13, 3, 0, 9, 0, 0, 0, 11, 0, 3, 0xff, 0xff, 0, 4, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0xe8, 0xd4, 0xa5, 0x10, 0x07, 0, 0, 5, 0xdc, 1, 44, 0, 2, 0xff, 0xfe, 0, 3, 0, 7,
		0x80, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 8,
		0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 5,
		2, 3, 0x80, 1,
		2, 17, 0, 255,
		0x80, 0, 0, 4, 0x82, 0x41, 0x0a, 0x0b, 0x80, 0, 0x02, 0xa6, 0x3e, 0x34, 0, 0,
		4, 'n', '0', '0', '0', 4, 'n', '1', '3', '3',
	}, Append(nil, &r))
	require.Equal(t, []byte{3, 2, 0, 1, 0, 2, 'h', 'i'}, Append(nil, &Record{Kind: KindMark, State: StateCut, Text: "hi"}))
}

func TestRecordsOfVersionsBeforeAreStillRead(t *testing.T) {
	r := full(t)
	r.Header.Sub = weft.SubHeaders{}
	data := Append(nil, &r)
	for _, version := range []byte{2, 1} {
		old := append(append([]byte{version}, data[1:fixed[version]]...), data[fixed[Version]:]...)
		if version == 1 {
			r.Header.Path, r.Header.Layers = 0, 0
		}
		got, err := Decode(old)
		require.NoError(t, err)
		require.Equal(t, r, got)
		got, err = Decode([]byte{version, 2, 0, 1, 0, 2, 'h', 'i'})
		require.NoError(t, err)
		require.Equal(t, Record{Kind: KindMark, State: StateCut, Text: "hi"}, got)
	}
}

func TestWhatDoesNotFitIsCut(t *testing.T) {
	r := Record{Kind: KindPacket, SrcName: strings.Repeat("s", 300), DstName: "d", Header: weft.Header{Fields: weft.NewFields()}}
	got, err := Decode(Append(nil, &r))
	require.NoError(t, err)
	require.Equal(t, []string{r.SrcName[:255], "d"}, []string{got.SrcName, got.DstName})
	r = Record{Kind: KindMark, Text: strings.Repeat("x", 1<<17)}
	got, err = Decode(Append(nil, &r))
	require.NoError(t, err)
	require.Len(t, got.Text, 1<<16-1)
}

func TestWhatIsNoRecordIsRefusedByName(t *testing.T) {
	r := full(t)
	good := Append(nil, &r)
	with := func(at int, to byte) []byte {
		data := append([]byte(nil), good...)
		data[at] = to
		return data
	}
	for want, data := range map[string][]byte{
		"3 bytes, expected at least 4":                    good[:3],
		"version 4, this program knows versions 1 to 3":   with(0, 4),
		"version 0, this program knows versions 1 to 3":   with(0, 0),
		"kind 0 with flags 1":                             with(1, 0),
		"kind 3 with flags 1":                             with(1, 3),
		"kind 1 with flags 2":                             with(2, 2),
		"kind 2 with flags 1":                             with(1, 2),
		"state 6 of its link, expected less than 6":       with(3, 6),
		"82 bytes, a packet has at least 83":              good[:82],
		"81 bytes, a packet has at least 82":              append([]byte{2}, good[1:81]...),
		"77 bytes, a packet has at least 78":              append([]byte{1}, good[1:77]...),
		"a source route of 16 ports in 29 bytes":          with(5, 16),
		"a source route of 3 ports in 2 bytes":            good[:85],
		"5 sub-headers in 26 bytes, expected at most 4":   with(82, 5),
		"2 sub-headers in 15 bytes":                       good[:101],
		"sub-headers 0000000482410a0b80":                  with(86, 0),
		"sub-headers 8000000483410a0b80":                  with(90, 0x83),
		"a name is cut short":                             good[:len(good)-1],
		"1 bytes follow its end":                          append(append([]byte(nil), good...), 0),
		"7 bytes, its text of 2 bytes ends at 8":          {1, 2, 0, 0, 0, 2, 'x'},
		"9 bytes, its text of 2 bytes ends at 8":          {1, 2, 0, 0, 0, 2, 'x', 'y', 'z'},
		"kind 2 with flags 0, or cut short: not a record": {1, 2, 0, 0, 0},
	} {
		_, err := Decode(data)
		require.ErrorIs(t, err, ErrRecord, want)
		require.ErrorContains(t, err, want)
	}
}

// Any bytes are refused, or are a record that is written with the same bytes.
func FuzzRecord(f *testing.F) {
	r := full(f)
	f.Add(Append(nil, &r))
	f.Add(Append(nil, &Record{Kind: KindMark, Text: "text"}))
	f.Add([]byte{1, 2, 0, 1, 0, 2, 'h', 'i'})
	r.Header.Sub = weft.SubHeaders{weft.Nowhere}
	f.Add(Append(nil, &r))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			require.ErrorIs(t, err, ErrRecord)
			return
		}
		if data[0] != Version { // of before
			again, err := Decode(Append(nil, &r))
			require.NoError(t, err)
			require.Equal(t, r, again)
			return
		}
		require.Equal(t, data, Append(nil, &r))
	})
}
