package remote_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/harness/rig"
)

// guest opens a host of one switch of another host, under the name of the switch.
func (r *testbed) guest(id weft.SwitchID, number uint64) *servedHost {
	r.t.Helper()
	c := r.served["west"].spec
	if int(id)%2 == 1 {
		c = r.served["east"].spec
	}
	c.Host, c.Number = r.graph.Name(id.Node()), number
	c.Placement = host.Placement{
		Host: c.Host, Switches: host.Spans([]weft.SwitchID{id}), Shard: c.Placement.Shard, Shards: c.Placement.Shards, Shared: true,
	}
	l := r.host(c)
	delete(r.served, c.Host) // the testbed's own sums know nothing of moves
	return l
}

// A guest that was written off and wakes up while another process is the switch, under the same name,
// answers nothing in its place, and ends.
func TestAGuestThatWasReplacedIsSilentAndEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "kary-ntree:2,2", "deterministic-link", nil)
	old := r.guest(1, 7)
	_, err := old.Counters(context.Background(), host.CountersRequest{Number: 6})
	require.ErrorContains(t, err, host.ErrIncarnation.Error(), "who asks for one of before is told so")
	now := r.guest(1, 8)
	for range 50 {
		s, err := now.Counters(context.Background(), host.CountersRequest{Number: 8})
		require.NoError(t, err)
		require.Equal(t, uint64(8), s.Number)
	}
	now.order(host.Order{})
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	_, err = old.server.Wait(ctx)
	require.ErrorIs(t, err, remote.ErrLater)
	require.NoError(t, old.server.Close())
	_, err = now.Counters(context.Background(), host.CountersRequest{Number: 8})
	require.NoError(t, err)
}
