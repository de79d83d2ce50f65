package bus_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
	"github.com/weft-fabric/weft/switch/wire/wiretest"
)

// No goroutine outlives the Close and Shutdown that tests end with.
func TestMain(m *testing.M) {
	testenv.MostlyWaits()
	goleak.VerifyTestMain(m)
}

// openNATS opens a transport on which every event is a failure, until the test watches it itself.
func openNATS(tb testing.TB, cfg bus.NATSConfig) *bus.NATS {
	tb.Helper()
	n := bustest.Links(tb, cfg)
	n.Watch(func(e wire.Event) { tb.Errorf("event: %v", e) })
	return n
}

// outsideConn is a connection that is no part of the transport.
func outsideConn(tb testing.TB, b *bus.Broker, role bus.Role, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	return login(tb, b, b.Credentials(role), opts...)
}

// login is a connection with credentials.
func login(tb testing.TB, b *bus.Broker, c bus.Credentials, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	conn, err := nats.Connect(b.ClientURL(),
		append(opts, nats.UserInfo(c.User, c.Password), nats.CustomInboxPrefix(c.InboxPrefix))...)
	require.NoError(tb, err)
	tb.Cleanup(conn.Close)
	return conn
}

// What tests of every transport use.
var (
	hop    = wiretest.Hop
	listen = wiretest.Listen
	sender = wiretest.Sender
	ready  = wiretest.Ready
	next   = wiretest.Next
)

func subjectOf(d wire.Direction, shards int) string {
	return bus.Subject{
		Kind: bus.SubjectLink, Fabric: "lab", Shard: bus.ShardOf(d.From, shards), To: bus.ShardOf(d.To,
			shards), Node: d.From, Port: d.FromPort,
	}.String()
}

// recorder keeps the events of a transport.
type recorder struct {
	mu     sync.Mutex
	events []wire.Event // guarded by mu
}

func (r *recorder) record(e wire.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// await returns the first event of a kind, waiting for it.
func (r *recorder) await(tb testing.TB, kind wire.EventKind) (e wire.Event) {
	tb.Helper()
	rig.Until(tb, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		i := slices.IndexFunc(r.events, func(e wire.Event) bool { return e.Kind == kind })
		if i >= 0 {
			e = r.events[i]
		}
		return i >= 0
	}, "an event %v", kind)
	return e
}

// kinds is what happened to one shard, in order.
func (r *recorder) kinds(shard int) []wire.EventKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []wire.EventKind
	for _, e := range r.events {
		if e.Shard == shard {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// awaitEach waits until each shard has told an event of a kind at least n times.
func (r *recorder) awaitEach(tb testing.TB, shards int, kind wire.EventKind, n int) {
	tb.Helper()
	for shard := range shards {
		rig.Until(tb, func() bool { return count(r.kinds(shard), kind) >= n }, "shard %d tells %v %d times", shard,
			kind, n)
	}
}

func count(kinds []wire.EventKind, kind wire.EventKind) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}
