package bus_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

func heard(t *testing.T, tap *bus.Tap) (from bus.TapEnd, frame string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	m, err := tap.Next(ctx)
	require.NoError(t, err)
	return m.From, string(m.Data)
}

func TestATapHearsWhatItsEndsSendAndTakesNothingAway(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	fabric := openNATS(t, bus.NATSConfig{Broker: b, Shards: 2})
	inboxes := []chan wire.Message{listen(t, fabric, hop(0), 64), listen(t, fabric, hop(1), 64)}
	viewer := dial(t, b, bus.RoleViewer)
	one, err := viewer.Tap([]bus.TapEnd{{Node: "s1", Port: 1}}, 64)
	require.NoError(t, err)
	all, err := viewer.Tap(nil, 64)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, sender(t, fabric, hop(0)).Send(fmt.Appendf(nil, "a%d", i)))
		require.Equal(t, fmt.Sprint("a", i), next(t, inboxes[0]))
		require.NoError(t, sender(t, fabric, hop(1)).Send(fmt.Appendf(nil, "b%d", i)))
		require.Equal(t, fmt.Sprint("b", i), next(t, inboxes[1]))
		from, frame := heard(t, one)
		require.Equal(t, bus.TapEnd{Node: "s1", Port: 1}, from)
		require.Equal(t, fmt.Sprint("b", i), frame)
		_, frame = heard(t, all)
		require.Equal(t, fmt.Sprint("a", i), frame)
		_, frame = heard(t, all)
		require.Equal(t, fmt.Sprint("b", i), frame)
	}

	// What is cut at the broker is not heard.
	require.NoError(t, fabric.Cut(hop(1)))
	require.NoError(t, sender(t, fabric, hop(1)).Send([]byte("lost")))
	require.NoError(t, fabric.Restore(hop(1)))
	require.NoError(t, sender(t, fabric, hop(1)).Send([]byte("back")))
	_, frame := heard(t, one)
	require.Equal(t, "back", frame)
	require.Zero(t, one.Lost())
	require.NoError(t, one.Close())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = one.Next(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, viewer.Close())
	_, err = all.Next(t.Context())
	for err == nil { // it may have heard more
		_, err = all.Next(t.Context())
	}
	require.ErrorIs(t, err, wire.ErrClosed)
}

func TestATapThatIsNotReadLosesFramesAndCountsThem(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	fabric := openNATS(t, bus.NATSConfig{Broker: b, Shards: 1})
	inbox := listen(t, fabric, hop(0), 4096)
	tap, err := dial(t, b, bus.RoleViewer).Tap([]bus.TapEnd{{Node: "s0", Port: 1}}, 10)
	require.NoError(t, err)
	out := sender(t, fabric, hop(0))
	for i := range 1000 {
		require.NoError(t, out.Send(fmt.Appendf(nil, "%d", i)))
	}
	for i := range 1000 {
		require.Equal(t, fmt.Sprint(i), next(t, inbox))
	}
	rig.Until(t, func() bool { return tap.Lost() == 990 })
	require.Equal(t, 10, tap.Waiting())
}

func TestATapThatIsDeniedSaysSo(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{})
	c := bustest.Client(t, bus.ClientConfig{Fabric: "lab", URL: b.ClientURL(), Credentials: admit(t, b, access())})
	for range 2 {
		_, err := c.Tap(nil, 1)
		require.ErrorIs(t, err, reply.ErrDenied)
		require.ErrorContains(t, err, "not listen to weft.lab.l.>: allow it to subscribe")
	}
	_, err := c.Tap([]bus.TapEnd{{Node: "no_node", Port: 1}}, 1)
	require.ErrorIs(t, err, wire.ErrName)
	_, err = c.Tap([]bus.TapEnd{{Node: "s0", Port: weft.MaxPorts}}, 1)
	require.ErrorIs(t, err, wire.ErrName)
}

// A viewer that listens to the links and never reads holds up nobody and is thrown out.
func TestAListenerThatNeverReadsIsDisconnected(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	b := bustest.Broker(t, bus.BrokerConfig{})
	fabric := openNATS(t, bus.NATSConfig{Broker: b, Shards: 1})
	inbox := listen(t, fabric, hop(0), 16)
	login := b.Credentials(bus.RoleViewer)
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.ClientURL(), "nats://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "CONNECT {\"verbose\":false,\"user\":%q,\"pass\":%q}\r\nSUB weft.lab.l.> 1\r\nPING\r\n",
		login.User, login.Password)
	require.NoError(t, err)
	for r := bufio.NewReader(conn); ; { // until it has subscribed
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		if strings.HasPrefix(line, "PONG") {
			break
		}
	}
	require.True(t, b.Connected(login.User))
	out, frame := sender(t, fabric, hop(0)), make([]byte, 60_000)
	for began := time.Now(); b.Connected(login.User); {
		require.NoError(t, out.Send(frame))
		require.Len(t, next(t, inbox), len(frame))
		require.Less(t, time.Since(began), rig.Patience, "the broker keeps it")
	}
	require.Empty(t, inbox)
}
