package weft_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func randomSubHeaders(r *rand.Rand) (h weft.SubHeaders) {
	n := r.IntN(weft.MaxSubPaths + 1)
	for i := range n {
		to := weft.SwitchID(0)
		if i < n-1 {
			to = weft.SwitchID(r.IntN(weft.MaxSwitch))
		}
		h[i] = weft.NewSubHeader(to)
		if r.IntN(2) == 0 {
			h[i] = h[i].WithDeterministic()
		}
		if r.IntN(3) == 0 {
			h[i] = h[i].WithOtherWay(r.IntN(4))
		}
		for m := range r.IntN(weft.MaxMisroutes + 1) {
			h[i] = h[i].WithMisroute(m, weft.PortID(r.IntN(8)), 1+r.IntN(weft.MaxMisrouteHops))
		}
	}
	return h
}

func TestSubHeadersAreWhatWasPutIn(t *testing.T) {
	h := weft.NewSubHeader(65535).WithDeterministic().WithOtherWay(3).WithMisroute(0, 1, 8).WithMisroute(1, 7,
		1).WithMisroute(1, 2, 3)
	assert.True(t, h.Is() && h.Valid() && h.Leads() && h.Deterministic() && h.OtherWay(3) && !h.OtherWay(0))
	assert.EqualValues(t, 65535, h.To())
	p, hops := h.Misroute(0)
	assert.True(t, p == 1 && hops == 8)
	p, hops = h.Misroute(1)
	assert.True(t, p == 2 && hops == 3)
	_, hops = h.Misroute(2)
	assert.Zero(t, hops)
}

func TestSubHeadersAsText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		h := randomSubHeaders(r)
		require.True(t, h.Valid())
		back, err := weft.ParseSubHeaders(h.String())
		require.NoError(t, err, h.String())
		require.Equal(t, h, back, h.String())
		require.Equal(t, max(h.Len()-1, 0), h.Pop().Len())
		require.Equal(t, h.Len() > 1, h.Via())
	}
	named := weft.SubHeaders{weft.NewSubHeader(3), weft.NewSubHeader(0).WithDeterministic()}
	assert.Equal(t, "iii;end,d", named.Text(func(s weft.SwitchID) string { return strings.Repeat("i", int(s)) }))
	nowhere := weft.SubHeaders{weft.Nowhere}
	assert.Equal(t, "nowhere", nowhere.String())
	back, err := weft.ParseSubHeaders("nowhere")
	require.NoError(t, err)
	assert.Equal(t, nowhere, back)
	for _, bad := range []string{
		"12", "end;end", "end,x", "end,p8x1", "end,p1x0", "end,p1x9", "end,p1x1,p2x1,p3x1,p4x1", "1;2;3;4;end", "70000;end",
		"end;", ",", "nowhere;end", "1;nowhere", "end,o4", "nowhere,d",
	} {
		_, err := weft.ParseSubHeaders(bad)
		assert.ErrorIs(t, err, weft.ErrSubHeaders, bad)
	}
}

func FuzzSubHeaders(f *testing.F) {
	f.Add("12,d,o1,p1x2;end,p3x1,p5x8")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := weft.ParseSubHeaders(text)
		if err != nil {
			return
		}
		if !h.Valid() {
			t.Fatalf("%q: %v is not valid", text, h)
		}
		if back, err := weft.ParseSubHeaders(h.String()); err != nil || back != h {
			t.Fatalf("%q: %v, then %v, %v", text, h, back, err)
		}
	})
}
