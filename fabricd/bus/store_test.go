package bus_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func startJetStream(t *testing.T, dir string) *bus.Broker {
	t.Helper()
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "lab", StoreDir: dir})
	return b
}

func store(t *testing.T, b *bus.Broker, r bus.Role) *bus.Store {
	t.Helper()
	s := bustest.Store(t, bus.StoreConfig{Fabric: "lab", URL: b.ClientURL(), Credentials: b.Credentials(r)})
	return s
}

func TestAKeyIsWrittenOnceAndThenByRevision(t *testing.T) {
	t.Parallel()
	b := startJetStream(t, t.TempDir())
	one, two := store(t, b, bus.RoleManager), store(t, b, bus.RoleFabric)
	ctx := t.Context()
	_, _, err := one.Get(ctx, "lease")
	require.ErrorIs(t, err, reply.ErrNoKey)
	first, err := one.Create(ctx, "lease", []byte("one"))
	require.NoError(t, err)
	_, err = two.Create(ctx, "lease", []byte("two"))
	require.ErrorIs(t, err, reply.ErrConflict)
	_, seen, err := two.Get(ctx, "lease")
	require.NoError(t, err)
	require.Equal(t, first, seen)
	_, err = two.Update(ctx, "lease", []byte("two"), seen)
	require.NoError(t, err)
	_, err = one.Update(ctx, "lease", []byte("one"), first)
	require.ErrorIs(t, err, reply.ErrConflict)
	value, _, err := one.Get(ctx, "lease")
	require.NoError(t, err)
	require.Equal(t, "two", string(value))
	require.NoError(t, one.Delete(ctx, "lease"))
	_, _, err = two.Get(ctx, "lease")
	require.ErrorIs(t, err, reply.ErrNoKey)
	_, err = two.Create(ctx, "lease", nil)
	require.NoError(t, err, "what was deleted can be made anew")
}

func TestWhatIsKeptOutlivesTheBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := startJetStream(t, dir)
	s := store(t, b, bus.RoleManager)
	require.NoError(t, s.Put(t.Context(), "version", []byte("7")))
	s.Close()
	b.Shutdown()
	value, _, err := store(t, startJetStream(t, dir), bus.RoleManager).Get(t.Context(), "version")
	require.NoError(t, err)
	require.Equal(t, "7", string(value))
}

func TestABrokerWithoutJetStreamSaysSo(t *testing.T) {
	t.Parallel()
	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "lab"})
	_, err := bus.OpenStore(t.Context(),
		bus.StoreConfig{Fabric: "lab", URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleManager)})
	require.ErrorIs(t, err, bus.ErrNoStore)
	require.ErrorContains(t, err, "the broker keeps nothing: it runs without JetStream")
}

// A broker that keeps something, and not for us, is told from one that keeps nothing; at once, for
// it gives no answer.
func TestABrokerThatDoesNotLetUsKeepAnythingSaysSo(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	s := natstest.Start(t, natstest.Newest, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()),
		`authorization { users: [`,
		`{ user: noone, password: pw, permissions: { publish: { deny: "$JS.>" } } },`,
		`{ user: reader, password: pw, permissions: { publish: { deny: "$JS.API.STREAM.CREATE.>" } } } ] }`)
	for user, on := range map[string]string{
		"noone":  "$JS.API.STREAM.INFO.KV_weft-lab",
		"reader": "$JS.API.STREAM.CREATE.KV_weft-lab",
	} {
		_, err := bus.OpenStore(t.Context(),
			bus.StoreConfig{Fabric: "lab", URL: s.URL, Credentials: bus.Credentials{User: user, Password: "pw"}})
		require.ErrorIs(t, err, bus.ErrNoStore)
		require.ErrorIs(t, err, reply.ErrDenied)
		require.ErrorContains(t, err, fmt.Sprintf("the broker keeps nothing for user %s: not permitted to publish on %q: "+
			"let them publish on $KV.weft-lab.>, ", user, on))
		require.NotContains(t, err.Error(), "without JetStream")
	}
}

// Operators and viewers may neither upload nor change what the manager keeps, and the manager may
// not cut.
func TestOnlyTheManagerAndTheFabricMayManage(t *testing.T) {
	t.Parallel()
	b := startJetStream(t, t.TempDir())
	control := bustest.Server(t, bus.ServerConfig{Fabric: "lab", Broker: b})
	answer := func(context.Context, struct{}) (string, error) { return "done", nil }
	load := bus.Subject{Kind: bus.SubjectManage, Verb: "load"}
	require.NoError(t, bus.HandleMany(control, load, 2, answer))
	require.NoError(t, bus.Handle(control, ctl("load"), answer), "the operators' verb of that name is another")
	require.NoError(t, bus.Handle(control, ctl("get.ports"), answer))
	for role, may := range map[bus.Role]bool{
		bus.RoleManager: true, bus.RoleFabric: true, bus.RoleOperator: false,
		bus.RoleViewer: false,
	} {
		c := dial(t, b, role)
		err := call(t.Context(), c, load, nil)
		if may {
			require.NoError(t, err, role)
		} else {
			require.ErrorIs(t, err, reply.ErrDenied, role)
		}
		ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
		s, err := bus.OpenStore(ctx, bus.StoreConfig{Fabric: "lab", URL: b.ClientURL(), Credentials: b.Credentials(role)})
		if may {
			require.NoError(t, err, role)
			s.Close()
		} else {
			require.ErrorIs(t, err, bus.ErrNoStore, role)
		}
		cancel()
		require.NoError(t, request(t.Context(), c, "get.ports", nil), role)
	}
	require.ErrorIs(t, request(t.Context(), dial(t, b, bus.RoleManager), "load", nil), reply.ErrDenied)
}
