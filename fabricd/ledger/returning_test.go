package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// A switch goes from host 2 to host 3 and back while the end beside it, on host 1, waits in one
// epoch. The end has heard of incarnation 3 last, and comes up with incarnation 2 in that epoch all
// the same: a packet that is sent to it then is not lost because host 1 said before that it had met
// another incarnation.
func TestAnEndThatWaitsComesUpWithAnIncarnationOfBefore(t *testing.T) {
	t.Parallel()
	s0, s1 := weft.SwitchID(0).Node(), weft.SwitchID(1).Node()
	a, b := weft.End{Node: s0}, weft.End{Node: s1}
	w := newModel([]Link{{a, b}}, 3)
	h := begin(w, [][]weft.Node{{s1}, {s0}, nil}, false, new([counted]uint64))
	p1, p2, p3 := h.procs[0], h.procs[1], h.procs[2]
	hello := func(p *proc, e weft.End, x *end) {
		x.hello()
		h.transmit(p, e, 0)
	}
	heard := func() Incarnation { _, e := p1.ends[b].Epochs(); return h.owner(e) } // of switch 0, at the other end
	var waits weft.Epoch
	for _, step := range []struct {
		does string
		do   func()
	}{
		{does: "both ends are up", do: func() {
			require.Equal(t, link.Up, p1.ends[b].State())
			require.Equal(t, p2.inc, heard())
		}},
		{does: "switch 0 moves to host 3, and one hello of it arrives", do: func() {
			h.move(s0, p2, p3)
			h.arrive(p3, 0, true)
			hello(p3, a, p3.ends[a])
			for i := range h.wires {
				h.deliver(i)
			}
			require.Equal(t, link.Init, p1.ends[b].State())
			require.Equal(t, p3.inc, heard())
			waits, _ = p1.ends[b].Epochs()
		}},
		{does: "host 1 is asked", do: func() { h.query(1); h.hearAll() }},
		{does: "host 3 ends, and switch 0 goes on at host 2", do: func() {
			h.endHost(p3)
			h.flush()
			mine, _ := p1.ends[b].Epochs()
			require.Equal(t, waits, mine)
			require.Equal(t, link.Up, p2.ends[a].State())
			require.Equal(t, p2.inc, heard())
		}},
		{does: "switch 0 sends a packet, and host 2 is asked", do: func() {
			p2.c.NICs.Injected++ // by whoever is at it
			p2.ends[a].out++
			h.transmit(p2, a, 1)
			h.query(2)
			h.hearAll()
		}},
		{does: "the packet arrives", do: func() { h.flush(); h.quiesce(true) }},
	} {
		step.do()
		require.NoError(t, h.never(), step.does)
		require.Zero(t, h.l.Balance().Lost, step.does)
	}
	require.EqualValues(t, 1, p1.holds())
	require.EqualValues(t, 1, h.l.Balance().Waiting.Switches)
}
