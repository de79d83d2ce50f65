package part

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/credit"
)

var flow = credit.Flow{State: credit.Up, Mine: 1, Peer: 2, Sent: 1 << 60, Received: 4, Taken: 5, LastFrom: 6, LastTo: 7, LastSent: 8}

func TestListsTravel(t *testing.T) {
	t.Parallel()
	switches := SwitchReads{{Switch: 9, Reading: switching.Reading{
		Stats: switching.Stats{Received: 1, Forwarded: 2, Decisions: 3, Rerouted: 4, UTurns: 5, Discarded: 6, LostQueue: 7, Requeued: 8, LostCrash: 9},
		Held:  10, Blocked: 11, Ports: []switching.PortReading{{Flow: flow, Lost: 1, Queued: 2, Suppressed: true}}, Registers: []uint64{1 << 63, 0},
	}}, {Switch: 0, Reading: switching.Reading{Ports: []switching.PortReading{}, Registers: []uint64{}}}}
	nics := NICReads{{NIC: 4, Reading: nic.Reading{
		Stats: nic.Stats{
			Injected: 1, Refused: 2, Withheld: 3, Notices: 4, Delivered: 5, Missing: 6, Duplicated: 7, Reordered: 8, Rerouted: 9, Wrong: 10,
			Hops: 11, Shortest: 12, MostHops: 13, MostExtra: 14, Detour: 15,
		},
		Queued: 16, Flow: flow, Suppressed: true,
	}}, {}}
	travels(t, switches, new(SwitchReads))
	travels(t, nics, new(NICReads))
	travels(t, VCReads{{Switch: 7, VCs: []switching.VCSum{{Input: 1, Output: 2, Credits: 3, Stalls: [4]uint64{4, 5, 6, 1 << 60}}, {}}}, {VCs: []switching.VCSum{}}}, new(VCReads))
}

func travels[T any](t *testing.T, v T, got *T) {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, got))
	require.Equal(t, v, *got)
	for _, bad := range []string{`7`, `""`, `"AQ=="`, `"` + string(data[1:len(data)/2]) + `"`} {
		if bad != string(data) {
			require.Error(t, json.Unmarshal([]byte(bad), new(T)), bad)
		}
	}
}

func FuzzLists(f *testing.F) {
	for _, l := range []any{SwitchReads{{}}, NICReads{{}}, VCReads{{VCs: make([]switching.VCSum, 2)}}} {
		data, err := json.Marshal(l)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s SwitchReads
		var n NICReads
		var v VCReads
		for _, into := range []json.Unmarshaler{&s, &n, &v} {
			if into.UnmarshalJSON(data) != nil {
				continue
			}
			// What was read travels again; numbers too large for their field are cut, so it is not always the same.
			again, err := json.Marshal(into)
			require.NoError(t, err)
			require.NoError(t, into.UnmarshalJSON(again))
		}
	})
}

func TestParcels(t *testing.T) {
	t.Parallel()
	small, large := []string{"a"}, make([]string, 60_000)
	for i := range large {
		large[i] = fmt.Sprintf("%x", uint64(i+1)*0x9e3779b97f4a7c15*uint64(i+7))
	}
	for _, v := range [][]string{small, large} {
		list, err := pack(v, 9)
		require.NoError(t, err)
		var u unpacker
		for i, p := range list {
			data, err := json.Marshal(p)
			require.NoError(t, err)
			require.Less(t, len(data), 1<<20-4096, "what a broker takes by default")
			var got parcel
			require.NoError(t, json.Unmarshal(data, &got))
			body, err := u.add(&got)
			require.NoError(t, err)
			if i < len(list)-1 {
				require.Nil(t, body)
				continue
			}
			var back []string
			require.NoError(t, json.Unmarshal(body, &back))
			require.Equal(t, v, back)
		}
	}

	list, err := pack(large, 9)
	require.NoError(t, err)
	require.Greater(t, len(list), 1)
	var u unpacker
	_, err = u.add(&list[1])
	require.ErrorIs(t, err, errPieces, "without the first")
	_, err = u.add(&list[0])
	require.NoError(t, err)
	strange := list[1]
	strange.Serial++
	_, err = u.add(&strange)
	require.ErrorIs(t, err, errPieces, "of another parcel")
	_, err = u.add(&list[1])
	require.ErrorIs(t, err, errPieces, "the rest is lost then")
	_, err = u.add(&parcel{Pieces: maxPieces + 1})
	require.ErrorIs(t, err, errPieces)
	_, err = u.add(&parcel{Pieces: 1, Data: []byte("no DEFLATE data")})
	require.ErrorContains(t, err, "decompress 15 bytes")
}

func TestDecompressHasABound(t *testing.T) {
	t.Parallel()
	packed, err := Compress(bytes.Repeat([]byte("x"), 1<<20))
	require.NoError(t, err)
	require.Less(t, len(packed), 8192)
	got, err := Decompress(packed)
	require.NoError(t, err)
	require.Len(t, got, 1<<20)
}

// Whatever a part counts, the leader hears.
func TestEveryCounterIsSent(t *testing.T) {
	t.Parallel()
	var s Sum
	n := 0
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.Struct:
				fill(f)
			case reflect.Int:
				n++
				f.SetInt(int64(n))
			default:
				n++
				f.SetUint(uint64(n) << 40)
			}
		}
	}
	fill(reflect.ValueOf(&s.Counters).Elem())
	s.Flows = []ledger.Flow{{End: weft.End{Node: weft.NICID(1 << 17).Node(), Port: 255}, Peer: 7, Flow: flow}}
	s.Discards, s.At, s.Up = []ledger.Rule{{Name: "x", Packets: 1}}, 7, []byte{3}
	data, err := json.Marshal(OrderAnswer{Sum: s})
	require.NoError(t, err)
	var got OrderAnswer
	require.NoError(t, json.Unmarshal(data, &got))
	require.Equal(t, s, got.Sum)
	require.Greater(t, n, 25)
	for _, bad := range []string{`{"sum":7}`, `{"sum":""}`, `{"sum":"AQ=="}`} {
		require.Error(t, json.Unmarshal([]byte(bad), new(OrderAnswer)), bad)
	}
}

func TestSumsAddUp(t *testing.T) {
	t.Parallel()
	e := func(n uint32, packets uint64) ledger.EndLost {
		return ledger.EndLost{End: weft.End{Node: weft.SwitchID(n).Node()}, Packets: packets}
	}
	a := Sum{FirstEra: 2, Eras: []nic.EraStats{{Injected: 1}, {Injected: 2, MostExtra: 3}}, At: 7, Answer: ledger.Answer{
		Held: 1, Counted: ledger.Counted{
			Discards: []ledger.Rule{{Name: "x", Packets: 1}}, Crash: []ledger.NodeLost{{Switch: 1, Packets: 5}},
			Queue: []ledger.EndLost{e(1, 2), e(3, 1)}, Wire: []ledger.LinkLost{{Link: 4, Wire: [2]uint64{1, 2}}},
		},
	}}
	b := Sum{FirstEra: 3, Eras: []nic.EraStats{{Injected: 10, MostExtra: 1}, {Injected: 20}}, At: 9, Answer: ledger.Answer{
		Held: 2, Counted: ledger.Counted{
			Discards: []ledger.Rule{{Name: "x", Packets: 2}, {Name: "y", Packets: 1}},
			Crash:    []ledger.NodeLost{{Switch: 0, Packets: 1}, {Switch: 1, Packets: 1}}, Queue: []ledger.EndLost{e(2, 2)},
			Wire:     []ledger.LinkLost{{Link: 3, Wire: [2]uint64{0, 1}}, {Link: 4, Wire: [2]uint64{1, 0}}},
			Counters: ledger.Counters{NICs: nic.Stats{Injected: 5, MostHops: 3}},
		},
	}}
	kept, _ := json.Marshal(b)
	a.Add(&b)
	want := Sum{
		FirstEra: 2, Eras: []nic.EraStats{{Injected: 1}, {Injected: 12, MostExtra: 3}, {Injected: 20}}, At: 7,
		Answer: ledger.Answer{Held: 3, Counted: ledger.Counted{
			Discards: []ledger.Rule{{Name: "x", Packets: 3}, {Name: "y", Packets: 1}},
			Crash:    []ledger.NodeLost{{Switch: 0, Packets: 1}, {Switch: 1, Packets: 6}},
			Queue:    []ledger.EndLost{e(1, 2), e(2, 2), e(3, 1)},
			Wire:     []ledger.LinkLost{{Link: 3, Wire: [2]uint64{0, 1}}, {Link: 4, Wire: [2]uint64{2, 2}}},
			Counters: ledger.Counters{NICs: nic.Stats{Injected: 5, MostHops: 3}},
		}},
	}
	require.Equal(t, want, a)
	var zero Sum
	zero.Add(&b)
	zero.Held++
	zero.Eras[0].Injected++
	now, _ := json.Marshal(b)
	require.JSONEq(t, string(kept), string(now), "what was added stays as it was")
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	ids := []weft.SwitchID{0, 1, 2, 5, 7, 8}
	require.Equal(t, []Span{{0, 3}, {5, 1}, {7, 2}}, Spans(ids))
	require.Equal(t, ids, Place{Switches: Spans(ids)}.SwitchIDs())
	require.False(t, Bit(nil, 9))
	require.True(t, Bit([]byte{0, 2}, 9))
}
