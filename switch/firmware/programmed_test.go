package firmware

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

func TestApplyLooksAtVersionsFirst(t *testing.T) {
	lft, a := layeredTables(t, true, 2), assigned(t, 2, weft.Address{})
	fw := Layered{Tables: lft, Assignment: a}.Firmware()
	require.EqualValues(t, tables.FirstVersion, fw.Version())
	none := None()
	require.Zero(t, none.Version())
	place := middle().At

	next, err := fw.Patched(4, place, 2, &tables.Patch{From: 4, To: 7})
	require.NoError(t, err)
	require.Equal(t, fw.Name, next.Name)
	require.NotSame(t, fw.Program, next.Program)

	same, err := fw.Patched(7, place, 2, &tables.Patch{From: 4, To: 7, Set: []tables.PatchSet{{At: 99}}})
	require.NoError(t, err, "it has that version already")
	require.Same(t, fw.Program, same.Program)

	_, err = fw.Patched(5, place, 2, &tables.Patch{From: 4, To: 7})
	var wrong *tables.VersionError
	require.ErrorAs(t, err, &wrong)
	require.ErrorIs(t, err, tables.ErrVersion)
	require.EqualValues(t, 5, wrong.Has)

	_, err = fw.Patched(5, place, 2, &tables.Patch{To: 7, Shape: &tables.PatchShape{VCs: 3, Paths: 1, PerLayer: true}})
	require.ErrorIs(t, err, tables.ErrPatch)
	require.ErrorContains(t, err, "needs 3 virtual channels")

	_, err = fw.Patched(5, place, 2, &tables.Patch{Switch: 1, To: 5})
	require.ErrorContains(t, err, "another switch")

	_, err = none.Patched(0, place, 2, &tables.Patch{To: 7})
	require.ErrorIs(t, err, switching.ErrNotProgrammed)
}

func subOf(t testing.TB, text string) weft.SubHeaders {
	h, err := weft.ParseSubHeaders(text)
	require.NoError(t, err)
	return h
}

// waysOf makes the ways of four switches, those from switch 1 as given.
func waysOf(t testing.TB, from1 ...tables.Way) *tables.Ways {
	w, err := tables.NewWays(4, func(s weft.SwitchID) []tables.Way {
		if s == 1 {
			return from1
		}
		return nil
	})
	require.NoError(t, err)
	return w
}

// The patch of one program to another makes of the one the other, as small as it can be, and
// survives JSON.
func TestPatchesOfWaysMakeOfOneProgramTheOther(t *testing.T) {
	place := newNet("ring:4").sw[1].At
	some := []*tables.Ways{
		waysOf(t),
		waysOf(t, tables.Way{Dst: 0, Sub: subOf(t, "end,d")}),
		waysOf(t, tables.Way{Dst: 0, Sub: subOf(t, "2;end")}, tables.Way{Dst: 3, Sub: subOf(t, "2;end")}),
		waysOf(t, tables.Way{Dst: 2, Sub: weft.SubHeaders{weft.Nowhere}}, tables.Way{Dst: 3, Sub: subOf(t, "2;end")}),
	}
	for i, a := range some {
		for j, b := range some {
			fw := Direct{Adaptive: true, SubPaths: 2, Ways: a, Deterministic: true}.Firmware()
			p := tables.Diff(1, tables.Program{Ways: a}, tables.Program{Ways: b}, 1, 2)
			require.Equal(t, i == j, p.Empty())
			text, err := json.Marshal(p)
			require.NoError(t, err)
			var read tables.Patch
			require.NoError(t, json.Unmarshal(text, &read))
			next, err := fw.Patched(1, place, 3, &read)
			require.NoError(t, err)
			require.Equal(t, b.From(1), append([]tables.Way(nil), next.Program.Ways.From(1)...), "%d to %d", i, j)

			whole := tables.Diff(1, tables.Program{}, tables.Program{Ways: b}, 0, 3)
			require.Len(t, whole.Ways, len(b.From(1)))
			next, err = next.Patched(2, place, 3, whole)
			require.NoError(t, err)
			ways := append([]tables.Way(nil), next.Program.Ways.From(1)...)
			require.Equal(t, b.From(1), ways, "%d to %d, whole", i, j)
		}
	}
}

func TestPatchesOfWaysThatCannotBeFollowedAreRefused(t *testing.T) {
	place := newNet("ring:4").sw[1].At
	fw := Direct{Adaptive: true, SubPaths: 2}.Firmware()
	for _, c := range []struct {
		ways []tables.PatchWay
		want string
	}{
		{
			[]tables.PatchWay{{Dst: 2, Sub: subOf(t, "end")}, {Dst: 2, Sub: subOf(t, "end")}},
			"name each once and in their order",
		},
		{[]tables.PatchWay{{Dst: 2, Sub: weft.SubHeaders{0, weft.NewSubHeader(1)}}}, "give one for each sub-path"},
		{
			[]tables.PatchWay{{Dst: 2, Sub: subOf(t, "0;3;end")}},
			"the way from s1 to switch 2: 3 sub-paths, and there are escape channels for 2",
		},
		{[]tables.PatchWay{{Dst: 2, Sub: subOf(t, "end,d")}}, "add mechanism D"},
		{[]tables.PatchWay{{Dst: 2, Sub: subOf(t, "end,p1x1")}}, "add mechanism M"},
	} {
		same, err := fw.Patched(1, place, 3, &tables.Patch{Switch: 1, From: 1, To: 2, Ways: c.ways})
		require.ErrorIs(t, err, tables.ErrPatch)
		require.ErrorContains(t, err, c.want)
		require.Same(t, fw.Program, same.Program)
	}
	static := Static{Tables: &tables.Tables{}}.Firmware()
	_, err := static.Patched(1, place, 1, &tables.Patch{Switch: 1, From: 1, To: 2, Ways: []tables.PatchWay{{}}})
	require.ErrorContains(t, err, "the firmware reads none")
}
