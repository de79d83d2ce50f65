package firmware

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// At any switch, for any arrival and whatever is dead: the port, the rule and the layer, which is
// the channel of the one and in the header of the other.
func TestTheFlatFirmwareDecidesAsTheLayeredOneInOneChannel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	net := newTree("kary-ntree:3,4")
	layered, turns := 0, 0
	for range 20000 {
		v := net.views[rnd.IntN(len(net.views))]
		v.Dead[0] = rnd.Uint64() & rnd.Uint64()
		p := weft.PortID(rnd.IntN(v.At.Ports()))
		layer := weft.VC(rnd.IntN(2))
		pkt := weft.Header{Dst: weft.NICID(rnd.IntN(net.nics())), VC: layer, Fields: weft.NewFields()}
		want := DeterministicLink().Route(&pkt, Arrival{Port: p, VC: layer, From: v.At.Roles[p]}, v)
		want.Candidates = append([]Candidate(nil), want.Candidates...)

		pkt.VC, pkt.Misroute = 0, uint64(layer)
		got := DeterministicLinkFlat().Route(&pkt, Arrival{Port: p, From: v.At.Roles[p]}, v)
		require.Len(t, got.Candidates, len(want.Candidates))
		for i, c := range got.Candidates {
			require.Zero(t, c.VC)
			layered += int(c.Fields.Misroute)
			c.VC, c.Fields.Misroute = weft.VC(c.Fields.Misroute), 0
			require.Equal(t, want.Candidates[i], c)
		}
		require.Equal(t, want.Rule, got.Rule)
		require.Equal(t, want.Turn, got.Turn)
		if want.Turn > 0 {
			turns++
		}
	}
	require.Greater(t, layered, 1000)
	require.Greater(t, turns, 1000)
}
