package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestADiscardTellsTheSourceWhenTheFirmwareAsksForIt(t *testing.T) {
	r := newRig(t, 3, Config{Notices: true})
	told := Discard("nowhere to go")
	told.Notify = true
	r.fw.routes[8], r.fw.routes[9] = told, Discard("nowhere to go")
	r.arrive(0, 0, 4, 8)
	require.Equal(t, []weft.Notice{{Src: 4, Dst: 8, Rule: "nowhere to go"}}, r.out.Notices)
	require.Len(t, r.out.Drops, 1, "it is discarded all the same")
	r.arrive(0, 0, 4, 9)
	require.Empty(t, r.out.Notices)
	require.Len(t, r.out.Drops, 1)

	sent := ways(1)
	sent.Notify = true
	r.fw.routes[7] = sent
	r.arrive(0, 0, 4, 7)
	require.Empty(t, r.out.Notices, "what goes on is no news")
	r.arrive(0, 0, 5, 8)
	require.Equal(t, []weft.Notice{{Src: 5, Dst: 8, Rule: "nowhere to go"}}, r.out.Notices)
}
