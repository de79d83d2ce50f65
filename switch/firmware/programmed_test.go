package firmware

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestApplyLooksAtVersionsFirst(t *testing.T) {
	lft, a := layeredTables(t, true, 2), assigned(t, 2, weft.Address{})
	fw := Layered{Tables: lft, Assignment: a}
	require.EqualValues(t, FirstVersion, VersionOf(fw))
	require.Zero(t, VersionOf(None{}))
	place := middle().At

	next, err := Apply(fw, 4, place, 2, &Patch{From: 4, To: 7})
	require.NoError(t, err)
	require.IsType(t, fw, next)

	same, err := Apply(fw, 7, place, 2, &Patch{From: 4, To: 7, Set: []PatchSet{{At: 99}}})
	require.NoError(t, err, "it has that version already")
	require.Equal(t, fw, same)

	_, err = Apply(fw, 5, place, 2, &Patch{From: 4, To: 7})
	var wrong *VersionError
	require.ErrorAs(t, err, &wrong)
	require.ErrorIs(t, err, ErrVersion)
	require.EqualValues(t, 5, wrong.Has)

	_, err = Apply(fw, 5, place, 2, &Patch{To: 7, Shape: &PatchShape{VCs: 3, Paths: 1, PerLayer: true}})
	require.ErrorIs(t, err, ErrPatch)
	require.ErrorContains(t, err, "needs 3 virtual channels")

	_, err = Apply(fw, 5, place, 2, &Patch{Switch: 1, To: 5})
	require.ErrorContains(t, err, "another switch")

	_, err = Apply(None{}, 0, place, 2, &Patch{To: 7})
	require.ErrorIs(t, err, ErrNotProgrammed)
}

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
