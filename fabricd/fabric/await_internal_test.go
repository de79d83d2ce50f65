package fabric

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Packets that wait for a switch which was to move, and never did, are not stuck: they go on when
// the time is over, or when the move is given up.
func TestPacketsWaitForASwitchThatDoesNotMove(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	for name, at := range map[string]weft.Node{"at a switch": weft.SwitchID(1).Node(), "at a NIC": weft.NICID(0).Node()} {
		for _, givenUp := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := startRing(t)
				wait := func(most time.Duration) {
					var o host.Order
					for _, l := range f.links {
						for _, e := range l.ends() {
							if e.Node == at {
								o.Await = append(o.Await, host.AwaitOrder{End: host.EndOf(e), Most: weft.FromDuration(most)})
							}
						}
					}
					_, err := f.local.order(o)
					require.NoError(t, err)
				}
				wait(2 * time.Second)
				for dst := weft.NICID(1); int(dst) < len(f.nics); dst++ {
					_, err := f.Send(0, dst, false)
					require.NoError(t, err)
				}
				if givenUp {
					require.NotZero(t, f.Ledger().InFlight)
					wait(0)
				}
				l, err := f.Quiesce(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, len(f.nics)-1, l.Delivered)
			})
		}
	}
}
