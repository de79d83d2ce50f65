package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// Leaders are replaced every ten seconds, and each finds a host gone that it has not heard. What is
// gone is put away half a minute later all the same: the ledger does not keep one incarnation for
// each leader there ever was.
func TestIncarnationsThatNoLeaderHeardArePutAway(t *testing.T) {
	t.Parallel()
	s0, s1, s2 := weft.SwitchID(0).Node(), weft.SwitchID(1).Node(), weft.SwitchID(2).Node()
	end := func(n weft.Node, p weft.PortID) weft.End { return weft.End{Node: n, Port: p} }
	w := newModel([]Link{{end(s0, 0), end(s1, 0)}, {end(s1, 1), end(s2, 0)}, {end(s2, 1), end(s0, 1)}}, 3)
	h := begin(w, [][]weft.Node{{s0}, {s1}, {s2}}, false, new([counted]uint64))
	const leaders, every = 20, 10 * weft.Second
	for i := range leaders {
		h.kill(h.procs[i%3])
		h.restore(h.checkpoint())
		h.quiesce(true)
		h.anew(HostID(i%3 + 1))
		h.quiesce(true)
		h.now += every
		h.step(Tick{})
		require.NoError(t, h.never())
	}
	require.Less(t, len(h.l.State().Hosts), 3+2+int(foldAfter/every), "3 run, and some are gone for less than %v",
		foldAfter)
	require.Empty(t, h.l.Balance().Uncertain)
}
