package host

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
)

func TestCountersAddUp(t *testing.T) {
	t.Parallel()
	e := func(n uint32, packets uint64) ledger.EndLost {
		return ledger.EndLost{End: weft.End{Node: weft.SwitchID(n).Node()}, Packets: packets}
	}
	a := Counters{
		FirstGeneration: 2, Generations: []nic.GenerationStats{{Injected: 1}, {Injected: 2, MostExtra: 3}},
		At: 7, Answer: ledger.Answer{
			Held: 1, Counted: ledger.Counted{
				Discards: []ledger.Rule{{Name: "x", Packets: 1}}, Crash: []ledger.NodeLost{{Switch: 1, Packets: 5}},
				Queue: []ledger.EndLost{e(1, 2), e(3, 1)}, Wire: []ledger.LinkLost{{Link: 4, Wire: [2]uint64{1, 2}}},
			},
		},
	}
	b := Counters{
		FirstGeneration: 3, Generations: []nic.GenerationStats{{Injected: 10, MostExtra: 1}, {Injected: 20}},
		At: 9, Answer: ledger.Answer{
			Held: 2, Counted: ledger.Counted{
				Discards: []ledger.Rule{{Name: "x", Packets: 2}, {Name: "y", Packets: 1}},
				Crash:    []ledger.NodeLost{{Switch: 0, Packets: 1}, {Switch: 1, Packets: 1}},
				Queue:    []ledger.EndLost{e(2, 2)},
				Wire:     []ledger.LinkLost{{Link: 3, Wire: [2]uint64{0, 1}}, {Link: 4, Wire: [2]uint64{1, 0}}},
				Counters: ledger.Counters{NICs: nic.Stats{Injected: 5, MostHops: 3}},
			},
		},
	}
	before, _ := json.Marshal(b)
	a.Add(&b)
	want := Counters{
		FirstGeneration: 2, Generations: []nic.GenerationStats{
			{Injected: 1},
			{Injected: 12, MostExtra: 3},
			{Injected: 20},
		}, At: 7,
		Answer: ledger.Answer{Held: 3, Counted: ledger.Counted{
			Discards: []ledger.Rule{{Name: "x", Packets: 3}, {Name: "y", Packets: 1}},
			Crash:    []ledger.NodeLost{{Switch: 0, Packets: 1}, {Switch: 1, Packets: 6}},
			Queue:    []ledger.EndLost{e(1, 2), e(2, 2), e(3, 1)},
			Wire:     []ledger.LinkLost{{Link: 3, Wire: [2]uint64{0, 1}}, {Link: 4, Wire: [2]uint64{2, 2}}},
			Counters: ledger.Counters{NICs: nic.Stats{Injected: 5, MostHops: 3}},
		}},
	}
	require.Equal(t, want, a)
	var zero Counters
	zero.Add(&b)
	zero.Held++
	zero.Generations[0].Injected++
	now, _ := json.Marshal(b)
	require.JSONEq(t, string(before), string(now), "what was added stays as it was")
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	ids := []weft.SwitchID{0, 1, 2, 5, 7, 8}
	require.Equal(t, []Span{{0, 3}, {5, 1}, {7, 2}}, Spans(ids))
	require.Equal(t, ids, Placement{Switches: Spans(ids)}.SwitchIDs())
	require.False(t, Bit(nil, 9))
	require.True(t, Bit([]byte{0, 2}, 9))
}
