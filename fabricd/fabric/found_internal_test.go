package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/ledger"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// Hosts that are gone with their leader, and one that only a neighbour knows, have a report under
// the next leader, so that reports and losses agree.
func TestWhatIsGoneWithALeaderIsReported(t *testing.T) {
	t.Parallel()
	before, list := joined(t, 1)
	before.beginLocal(ownNumber)
	s := &ledger.Answer{Host: localHostID, Incarnation: ownNumber, Seq: 1, Asked: 1, Held: 3}
	s.Counters.NICs.Injected = 8
	s.Sent = 5
	for _, e := range list[0].cross {
		peer, _, _ := before.graph.Peer(e)
		s.Flows = append(s.Flows, ledger.Flow{
			End: peer, Peer: ledger.Incarnation(list[0].number),
			Flow: linkend.Flow{Sent: 5},
		})
		break
	}
	before.ledger.step(1, s)
	list[0].hears(t, 2, linkend.Up, linkTotal{received: 4})
	before.checkpoints.write = func(State) <-chan struct{} { return nil }
	var state State
	before.inLoop(func(l loop) { state = l.stateNow() })

	next, _ := joined(t, 0)
	var err error
	next.inLoop(func(l loop) { err = next.restoreState(l, &state) })
	require.NoError(t, err)
	faults := next.Faults()
	require.Len(t, faults, 2)
	require.Equal(t, "the process of the leader before is gone, with the nodes that it ran", faults[0].What)
	require.Equal(t, "process of s0 is gone", faults[1].What)
	require.Positive(t, faults[0].Lost())
	require.NoError(t, next.LossesReported())
	for _, r := range faults {
		require.NotZero(t, r.RestoredAt)
	}
	next.CloseReports()
	require.False(t, next.Faults()[0].Open)
}
