package bus_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// unanswered serves a request that is never answered, and says when it has come.
func unanswered(t *testing.T, c *bus.Server) (asked chan struct{}) {
	t.Helper()
	asked = make(chan struct{}, 4)
	require.NoError(t, bus.Handle(c, ctl("get.never"), func(ctx context.Context, _ struct{}) (any, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	return asked
}

// The broker stays, as one that is not ours does: only what the fabric says can tell its clients
// that it ends.
func TestClientsHearAtOnceThatTheFabricEnds(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	control := openControl(t, b)
	asked := unanswered(t, control)
	client := dial(t, b, bus.RoleViewer)
	events, err := client.Subscribe("sample", 4)
	require.NoError(t, err)
	require.NoError(t, control.Publish("sample", 1))
	heard := make(chan error, 1)
	go func() {
		if _, err := events.Next(t.Context()); err != nil { // what was said before comes first
			heard <- err
			return
		}
		_, err := events.Next(t.Context())
		heard <- err
	}()
	answer := make(chan error, 1)
	go func() { answer <- request(t.Context(), client, "get.never", nil) }()
	<-asked
	require.False(t, client.Ended())

	require.NoError(t, control.End())
	require.ErrorIs(t, <-answer, reply.ErrEnded, "who waits for an answer")
	require.ErrorIs(t, <-heard, reply.ErrEnded, "who waits for an event")
	require.True(t, client.Ended())
	require.ErrorIs(t, request(t.Context(), client, "get.never", nil), reply.ErrEnded, "who asks later")
	require.Empty(t, asked, "which is not asked")
}

// A process that is killed says nothing. Its broker goes with it, and whoever can look whether it
// is there does so then.
func TestClientsOfAProcessThatIsGoneHearSoWhenTheirConnectionIsLost(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	for _, gone := range []bool{true, false} {
		b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "lab"})
		require.NoError(t, err)
		defer b.Shutdown()
		control, err := bus.NewServer(bus.ServerConfig{Fabric: "lab", Broker: b})
		require.NoError(t, err)
		defer control.Close()
		asked := unanswered(t, control)
		var looks atomic.Int32
		client, err := bus.Dial(bus.ClientConfig{
			Fabric: "lab", URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleViewer), Program: "test",
			Gone: func() bool { looks.Add(1); return gone },
		})
		require.NoError(t, err)
		defer client.Close()
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error, 1)
		go func() { answer <- request(ctx, client, "get.never", nil) }()
		<-asked
		b.Shutdown()
		rig.Until(t, func() bool { return looks.Load() > 0 })
		if !gone {
			cancel()
			require.ErrorIs(t, <-answer, context.Canceled, "it may come back")
			require.False(t, client.Ended())
			continue
		}
		require.ErrorIs(t, <-answer, reply.ErrEnded)
		require.True(t, client.Ended())
		cancel()
	}
}

func TestAnAnswerThatDoesNotComeIsToldInOurWords(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	asked := unanswered(t, openControl(t, b))
	client := dial(t, b, bus.RoleViewer)
	var err error
	for patience := 50 * time.Millisecond; len(asked) == 0; patience *= 2 { // until it was asked in time
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err = request(ctx, client, "get.never", nil)
		cancel()
	}
	require.ErrorIs(t, err, reply.ErrSilent)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotContains(t, err.Error(), "context deadline exceeded")
}
