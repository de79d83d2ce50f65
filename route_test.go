package weft_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// A route does as a plain list of ports does, whatever is pushed and popped.
func TestASourceRouteIsAStackOfPorts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range testenv.Levels(2000, 400, 100) {
		playRoute(t, func() uint16 { return uint16(rnd.Uint32()) }, 60)
	}
}

// playRoute pushes and pops as draws say, beside a list that is the truth.
func playRoute(t *testing.T, draw func() uint16, steps int) {
	var r weft.SourceRoute
	var list []weft.PortID // its last port is the next
	for range steps {
		d := draw()
		if d%3 == 0 {
			r = r.Pop()
			list = list[:max(0, len(list)-1)]
		} else {
			p := weft.PortID(d >> 4 % 300)
			was := r
			longer, ok := r.Push(p)
			r = longer
			if fits := p < weft.MaxPorts && len(list) < weft.MaxRoute; fits {
				list = append(list, p)
				require.True(t, ok)
			} else {
				require.False(t, ok)
				require.Equal(t, was, r, "what does not fit changes nothing")
			}
		}
		require.Equal(t, len(list), r.Len())
		var again weft.SourceRoute // the same ports pushed at once
		for i, p := range list {
			require.Equal(t, p, r.At(len(list)-1-i))
			again, _ = again.Push(p)
		}
		require.Equal(t, again, r, "routes of the same ports are equal")
		require.Equal(t, len(list) == 0, r == weft.SourceRoute{})
		if len(list) == 0 {
			require.Equal(t, weft.NoPort, r.Next())
		} else {
			require.Equal(t, list[len(list)-1], r.Next())
		}
		require.Equal(t, weft.NoPort, r.At(len(list)))
		require.Equal(t, weft.NoPort, r.At(-1))
		parsed, err := weft.ParseSourceRoute(r.String())
		require.NoError(t, err)
		require.Equal(t, r, parsed)
	}
}

func FuzzSourceRoute(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 3, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		i := 0
		playRoute(t, func() uint16 {
			i += 2
			return uint16(data[i-2])<<8 | uint16(data[i-1])
		}, len(data)/2)
	})
}

// Whatever bits a route is made of, as one from outside may be, nothing reaches beyond its bounds.
func FuzzAnySourceRoute(f *testing.F) {
	f.Add(uint64(1), uint64(0xFF)<<56)
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := weft.SourceRoute{a, b}
		n := r.Len()
		require.LessOrEqual(t, n, weft.MaxRoute)
		for range n {
			require.Less(t, r.Next(), weft.PortID(weft.MaxPorts))
			r = r.Pop()
		}
		require.Zero(t, r.Len())
		require.Equal(t, weft.NoPort, r.Next())
	})
}

func TestASourceRouteIsReadAsItIsPrinted(t *testing.T) {
	r, err := weft.ParseSourceRoute("p4,p255,p0")
	require.NoError(t, err)
	require.Equal(t, "p4,p255,p0", r.String())
	require.Equal(t, weft.PortID(4), r.Next())
	require.Equal(t, weft.PortID(0), r.Pop().Pop().Next())
	require.Empty(t, weft.SourceRoute{}.String())
	for _, bad := range []string{
		",", "p", "4", "p4,", ",p4", "p4,,p5", "p4 p5", "p4p5", "p256", "p-1", "p+1", "p4,x", "xp4", "p99999",
		"p1,p1,p1,p1,p1,p1,p1,p1,p1,p1,p1,p1,p1,p1,p1,p1",
	} {
		_, err := weft.ParseSourceRoute(bad)
		require.ErrorIs(t, err, weft.ErrRoute, bad)
	}

	data, err := json.Marshal(weft.Fields{Route: r})
	require.NoError(t, err)
	require.Contains(t, string(data), `"Route":"p4,p255,p0"`)
	var f weft.Fields
	require.NoError(t, json.Unmarshal(data, &f))
	require.Equal(t, r, f.Route)
	require.ErrorIs(t, json.Unmarshal([]byte(`{"Route":"p999"}`), &f), weft.ErrRoute)
}
