package bus

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/reply"
)

// A long run asks millions of times: nothing stays of an ask, nor of its looks, however it ended.
func TestAsksLeaveNothing(t *testing.T) {
	t.Parallel()
	b, err := StartBroker(BrokerConfig{Fabric: "lab", NoListen: true})
	require.NoError(t, err)
	t.Cleanup(b.Shutdown)
	p, err := Dial(ClientConfig{Fabric: "lab", Broker: b, Leads: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	c, err := NewServer(ServerConfig{Fabric: "lab", Node: "s1", Broker: b})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, Handle(c, Subject{Kind: SubjectSwitch, Verb: "slow"},
		func(ctx context.Context, _ struct{}) (any, error) {
			<-ctx.Done()
			return nil, nil
		}))
	require.NoError(t, Handle(c, Subject{Kind: SubjectSwitch, Verb: "tardy"},
		func(context.Context, struct{}) (any, error) {
			for p.number.Load() < 4 { // until it was looked at
				runtime.Gosched()
			}
			return nil, nil
		}))
	ctx := context.Background()
	call := func(ctx context.Context, node, verb string) error {
		return p.call(ctx, Subject{Kind: SubjectSwitch, Node: node, Verb: verb}, nil, &struct{}{})
	}
	require.ErrorIs(t, call(ctx, "s2", "slow"), reply.ErrNobody)
	require.NoError(t, call(ctx, "s1", presence))
	require.NoError(t, call(ctx, "s1", "tardy"))
	short, cancel := context.WithTimeout(ctx, 2*firstLook)
	defer cancel()
	require.ErrorIs(t, call(short, "s1", "slow"), context.DeadlineExceeded)
	// Stopped as by SIGSTOP: subscribed, but not even its presence answers, so there are several
	// looks.
	_, err = c.conn.SubscribeSync(asksOf("lab", "s3"))
	require.NoError(t, err)
	require.NoError(t, c.conn.Flush())
	stopped, cancel := context.WithTimeout(ctx, 5*firstLook)
	defer cancel()
	require.ErrorIs(t, call(stopped, "s3", "slow"), context.DeadlineExceeded)
	require.Empty(t, p.asks)
}
