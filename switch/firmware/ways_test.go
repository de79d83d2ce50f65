package firmware

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func subOf(t testing.TB, text string) weft.SubHeaders {
	h, err := weft.ParseSubHeaders(text)
	require.NoError(t, err)
	return h
}

// waysOf makes the ways of four switches, those from switch 1 as given.
func waysOf(t testing.TB, from1 ...Way) *Ways {
	w, err := NewWays(4, func(s weft.SwitchID) []Way {
		if s == 1 {
			return from1
		}
		return nil
	})
	require.NoError(t, err)
	return w
}

func TestWaysAreThoseOfTheAffectedDestinationsAlone(t *testing.T) {
	w := waysOf(t, Way{3, subOf(t, "2;end,d")}, Way{0, subOf(t, "end,d")})
	sub, ok := w.To(1, 3)
	require.True(t, ok)
	require.Equal(t, "2;end,d", sub.String())
	for _, pair := range [][2]weft.SwitchID{{1, 2}, {0, 3}, {9, 0}, {1, 9}} {
		sub, ok = w.To(pair[0], pair[1])
		require.False(t, ok, pair)
		require.Zero(t, sub)
	}
	require.Equal(t, weft.SwitchID(0), w.From(1)[0].Dst, "in their order")
	_, ok = (*Ways)(nil).To(0, 1)
	require.False(t, ok)
}

func TestWaysThatNoSwitchCouldFollowAreRefused(t *testing.T) {
	for _, c := range []struct {
		ways []Way
		want string
	}{
		{[]Way{{0, weft.SubHeaders{}}}, `the way from switch 0 to switch 0: sub-headers "": give one for each sub-path`},
		{[]Way{{0, weft.SubHeaders{0, weft.NewSubHeader(0)}}}, "give one for each sub-path"},
		{[]Way{{1, subOf(t, "end,p2x1,p3x1")}}, "misroute by each direction once, all ups before all downs, and x before y before z"},
		{[]Way{{1, subOf(t, "0;end,p3x1,p1x1")}}, "misroute by each direction once"},
		{[]Way{{1, subOf(t, "end,p1x1,p1x1")}}, "misroute by each direction once"},
		{[]Way{{2, subOf(t, "end,d")}}, "there are 2 switches, name each once"},
		{[]Way{{1, subOf(t, "end,d")}, {1, subOf(t, "end")}}, "name each once"},
	} {
		_, err := NewWays(2, func(weft.SwitchID) []Way { return c.ways })
		require.ErrorContains(t, err, c.want)
	}
	_, err := NewWays(weft.MaxSwitch+1, nil)
	require.ErrorContains(t, err, "there are at most")
	w, err := NewWays(2, func(weft.SwitchID) []Way { return []Way{{1, subOf(t, "0,p1x3,p3x1,p0x8;end,p2x1,p4x1")}} })
	require.NoError(t, err)
	require.Len(t, w.From(1), 1)
}

// The patch of one program to another makes of the one the other, as small as it can be, and survives JSON.
func TestPatchesOfWaysMakeOfOneProgramTheOther(t *testing.T) {
	place := newNet("ring:4").sw[1].At
	some := []*Ways{
		waysOf(t),
		waysOf(t, Way{0, subOf(t, "end,d")}),
		waysOf(t, Way{0, subOf(t, "2;end")}, Way{3, subOf(t, "2;end")}),
		waysOf(t, Way{2, weft.SubHeaders{weft.Nowhere}}, Way{3, subOf(t, "2;end")}),
	}
	for i, a := range some {
		for j, b := range some {
			fw := Direct{Adaptive: true, SubPaths: 2, Ways: a, Deterministic: true}
			p := Diff(1, Program{Ways: a}, Program{Ways: b}, 1, 2)
			require.Equal(t, i == j, p.Empty())
			text, err := json.Marshal(p)
			require.NoError(t, err)
			var read Patch
			require.NoError(t, json.Unmarshal(text, &read))
			next, err := Apply(fw, 1, place, 3, &read)
			require.NoError(t, err)
			require.Equal(t, b.From(1), append([]Way(nil), next.(Direct).Ways.From(1)...), "%d to %d", i, j)

			whole := Diff(1, Program{}, Program{Ways: b}, 0, 3)
			require.Len(t, whole.Ways, len(b.From(1)))
			next, err = Apply(next, 2, place, 3, whole)
			require.NoError(t, err)
			require.Equal(t, b.From(1), append([]Way(nil), next.(Direct).Ways.From(1)...), "%d to %d, whole", i, j)
		}
	}
}

func TestPatchesOfWaysThatCannotBeFollowedAreRefused(t *testing.T) {
	place := newNet("ring:4").sw[1].At
	fw := Direct{Adaptive: true, SubPaths: 2}
	for _, c := range []struct {
		ways []PatchWay
		want string
	}{
		{[]PatchWay{{2, subOf(t, "end")}, {2, subOf(t, "end")}}, "name each once and in their order"},
		{[]PatchWay{{2, weft.SubHeaders{0, weft.NewSubHeader(1)}}}, "give one for each sub-path"},
		{[]PatchWay{{2, subOf(t, "0;3;end")}}, "the way from s1 to switch 2: 3 sub-paths, and there are escape channels for 2"},
		{[]PatchWay{{2, subOf(t, "end,d")}}, "add mechanism D"},
		{[]PatchWay{{2, subOf(t, "end,p1x1")}}, "add mechanism M"},
	} {
		same, err := Apply(fw, 1, place, 3, &Patch{Switch: 1, From: 1, To: 2, Ways: c.ways})
		require.ErrorIs(t, err, ErrPatch)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, fw, same)
	}
	_, err := Apply(Static{Tables: &Tables{}}, 1, place, 1, &Patch{Switch: 1, From: 1, To: 2, Ways: []PatchWay{{}}})
	require.ErrorContains(t, err, "the firmware reads none")
}
