package tables

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func headersOf(t testing.TB, text string) weft.SubHeaders {
	h, err := weft.ParseSubHeaders(text)
	require.NoError(t, err)
	return h
}

func TestWaysAreThoseOfTheAffectedDestinationsAlone(t *testing.T) {
	w, err := NewWays(4, func(s weft.SwitchID) []Way {
		if s == 1 {
			return []Way{{3, headersOf(t, "2;end,d")}, {0, headersOf(t, "end,d")}}
		}
		return nil
	})
	require.NoError(t, err)
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
		{
			[]Way{{1, headersOf(t, "end,p2x1,p3x1")}},
			"misroute by each direction once, all ups before all downs, and x before y before z",
		},
		{[]Way{{1, headersOf(t, "0;end,p3x1,p1x1")}}, "misroute by each direction once"},
		{[]Way{{1, headersOf(t, "end,p1x1,p1x1")}}, "misroute by each direction once"},
		{[]Way{{2, headersOf(t, "end,d")}}, "there are 2 switches, name each once"},
		{[]Way{{1, headersOf(t, "end,d")}, {1, headersOf(t, "end")}}, "name each once"},
	} {
		_, err := NewWays(2, func(weft.SwitchID) []Way { return c.ways })
		require.ErrorContains(t, err, c.want)
	}
	_, err := NewWays(weft.MaxSwitch+1, nil)
	require.ErrorContains(t, err, "there are at most")
	w, err := NewWays(2, func(weft.SwitchID) []Way { return []Way{{1, headersOf(t, "0,p1x3,p3x1,p0x8;end,p2x1,p4x1")}} })
	require.NoError(t, err)
	require.Len(t, w.From(1), 1)
}
