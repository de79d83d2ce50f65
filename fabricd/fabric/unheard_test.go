package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// A host adds up many nodes while packets move between them, and passes packets on after its last
// word; it injects some, too.
func TestTheLedgerBalancesWhileAHostIsFrozen(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	l := startHostsOn(t, 3, oneApart(t))
	rounds := testenv.Levels(3, 1, 1)
	for range rounds {
		l.load("uniform:0.05")
		l.more(300)
		l.agents.Of("host1").Process().Signal(rig.Freeze)
		l.until("it is missed", func() bool { return l.Fabric.Hosts()[1].State == fabric.SwitchSuspect })
		l.more(100)
		require.NoError(t, l.Fabric.StopTraffic())
		ledger, err := l.Fabric.Quiesce(t.Context())
		if err != nil {
			require.ErrorAs(t, err, new(*fabric.StuckError))
		}
		require.True(t, ledger.Balanced, "%+v", ledger)
		l.agents.Of("host1").Process().Signal(rig.Thaw)
		l.until("it is back", func() bool { return l.Fabric.Hosts()[1].State == fabric.SwitchUp })
		l.sound()
	}
	attack.Seen(t, "a process of several switches frozen while the fabric is drained", rounds)
}
