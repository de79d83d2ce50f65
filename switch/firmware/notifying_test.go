package firmware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// A firmware that notifies does so for a packet that no up port leads on; the others never do.
func TestAFirmwareNotifiesTheSourceOfADiscardIfItSaysSo(t *testing.T) {
	s := newStillTree(t, "kary-ntree:3,3")
	v := s.sw[len(s.sw)-9] // the leaf of NICs 0, 1, 2
	at := Arrival{Port: 3, From: weft.RoleUp}
	for _, fw := range For(Trees) {
		v.Registers = make([]uint64, len(fw.RegistersAt(v.At)))
		pkt := weft.Header{Dst: 4, Fields: weft.NewFields()}
		pkt.Route, _ = weft.ParseSourceRoute("p4,p1,p1")
		for _, dead := range []uint64{0, 1<<4 | 1<<5} {
			v.Dead[0] = dead
			d := fw.Route(&pkt, at, v)
			if fw.Notifies {
				require.Equal(t, dead != 0, len(d.Candidates) == 0, fw.Name)
			}
			require.Equal(t, fw.Notifies && dead != 0, d.Notify, fw.Name)
		}
	}
}
