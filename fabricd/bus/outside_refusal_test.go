package bus_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// users is a configuration with one user.
func users(name, password, permissions string) string {
	return fmt.Sprintf("authorization { users: [ { user: %s, password: %s, permissions: { %s } } ] }", name, password,
		permissions)
}

func TestOutsideBrokerIsNotThere(t *testing.T) {
	t.Parallel()
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release, users("ann", "right", ""))
		open := func(c bus.Credentials) error {
			_, err := bus.NewNATS(bus.NATSConfig{Fabric: "lab", URL: broker.URL, Credentials: c})
			return err
		}
		for _, c := range []bus.Credentials{{User: "ann", Password: "wrong"}, {Token: "wrong"}, {}} {
			err := open(c)
			require.ErrorContains(t, err, "refuses "+c.String())
			require.ErrorContains(t, err, "give ")
			require.NotContains(t, err.Error(), "wrong")
		}
		require.ErrorContains(t, open(bus.Credentials{User: "ann", Password: "right", TLSCA: "/no/such.pem"}), "/no/such.pem")
		broker.Kill()
		err := open(bus.Credentials{User: "ann", Password: "right", Timeout: time.Hour}) // which it does not wait out
		require.ErrorContains(t, err, "no broker answers at "+broker.URL)
		broker.Start()
		broker.Pause()
		err = open(bus.Credentials{User: "ann", Password: "right", Timeout: 100 * time.Millisecond})
		require.ErrorContains(t, err, "no broker answers at "+broker.URL)
	})
}

// A user who is withdrawn comes back by himself once the broker knows him again.
func TestOutsideAuthorizationLost(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release, users("ann", "right", ""))
		n, events := watch(t, bus.NATSConfig{
			URL: broker.URL, Shards: 1, Credentials: bus.Credentials{User: "ann", Password: "right"},
		})
		inbox := listen(t, n, hop(0), 10)
		broker.Reload(users("bob", "right", ""))
		events.awaitEach(t, 1, wire.EventUnauthorized, 4) // the fourth is of the eighth try: it does not give up
		e := events.await(t, wire.EventUnauthorized)
		require.ErrorContains(t, e.Err, "user ann")
		require.NotContains(t, e.String(), "right")
		require.ErrorIs(t, sender(t, n, hop(0)).Send([]byte("x")), wire.ErrDisconnected)
		broker.Reload(users("ann", "right", ""))
		events.await(t, wire.EventReconnected)
		require.NoError(t, sender(t, n, hop(0)).Send([]byte("x")))
		require.Equal(t, "x", next(t, inbox))
		kinds := events.kinds(0)
		require.Equal(t, 1, count(kinds, wire.EventDisconnected))
		require.Equal(t, wire.EventReconnected, kinds[len(kinds)-1])
	})
}

func TestOutsidePermissionsDenied(t *testing.T) {
	t.Parallel()
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		allowed, denied := hop(0), hop(1)
		broker := natstest.Start(t, release,
			users("ann", "p", `publish: { deny: "`+subjectOf(denied, 1)+`" }, subscribe: { deny: "weft.other.>" }`))
		creds := bus.Credentials{User: "ann", Password: "p"}
		_, err := bus.NewNATS(bus.NATSConfig{Fabric: "other", URL: broker.URL, Credentials: creds})
		require.ErrorIs(t, err, reply.ErrDenied)
		require.ErrorContains(t, err, "lets user ann not listen to weft.other.l.*.0.>")

		n, events := watch(t, bus.NATSConfig{URL: broker.URL, Shards: 1, Credentials: creds})
		inAllowed, inDenied := listen(t, n, allowed, 10), listen(t, n, denied, 10)
		for range 10 {
			require.NoError(t, sender(t, n, denied).Send([]byte("x")), "the broker tells later")
		}
		require.NoError(t, sender(t, n, allowed).Send([]byte("fine")))
		require.Equal(t, "fine", next(t, inAllowed))
		require.Empty(t, inDenied)
		e := events.await(t, wire.EventUnauthorized)
		require.Equal(t, subjectOf(denied, 1), e.Subject)
		require.ErrorContains(t, e.Err, "lets user ann not send here")
		events.awaitEach(t, 1, wire.EventUnauthorized, 4)
		require.Len(t, events.kinds(0), 4, "at 1, 2, 4 and 8 of 10")
	})
}

func TestOutsideMaxPayload(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release, "max_payload: 300")
		_, err := bus.NewNATS(bus.NATSConfig{Fabric: "lab", URL: broker.URL})
		require.ErrorIs(t, err, wire.ErrTooLarge)
		require.ErrorContains(t, err, "takes messages of 300 bytes, a frame needs 446: raise its max_payload")

		broker.Reload("max_payload: 2000")
		n, events := watch(t, bus.NATSConfig{URL: broker.URL, Shards: 1})
		require.Equal(t, 2000, n.MaxFrame())
		inbox := listen(t, n, hop(0), 10)
		s := sender(t, n, hop(0))
		require.NoError(t, s.Send(make([]byte, 2000)))
		require.Len(t, next(t, inbox), 2000)
		require.ErrorIs(t, s.Send(make([]byte, 2001)), wire.ErrTooLarge)
		e := events.await(t, wire.EventTooLarge)
		require.Equal(t, subjectOf(hop(0), 1), e.Subject)
		require.ErrorContains(t, e.Err, "a frame has 2001 bytes, the broker at "+broker.URL+" takes 2000")
		require.Equal(t, uint64(1), n.Stats().Errors)
		require.NoError(t, s.Send([]byte("small")))
		require.Equal(t, "small", next(t, inbox))

		// Lowered while we are connected: the broker says so by closing the connection over the
		// next large frame.
		broker.Reload("max_payload: 1000")
		_ = s.Send(make([]byte, 1500)) // some brokers tell of the new limit before
		for n.MaxFrame() != 1000 {
			_ = s.Send(make([]byte, 1500))
		}
		events.awaitEach(t, 1, wire.EventTooLarge, 2)
		if count(events.kinds(0), wire.EventDisconnected) > 0 {
			events.await(t, wire.EventReconnected)
		}
		require.NoError(t, s.Send(make([]byte, 1000)))
		for len(next(t, inbox)) != 1000 {
		}

		// Another limit after the return of the broker is known, and told when it is lower, before
		// anything is sent.
		for i, limit := range []int{900, wire.MaxFrame + 1, 800} {
			back := count(events.kinds(0), wire.EventReconnected)
			large := count(events.kinds(0), wire.EventTooLarge)
			broker.Kill()
			broker.Start(fmt.Sprint("max_payload: ", limit))
			events.awaitEach(t, 1, wire.EventReconnected, back+1)
			require.Equal(t, min(limit, wire.MaxFrame), n.MaxFrame())
			if i != 1 {
				large++
			}
			require.Equal(t, large, count(events.kinds(0), wire.EventTooLarge))
		}
	})
}

// What the settings of a user resolve to opens a connection, too.
func TestOutsideWithSettings(t *testing.T) {
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release, "authorization { token: s3cr3t }")
		for _, s := range []bus.Settings{
			{Server: broker.URL, Token: "s3cr3t", Timeout: time.Second},
			{Server: broker.URL, User: "s3cr3t"},
		} {
			r, err := s.Resolve(func(string) string { return "" })
			require.NoError(t, err)
			n := openNATS(t, bus.NATSConfig{URL: r.URL, Credentials: r.Credentials})
			inbox := listen(t, n, hop(0), 1)
			ready(t, n)
			require.NoError(t, sender(t, n, hop(0)).Send([]byte("x")))
			require.Equal(t, "x", next(t, inbox))
			require.NoError(t, n.Close())
		}
	})
}

// What the broker does not take as one message travels in chunks, there and back; who asks with the
// nats command, which puts none together, is told.
func TestWhatIsLargerThanAMessageTravels(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release, "max_payload: 900")
		control := bustest.Server(t, bus.ServerConfig{Fabric: "lab", URL: broker.URL})
		require.NoError(t, bus.Handle(control, ctl("get.echo"),
			func(_ context.Context, text string) (string, error) { return text + "!", nil }))
		require.NoError(t, bus.Handle(control, ctl("get.text"),
			func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 1000), nil }))
		client := bustest.Client(t, bus.ClientConfig{Fabric: "lab", URL: broker.URL})
		long := strings.Builder{}
		for range 500 {
			long.WriteString(rand.Text())
		}
		var asking sync.WaitGroup
		for i := range 4 { // at once: they are told apart
			asking.Go(func() {
				text := fmt.Sprint(i, long.String())
				got, err := bus.Call[string](t.Context(), client, ctl("get.echo"), text)
				assert.NoError(t, err)
				assert.Equal(t, text+"!", got)
			})
		}
		asking.Wait()

		plain, err := nats.Connect(broker.URL)
		require.NoError(t, err)
		t.Cleanup(plain.Close)
		msg, err := plain.Request("weft.lab.ctl.get.text", nil, rig.Patience)
		require.NoError(t, err)
		require.JSONEq(t, `{"error":"the answer has 1002 bytes, the broker takes 900: raise its max_payload"}`,
			string(msg.Data))
	})
}
