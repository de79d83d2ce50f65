package firmware

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// A firmware that can notify does so, when it is told to, for a packet that no up port leads on,
// and decides alike otherwise.
func TestAFirmwareThatIsToldToNotifiesTheSourceOfADiscard(t *testing.T) {
	require.Equal(t, slices.DeleteFunc(Names(), func(name string) bool {
		e, _ := ByName(name)
		return name == "updown" || e.On == Grids
	}), Notifiers())
	s := newStillTree(t, "kary-ntree:3,3")
	v := s.sw[len(s.sw)-9] // the leaf of NICs 0, 1, 2
	at := Arrival{Port: 3, From: weft.RoleUp}
	for _, name := range Notifiers() {
		e, _ := ByName(name)
		pkt := weft.Header{Dst: 4, Fields: weft.NewFields()}
		pkt.Route, _ = weft.ParseSourceRoute("p4,p1,p1")
		for _, dead := range []uint64{0, 1<<4 | 1<<5} {
			v.Dead[0] = dead
			quiet := e.New().Route(&pkt, at, v)
			candidates := slices.Clone(quiet.Candidates) // the storage is used again
			require.False(t, quiet.Notify, name)
			require.Equal(t, dead != 0, len(quiet.Candidates) == 0, name)
			told := e.New().(Notifier).Notifying().Route(&pkt, at, v)
			require.Equal(t, dead != 0, told.Notify, name)
			told.Notify = false
			quiet.Candidates = candidates
			require.Equal(t, quiet, told, name)
		}
	}
}
