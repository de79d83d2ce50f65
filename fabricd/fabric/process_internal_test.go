package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/credit"
	"github.com/weft-fabric/weft/switch/firmware"
)

// A process that leaves may have been asked just before, and its answer be taken up when its links are another's already.
func TestALateAnswerOfAProcessThatHasLeftTakesNoLinkDown(t *testing.T) {
	t.Parallel()
	g, err := topology.Parse("kary-ntree:2,2")
	require.NoError(t, err)
	f, err := New(Options{Topology: g, Firmware: firmware.AdaptiveLink{}, Transport: bus.NewMemory()})
	require.NoError(t, err)
	s := f.switches[0]
	p := &process{fabric: f, sw: s, attached: make(chan struct{}), over: make(chan struct{}), lostOut: make([]uint64, s.core.Ports())}
	p.told.init()
	answer := func(state credit.State) (a member.Answer) {
		a.Snapshot = s.core.Snapshot()
		for i := range a.Snapshot.Ports {
			a.Snapshot.Ports[i].State = state
		}
		return a
	}
	l, side, ok := f.linkAt(weft.End{Node: s.id.Node()})
	require.True(t, ok)
	p.keep(answer(credit.Up))
	require.True(t, l.up[side].Load())
	p.keep(answer(credit.Down))
	require.False(t, l.up[side].Load())
	p.keep(answer(credit.Up))

	f.release(p)
	p.keep(answer(credit.Down))
	require.True(t, l.up[side].Load())
}
