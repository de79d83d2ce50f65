package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestAPacketThatHasEndedIsNotTakenForLostWhateverIsToldLate(t *testing.T) {
	t.Parallel()
	var tr traces
	hop := weft.Actions{Hops: []weft.Hop{{Out: 1, Header: weft.Header{Src: 1, Dst: 2, Traced: true}}}}
	tr.add(0, weft.SwitchID(0).Node(), &hop)
	list, _ := tr.silent(weft.Second)
	require.Len(t, list, 1, "it has left and is nowhere yet")
	tr.add(0, weft.NICID(2).Node(), &weft.Actions{Arrived: []weft.Header{{Src: 1, Dst: 2, Traced: true}}})
	tr.add(0, weft.SwitchID(0).Node(), &hop) // by a process
	list, _ = tr.silent(2 * weft.Second)
	require.Empty(t, list)
}
