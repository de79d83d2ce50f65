package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// A firmware that panics ends a path there, as in a switch, and the counterexample says why.
func TestAFirmwareThatPanicsIsACounterexample(t *testing.T) {
	t.Parallel()
	route := func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if pkt.Dst == 2 && sw.Place().Switch == 1 {
			_ = []int{}[pkt.Dst]
		}
		return clockwise{dateline: true}.route(pkt, at, sw)
	}
	r, err := verify.Run(t.Context(), verify.Config{
		Graph: topologytest.Parse(t, "ring:4"), Firmware: switching.Firmware{Name: "panics", Route: route}, VCs: 2,
	})
	require.NoError(t, err)
	require.False(t, r.Pass)
	require.EqualValues(t, 3, r.Unconnected)
	require.Regexp(t,
		`s1 from \S+ vc\d  \(the firmware panicked: runtime error: index out of range \[2\] with length 0\)`,
		r.Counter.String())
}
