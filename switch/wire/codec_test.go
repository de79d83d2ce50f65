package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
	"github.com/weft-fabric/weft/switch/wire/wiretest"
)

// wide draws a number whose length in bits is uniform, so that every msgpack form comes up.
func wide(rnd *rand.Rand, bits int) uint64 { return rnd.Uint64() >> (64 - bits) >> rnd.IntN(bits) }

func randomHeader(rnd *rand.Rand, vcs int) weft.Header {
	h := weft.Header{
		Src: weft.NICID(wide(rnd, 18)), Dst: weft.NICID(wide(rnd, 18)), Seq: wide(rnd, 64),
		Injected: weft.Time(wide(rnd, 64)), Size: uint32(wide(rnd, 20)), VC: weft.VC(rnd.IntN(vcs)),
		Generation: uint16(wide(rnd, 16)), Hops: uint16(wide(rnd, 16)), Reroutes: uint16(wide(rnd, 16)),
		Traced: rnd.IntN(2) == 0,
	}
	h.PortField, h.Misroute = int16(wide(rnd, 16)), wide(rnd, 64)
	if rnd.IntN(2) == 0 {
		h.Injected, h.PortField = -h.Injected, -h.PortField
	}
	if rnd.IntN(2) == 0 {
		h.Path, h.Layers = uint16(wide(rnd, 16)), uint16(wide(rnd, 16))
	}
	for range rnd.IntN(2) * rnd.IntN(weft.MaxRoute+1) {
		h.Route, _ = h.Route.Push(weft.PortID(rnd.IntN(weft.MaxPorts)))
	}
	if rnd.IntN(2) == 0 {
		h.Sub = randomSub(rnd)
	}
	return h
}

// randomSub draws any sub-headers that there can be.
func randomSub(rnd *rand.Rand) (sub weft.SubHeaders) {
	if rnd.IntN(8) == 0 {
		return weft.SubHeaders{weft.Nowhere}
	}
	for i := range rnd.IntN(weft.MaxSubPaths + 1) {
		sub[i] = weft.NewSubHeader(weft.SwitchID(wide(rnd, 16)))
		if rnd.IntN(2) == 0 {
			sub[i] = sub[i].WithDeterministic().WithOtherWay(rnd.IntN(4))
		}
		for k := range rnd.IntN(weft.MaxMisroutes + 1) {
			sub[i] = sub[i].WithMisroute(k, weft.PortID(rnd.IntN(8)), 1+rnd.IntN(weft.MaxMisrouteHops))
		}
	}
	return sub
}

func randomFrame(rnd *rand.Rand) weft.Frame {
	f := weft.Frame{
		From: weft.Epoch(wide(rnd, 32)), To: weft.Epoch(wide(rnd, 32)), At: weft.Time(wide(rnd, 63)),
		VCs: rnd.IntN(weft.MaxVCs + 1),
	}
	for i := range f.VCs {
		f.Sent[i], f.Limit[i] = wide(rnd, 64), wide(rnd, 64)
	}
	if f.VCs > 0 {
		for range wide(rnd, 7) {
			f.Packets = append(f.Packets, randomHeader(rnd, f.VCs))
		}
	}
	return f
}

func TestFrameRoundTrip(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	var got weft.Frame // reused: what is left of one frame must not show in the next
	for range testenv.N(5000, 1000) {
		want := randomFrame(rnd)
		data := wire.AppendFrame([]byte("before"), 0, &want)
		require.NoError(t, wire.DecodeFrame(&got, 0, data[len("before"):]))
		if len(got.Packets) == 0 {
			got.Packets = want.Packets // nil and empty are the same frame
		}
		require.Equal(t, want, got)
	}
}

// largestFrame has numbers that take the most bytes.
func largestFrame(vcs, packets int) weft.Frame {
	h := weft.Header{
		Src: weft.MaxNIC - 1, Dst: weft.MaxNIC - 1, Seq: math.MaxUint64, Injected: math.MinInt64, Size: weft.MaxPacket,
		VC: weft.VC(vcs - 1), Generation: math.MaxUint16, Hops: math.MaxUint16, Reroutes: math.MaxUint16,
		Fields: weft.Fields{PortField: math.MinInt16, Path: math.MaxUint16, Layers: math.MaxUint16, Misroute: math.MaxUint64},
	}
	for range weft.MaxRoute {
		h.Route, _ = h.Route.Push(weft.MaxPorts - 1)
	}
	for i := range h.Sub {
		h.Sub[i] = weft.NewSubHeader(math.MaxUint16).WithDeterministic().WithMisroute(2, 7, 8).WithMisroute(1, 7,
			8).WithMisroute(0, 7, 8)
	}
	f := weft.Frame{From: math.MaxUint32, To: math.MaxUint32, At: math.MaxInt64, VCs: vcs}
	for i := range f.VCs {
		f.Sent[i], f.Limit[i] = math.MaxUint64, math.MaxUint64
	}
	for range packets {
		f.Packets = append(f.Packets, h)
	}
	return f
}

func TestBatchFitsIntoTheFrame(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	require.Equal(t, weft.MaxBatch, wire.Batch(wire.MaxFrame, weft.MaxVCs))
	require.Equal(t, weft.MaxBatch, wire.Batch(wire.MaxFrame+1000, 1))
	require.Less(t, wire.Batch(wire.MaxFrame-1, weft.MaxVCs), weft.MaxBatch)
	require.Zero(t, wire.Batch(0, weft.MaxVCs))
	for vcs := 1; vcs <= weft.MaxVCs; vcs++ {
		for size := 0; size < 2000; size += testenv.N(1, 11) {
			n := wire.Batch(size, vcs)
			if n == 0 {
				continue
			}
			f := largestFrame(vcs, n)
			require.LessOrEqual(t, len(wire.AppendFrame(nil, 0, &f)), size, "%d packets, %d VCs", n, vcs)
			f = largestFrame(vcs, n+2)
			require.Greater(t, len(wire.AppendFrame(nil, 0, &f)), size, "hardly fewer than fit")
		}
	}
}

func TestFrameWithinBounds(t *testing.T) {
	t.Parallel()
	f := largestFrame(weft.MaxVCs, weft.MaxBatch)
	require.LessOrEqual(t, len(wire.AppendHeader(nil, &f.Packets[0])), wire.MaxHeader)
	data := wire.AppendFrame(nil, 0, &f)
	require.LessOrEqual(t, len(data), wire.MaxFrame)
	var got weft.Frame
	require.NoError(t, wire.DecodeFrame(&got, 0, data))
	require.Equal(t, f, got)
}

// A bad frame is named: what is wrong, where, and in which packet.
func TestDecodeFrameNamesTheFault(t *testing.T) {
	t.Parallel()
	f := weft.Frame{VCs: 2, Packets: []weft.Header{wiretest.Header(), wiretest.Header()}}
	good := body(&f)
	changed := func(change func(f *weft.Frame)) []byte {
		f := weft.Frame{VCs: 2, Packets: []weft.Header{wiretest.Header(), wiretest.Header()}}
		change(&f)
		return body(&f)
	}
	routed := body(&weft.Frame{VCs: 1, Packets: []weft.Header{{Fields: weft.Fields{Route: route("p1,p2")}}}})
	subbed := body(&weft.Frame{VCs: 1, Packets: []weft.Header{{Fields: weft.Fields{Sub: weft.SubHeaders{weft.Nowhere}}}}})
	addressed := body(&weft.Frame{VCs: 1, Packets: []weft.Header{{Fields: weft.Fields{Path: 1, Layers: 3}}}})
	cases := []struct {
		name string
		data []byte
		want string
	}{
		{"truncated address", addressed[:len(addressed)-2], "packet 0: layers at byte 23: msgp: too few bytes"},
		{
			"path too large", append(addressed[:22:22], 0xce, 0, 1, 0, 0, 0),
			"packet 0: path at byte 22: 65536 is out of range, the bound is 65535",
		},
		{
			"layers too many", append(addressed[:23:23], 0xce, 0, 1, 0, 0),
			"packet 0: layers at byte 23: 65536 is out of range, the bound is 65535",
		},
		{"sub-headers cut short", subbed[:len(subbed)-2], "packet 0: sub-headers at byte 35: msgp: too few bytes"},
		{"no sub-headers", append(subbed[:24:24], 0, 0, 0, 0), "packet 0: sub-headers at byte 24: no sub-headers: "},
		{
			"a sub-header after nowhere", append(subbed[:35:35], subbed[24:33]...),
			"packet 0: sub-headers at byte 24: no sub-headers: ",
		},
		{"empty", nil, "frame at byte 0: msgp: too few bytes"},
		{"not an array", []byte{0xc0}, `frame at byte 0: msgp: attempted to decode type "nil"`},
		{"too few elements", []byte{0x91, wire.Version}, ": 1 is out of range, the bound is 8"},
		{"too many elements", []byte{0x99, wire.Version}, ": 9 is out of range, the bound is 8"},
		{"truncated route", routed[:len(routed)-2], "packet 0: route at byte 22: msgp: too few bytes"},
		{"empty route", append(routed[:22:22], 0xc4, 0), "packet 0: route at byte 22: 0 is out of range, the bound is 15"},
		{
			"route too long", append(append(routed[:22:22], 0xc4, 16), make([]byte, 16)...),
			"packet 0: route at byte 22: 16 is out of range, the bound is 15",
		},
		{"route of no bytes", append(routed[:22:22], 1), `packet 0: route at byte 22: msgp: attempted to decode type "int"`},
		{"truncated before its time", good[:len(good)-1], "at at byte 69: msgp: too few bytes"},
		{"truncated", good[:len(good)-2], "packet 1: misroute at byte 68: msgp: too few bytes"},
		{"trailing bytes", append(bytes.Clone(good), 0), "1 bytes follow its end"},
		{
			"vc not in this frame", changed(func(f *weft.Frame) { f.Packets[1].VC = 2 }),
			"packet 1: vc at byte 62: 2 is out of range, the bound is 1",
		},
		{
			"packets but no vc", changed(func(f *weft.Frame) { f.VCs = 0 }),
			"packets at byte 7: 2 is out of range, the bound is 0",
		},
		{
			"packet too long", changed(func(f *weft.Frame) { f.Packets[0].Size = weft.MaxPacket + 1 }),
			"packet 0: size at byte 30: 1048577 is out of range",
		},
		{
			"unknown nic", changed(func(f *weft.Frame) { f.Packets[0].Dst = weft.MaxNIC }),
			"packet 0: dst at byte 13: 262144 is out of range",
		},
		{
			"too many vcs",
			[]byte{0x98, wire.Version, 1, 1, 0xdc, 0, 17},
			"sent at byte 4: 17 is out of range, the bound is 16",
		},
		{"unlike vcs", []byte{0x98, wire.Version, 1, 1, 0x92, 1, 1, 0x91, 1, 0x90}, "limit at byte 7: 1 is out of range"},
		{
			"too many packets",
			[]byte{0x98, wire.Version, 1, 1, 0x91, 1, 0x91, 1, 0xdd, 0xff, 0xff, 0xff, 0xff},
			"packets at byte 8: 4294967295 is out of range",
		},
		{
			"packets that are not there",
			[]byte{0x98, wire.Version, 1, 1, 0x91, 1, 0x91, 1, 0xdc, 4, 0},
			"packets at byte 11: msgp: too few bytes",
		},
		{"negative epoch", []byte{0x98, wire.Version, 0xff}, "from at byte 2: msgp: attempted to cast int -1 to unsigned"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := weft.Frame{From: 9, VCs: 3}
			err := wire.DecodeFrame(&got, 0, summed(0, c.data))
			require.ErrorIs(t, err, wire.ErrFrame)
			require.ErrorContains(t, err, c.want)
			got.Packets = nil
			require.Equal(t, weft.Frame{}, got, "a bad frame leaves nothing behind")
		})
	}
}

func TestDecodeFrameOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data []byte
		want string
	}{
		{summed(0, []byte{0x98, 0xcd, 0x01, 0x02, 0xc0}), "version 258"},
		{[]byte{0x96, 1, 1, 1, 0x91, 1, 0x91, 1, 0x90}, "version 1"}, // which had no sum
	} {
		err := wire.DecodeFrame(&weft.Frame{}, 0, c.data)
		require.ErrorIs(t, err, wire.ErrVersion)
		require.ErrorIs(t, err, wire.ErrFrame)
		require.NotErrorIs(t, err, wire.ErrDamaged)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "speaks versions 3 and 4;")
	}
}

func TestAppendFrameRefusesOurOwnBugs(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { wire.AppendFrame(nil, 0, &weft.Frame{VCs: weft.MaxVCs + 1}) })
	require.Panics(t, func() {
		wire.AppendFrame(nil, 0, &weft.Frame{
			VCs:     1,
			Packets: make([]weft.Header, weft.MaxBatch+1),
		})
	})
}

func TestCodecDoesNotAllocate(t *testing.T) {
	f := wiretest.Frame(64)
	var got weft.Frame
	buf := make([]byte, 0, wire.MaxFrame)
	require.NoError(t, wire.DecodeFrame(&got, 0, wire.AppendFrame(buf, 0, &f)))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := wire.DecodeFrame(&got, 0, wire.AppendFrame(buf, 0, &f)); err != nil {
			t.Error(err)
		}
	}))
}

func route(s string) weft.SourceRoute {
	r, err := weft.ParseSourceRoute(s)
	if err != nil {
		panic(err)
	}
	return r
}

// The bytes of a header without a route, and with one.
func TestOnlyAHeaderWithARouteCarriesOne(t *testing.T) {
	t.Parallel()
	h := wiretest.Header()
	plain := wire.AppendHeader(nil, &h)
	require.Equal(t, "9c28cd0265ce00011170cf00000ae9f7bcc000cd0100010203"+"00c2ff00", hex.EncodeToString(plain))
	h.Route = route("p4,p1,p255")
	require.Equal(t, "9d"+hex.EncodeToString(plain[1:])+"c4030401ff", hex.EncodeToString(wire.AppendHeader(nil, &h)))
}

// Path and layers are two elements more, together or not at all.
func TestOnlyAHeaderWithAnAddressCarriesOne(t *testing.T) {
	t.Parallel()
	h := wiretest.Header()
	plain := hex.EncodeToString(wire.AppendHeader(nil, &h)[1:])
	h.Path = 2
	require.Equal(t, "9e"+plain+"0200", hex.EncodeToString(wire.AppendHeader(nil, &h)))
	h.Path, h.Layers = 0, 0x8001
	require.Equal(t, "9e"+plain+"00cd8001", hex.EncodeToString(wire.AppendHeader(nil, &h)))
	h.Route = route("p4")
	require.Equal(t, "9f"+plain+"00cd8001c40104", hex.EncodeToString(wire.AppendHeader(nil, &h)))
}

// The sub-headers are four elements more, after a route. An array of more than fifteen has a longer
// head.
func TestOnlyAHeaderWithSubHeadersCarriesThem(t *testing.T) {
	t.Parallel()
	h := wiretest.Header()
	plain := hex.EncodeToString(wire.AppendHeader(nil, &h)[1:])
	h.Sub = weft.SubHeaders{weft.NewSubHeader(12).WithDeterministic(), weft.NewSubHeader(0).WithMisroute(0, 1, 2)}
	subs := "cf800000000001000c" + "cf8000000002400000" + "0000"
	require.Equal(t, "dc0010"+plain+subs, hex.EncodeToString(wire.AppendHeader(nil, &h)))
	h.Route = route("p4")
	require.Equal(t, "dc0011"+plain+"c40104"+subs, hex.EncodeToString(wire.AppendHeader(nil, &h)))
	h.Path, h.Route = 2, weft.SourceRoute{}
	require.Equal(t, "dc0012"+plain+"0200"+subs, hex.EncodeToString(wire.AppendHeader(nil, &h)))
	h.Route = route("p4")
	require.Equal(t, "dc0013"+plain+"0200c40104"+subs, hex.EncodeToString(wire.AppendHeader(nil, &h)))
}

// wireHeader is a header as msgpack/v5 sees it: a struct as array, with an address two elements
// more, with a route one and with sub-headers four.
type wireHeader struct{ weft.Header }

func (h *wireHeader) elements(addressed bool) []any {
	list := []any{
		&h.Src, &h.Dst, &h.Seq, &h.Injected, &h.Size, &h.VC, &h.Generation, &h.Hops, &h.Reroutes, &h.Traced,
		&h.PortField, &h.Misroute,
	}
	if addressed {
		list = append(list, &h.Path, &h.Layers)
	}
	return list
}

func (h *wireHeader) EncodeMsgpack(e *msgpack.Encoder) error {
	elements := h.elements(h.Path != 0 || h.Layers != 0)
	var ports []byte
	for i := range h.Route.Len() {
		ports = append(ports, byte(h.Route.At(i)))
	}
	if ports != nil {
		elements = append(elements, ports)
	}
	for i := range h.Sub {
		if h.Sub != (weft.SubHeaders{}) {
			elements = append(elements, &h.Sub[i])
		}
	}
	if err := e.EncodeArrayLen(len(elements)); err != nil {
		return err
	}
	return e.EncodeMulti(elements...)
}

func (h *wireHeader) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return err
	}
	elements := h.elements(n%4 >= 2)
	var ports []byte
	if n%2 == 1 {
		elements = append(elements, &ports)
	}
	for i := range h.Sub {
		if n >= 16 {
			elements = append(elements, &h.Sub[i])
		}
	}
	if err := d.DecodeMulti(elements...); err != nil {
		return err
	}
	for _, p := range slices.Backward(ports) {
		h.Route, _ = h.Route.Push(weft.PortID(p))
	}
	return nil
}

// wireFrame is the frame as msgpack/v5 sees it, a struct as array.
type wireFrame struct {
	Version     int
	From, To    weft.Epoch
	Sent, Limit []uint64
	Packets     []*wireHeader
	At          weft.Time
	Sum         uint32
}

// The wire is plain msgpack: msgpack/v5 reads what we write, and we read what it writes, in
// shortest forms or full ones.
func TestWireIsMsgpack(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range testenv.N(2000, 500) {
		f := randomFrame(rnd)
		ours := wire.AppendFrame(nil, 0, &f)

		var w wireFrame
		require.NoError(t, msgpack.Unmarshal(ours, &w))
		want := wireFrame{
			wire.Version, f.From, f.To, f.Sent[:f.VCs], f.Limit[:f.VCs], nil, f.At,
			binary.BigEndian.Uint32(ours[len(ours)-4:]),
		}
		for _, h := range f.Packets {
			want.Packets = append(want.Packets, &wireHeader{h})
		}
		if len(w.Packets) == 0 {
			w.Packets = want.Packets
		}
		require.Equal(t, want, w)

		var buf bytes.Buffer
		enc := msgpack.NewEncoder(&buf)
		enc.UseArrayEncodedStructs(true)
		enc.UseCompactInts(i%2 == 0)
		if w.Packets == nil {
			w.Packets = []*wireHeader{} // msgpack/v5 writes nil for a nil slice; our grammar has an array there
		}
		require.NoError(t, enc.Encode(&w))
		if i%2 == 0 {
			require.Equal(t, ours, buf.Bytes())
		}
		var got weft.Frame
		require.NoError(t, wire.DecodeFrame(&got, 0, summed(0, buf.Bytes()[:buf.Len()-5])))
		if len(got.Packets) == 0 {
			got.Packets = f.Packets
		}
		require.Equal(t, f, got)
	}
}

func FuzzDecodeFrame(f *testing.F) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 16 {
		frame := randomFrame(rnd)
		f.Add(wire.AppendFrame(nil, 0, &frame))
	}
	f.Add(summed(0, []byte{0x98, wire.Version, 1, 1, 0x91, 1, 0x91, 1, 0xdd, 0xff, 0xff, 0xff, 0xff}))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzFrame(t, data)
		fuzzFrame(t, summed(0, data)) // what somebody sends who knows how sums are made
	})
}

func fuzzFrame(t *testing.T, data []byte) {
	t.Helper()
	var got weft.Frame
	if err := wire.DecodeFrame(&got, 0, data); err != nil {
		require.ErrorIs(t, err, wire.ErrFrame)
		require.LessOrEqual(t, cap(got.Packets), len(data), "storage beyond what the data can hold")
		return
	}
	var again weft.Frame
	require.NoError(t, wire.DecodeFrame(&again, 0, wire.AppendFrame(nil, 0, &got)))
	require.Equal(t, got, again)
}

func FuzzDecodeHeader(f *testing.F) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 16 {
		h := randomHeader(rnd, weft.MaxVCs)
		f.Add(append(wire.AppendHeader(nil, &h), "rest"...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, again weft.Header
		rest, err := wire.DecodeHeader(&got, data)
		if err != nil {
			require.ErrorIs(t, err, wire.ErrHeader)
			require.Zero(t, got)
			return
		}
		require.True(t, bytes.HasSuffix(data, rest))
		tail, err := wire.DecodeHeader(&again, wire.AppendHeader(nil, &got))
		require.NoError(t, err)
		require.Empty(t, tail)
		require.Equal(t, got, again)
	})
}
