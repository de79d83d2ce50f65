package bus

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A long run asks millions of times: nothing stays of an ask, nor of its looks, however it ended.
func TestAsksLeaveNothing(t *testing.T) {
	t.Parallel()
	b, err := StartBroker(BrokerConfig{Fabric: "lab", NoListen: true})
	require.NoError(t, err)
	t.Cleanup(b.Shutdown)
	p, err := NewPeers(PeersConfig{Fabric: "lab", Broker: b})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	c, err := NewControl(ControlConfig{Fabric: "lab", Node: "s1", Broker: b})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.Serve("slow", func(ctx context.Context, _ []byte) (any, error) {
		<-ctx.Done()
		return nil, nil
	}))
	require.NoError(t, c.Serve("tardy", func(context.Context, []byte) (any, error) {
		for p.number.Load() < 4 { // until it was looked at
			runtime.Gosched()
		}
		return nil, nil
	}))
	ctx := context.Background()
	require.ErrorIs(t, p.Ask(ctx, "s2", "slow", nil, nil), ErrNoProcess)
	require.NoError(t, p.Ask(ctx, "s1", presence, nil, nil))
	require.NoError(t, p.Ask(ctx, "s1", "tardy", nil, nil))
	brief, cancel := context.WithTimeout(ctx, 2*firstLook)
	defer cancel()
	require.ErrorIs(t, p.Ask(brief, "s1", "slow", nil, nil), context.DeadlineExceeded)
	// Stopped as by SIGSTOP: subscribed, but not even its presence answers, so there are several looks.
	_, err = c.conn.SubscribeSync(asksOf("lab", "s3"))
	require.NoError(t, err)
	require.NoError(t, c.conn.Flush())
	stopped, cancel := context.WithTimeout(ctx, 5*firstLook)
	defer cancel()
	require.ErrorIs(t, p.Ask(stopped, "s3", "slow", nil, nil), context.DeadlineExceeded)
	require.Empty(t, p.asks)
}
