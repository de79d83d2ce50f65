package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/lease"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// campaign has a process want to lead, and says when it does, and who leads meanwhile.
func campaign(t *testing.T, s *bus.Store, id string) (<-chan *lease.Lease, <-chan cluster.Leader) {
	t.Helper()
	won, standby := make(chan *lease.Lease, 1), make(chan cluster.Leader, 4)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		l, err := cluster.Campaign(ctx, cluster.CampaignConfig{
			Store: s, Me: cluster.Leader{ID: id, Host: "host-" + id, PID: 7}, Standby: func(l cluster.Leader,
				_ uint64,
			) {
				standby <- l
			},
		})
		if err == nil {
			won <- l
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return won, standby
}

// leads has a process lead until it is stopped, and says how that ended.
func leads(t *testing.T, l *lease.Lease) (stop func(), ended <-chan error) {
	ctx, cancel := context.WithCancel(context.Background())
	over, how := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(over)
		how <- l.Keep(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return cancel, how
}

// The releases of nats-server that users have, by a store that outlives nothing.
func TestOneLeadsAndAnotherTakesOver(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for _, release := range natstest.Releases {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			url := natstest.Start(t, release, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir())).URL
			won, _ := campaign(t, openStore(t, url), "a")
			a := <-won
			stop, ended := leads(t, a)
			next, standby := campaign(t, openStore(t, url), "b")
			require.Equal(t, "process 7 on host host-a", (<-standby).String())
			require.Empty(t, next)
			stop()
			b := <-next
			require.NoError(t, <-ended)
			require.Greater(t, b.Term, a.Term)

			// One that does not renew its lease is replaced, and learns of it.
			third, standby := campaign(t, openStore(t, url), "c")
			require.Equal(t, "b", (<-standby).ID)
			c := <-third
			require.Greater(t, c.Term, b.Term)
			require.ErrorIs(t, b.Keep(t.Context()), lease.ErrLost)
		})
	}
}

// A broker that does not answer for a while, and then to all at once, costs nobody the lead.
func TestRenewalsWhoseAnswersAreLateCount(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	server := natstest.Start(t, natstest.Newest, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	s := openStore(t, server.URL)
	won, _ := campaign(t, s, "a")
	stop, ended := leads(t, <-won)
	next, standby := campaign(t, openStore(t, server.URL), "b")
	<-standby
	renewed := func() {
		t.Helper()
		_, last, err := s.Get(t.Context(), "leader")
		require.NoError(t, err)
		rig.Until(t, func() bool {
			_, now, err := s.Get(t.Context(), "leader")
			return err == nil && now > last
		})
	}
	renewed()
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 2*lease.Default) // for longer than a lease lasts
	defer cancel()
	require.Error(t, s.Put(ctx, "other", nil))
	<-ctx.Done()
	server.Resume()
	renewed()
	renewed()
	require.Empty(t, next)
	require.Empty(t, ended)
	stop()
	<-next
	require.NoError(t, <-ended, "it was given back")
}

// The servers of a cluster lose the one that writes: the leader stays, though they choose for
// longer than its lease lasts.
func TestALeaderOutlivesTheStoresLeader(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	c := startCluster(t)
	watching := c.store()
	won, _ := campaign(t, c.store(), "a")
	_, ended := leads(t, <-won)
	next, standby := campaign(t, c.store(), "b")
	<-standby
	c.killWriter()
	c.writes(watching)
	_, last, err := watching.Get(t.Context(), "leader")
	require.NoError(t, err)
	rig.Until(t, func() bool {
		l, now, err := watching.Get(t.Context(), "leader")
		return err == nil && now > last && strings.Contains(string(l), `"id":"a"`)
	}, "it renews its lease again")
	require.Empty(t, ended)
	require.Empty(t, next)
}

// The server that writes and the leader die at once: another leads when the servers have chosen who
// writes.
func TestTheStoresLeaderAndOursAreKilledAtOnce(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	c := startCluster(t)
	mine := c.store()
	won, _ := campaign(t, mine, "a")
	a := <-won
	_, ended := leads(t, a)
	next, standby := campaign(t, c.store(), "b")
	<-standby
	mine.Close() // it dies without a word
	c.killWriter()
	b := <-next
	require.Greater(t, b.Term, a.Term)
	require.ErrorIs(t, <-ended, lease.ErrLost)
}

// How long a fabric has no leader after it has died: while the store answers, and with the store's
// leader at once, from when the store answers again.
func BenchmarkTakeOver(b *testing.B) {
	for _, with := range []string{"the leader alone", "the store's leader too"} {
		b.Run(with, func(b *testing.B) {
			var took time.Duration
			for range b.N {
				c := startCluster(b)
				mine, other, watching := c.store(), c.store(), c.store()
				me := cluster.CampaignConfig{Store: mine, Me: cluster.Leader{ID: "a"}}
				l, err := cluster.Campaign(b.Context(), me)
				require.NoError(b, err)
				ended := make(chan error, 1)
				go func() { ended <- l.Keep(b.Context()) }()
				next, standby := make(chan error, 1), make(chan struct{})
				go func() {
					_, err := cluster.Campaign(b.Context(), cluster.CampaignConfig{
						Store: other, Me: cluster.Leader{ID: "b"}, Standby: func(cluster.Leader, uint64) { close(standby) },
					})
					next <- err
				}()
				<-standby
				mine.Close()
				if with != "the leader alone" {
					c.killWriter()
					c.writes(watching)
				}
				began := time.Now()
				require.NoError(b, <-next)
				took += time.Since(began)
				<-ended
				for _, s := range c.servers {
					s.Kill()
				}
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s/takeover")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// state stands in for that of a fabric.
type state string

func (s state) MarshalBinary() ([]byte, error) { return []byte(s), nil }

func (s *state) UnmarshalBinary(data []byte) error {
	*s = state(data)
	return nil
}

func TestTheStateIsWrittenByTheLatestLeaderOnly(t *testing.T) {
	t.Parallel()
	var tables []byte
	url := startServer(t, true)
	store := cluster.StateStore{Store: openStore(t, url)}
	warn := func(err error) { t.Error(err) }
	var s state
	one, there, err := store.TakeOver(t.Context(), 1, &s, &tables, warn)
	require.NoError(t, err)
	require.False(t, there)
	ctx, cancel := context.WithCancel(t.Context())
	one.Write(state("a"), nil)
	one.Write(state("a, b"), nil)
	cancel()
	require.NoError(t, one.Run(ctx), "it writes what is left")

	two, there, err := store.TakeOver(t.Context(), 2, &s, &tables, warn)
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, state("a, b"), s)
	one.Write(state(""), nil)
	require.ErrorIs(t, one.Run(t.Context()), lease.ErrLost)
	_, _, err = store.TakeOver(t.Context(), 1, &s, &tables, warn)
	require.ErrorIs(t, err, lease.ErrLost)
	require.ErrorIs(t, store.Claim(t.Context(), 1), lease.ErrLost, "it must not end the fabric")

	run, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- two.Run(run) }()
	_, before, err := store.Store.Get(t.Context(), "state")
	require.NoError(t, err)
	<-two.Write(state("c"), nil)
	_, now, err := store.Store.Get(t.Context(), "state")
	require.NoError(t, err)
	require.Greater(t, now, before)
	stop()
	require.NoError(t, <-ended)
	_, _, err = store.TakeOver(t.Context(), 3, &s, &tables, warn)
	require.NoError(t, err)
	require.Equal(t, state("c"), s)
}

// Who waits for a state is told when that, or a later one, is written, though the store did not
// take the first.
func TestWhoWaitsForAStateIsToldOfALaterOne(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := startServer(t, true)
	store := openStore(t, url)
	var s state
	failed := make(chan error, 8)
	k, _, err := cluster.StateStore{Store: store}.TakeOver(t.Context(), 1, &s, new([]byte),
		func(err error) { failed <- err })
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	unwritable := make([]byte, 4<<20) // no compression makes a message of this
	_, _ = rand.NewChaCha8([32]byte{}).Read(unwritable)
	first := k.Write(state(unwritable), nil)
	go func() { ended <- k.Run(ctx) }()
	require.Error(t, <-failed)
	second, third := k.Write(state("1"), nil), k.Write(state("2"), nil)
	for _, written := range []<-chan struct{}{first, second, third} {
		rig.Next(t, written, "who waits is told")
	}
	stop()
	require.NoError(t, <-ended)
}

// Tables are more than a broker takes as a message, however little that is; they are written when
// they change, and none stay that no state names.
func TestTablesAreKeptInChunks(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	url := natstest.Start(t, natstest.Newest, "max_payload: 480000",
		fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir())).URL
	store := cluster.StateStore{Store: openStore(t, url)}
	warn := func(err error) { t.Error(err) }
	var s state
	var tables []byte
	k, _, err := store.TakeOver(t.Context(), 1, &s, &tables, warn)
	require.NoError(t, err)
	require.Empty(t, tables)
	write := func(s state, tables []byte) error {
		k.Write(s, tables)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return k.Run(ctx)
	}
	revision := func(key string) uint64 {
		_, rev, err := store.Store.Get(t.Context(), key)
		if errors.Is(err, reply.ErrNoKey) {
			return 0
		}
		require.NoError(t, err)
		return rev
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 80_000) // 1.28 MB
	require.NoError(t, write("1", large))
	first := revision("tables.1.1.2")
	require.NotZero(t, first)
	require.Zero(t, revision("tables.1.1.3"))
	require.NoError(t, write("2", large))
	require.Equal(t, first, revision("tables.1.1.2"), "they have not changed")
	other := slices.Concat(large[:600_000], []byte("end"))
	require.NoError(t, write("3", other))
	require.Zero(t, revision("tables.1.1.0"))
	require.NotZero(t, revision("tables.1.2.1"))

	// It dies when it has written some of the next.
	require.NoError(t, store.Store.Put(t.Context(), "tables.1.3.0", large[:9]))
	two, there, err := store.TakeOver(t.Context(), 2, &s, &tables, warn)
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, state("3"), s)
	require.Equal(t, other, tables)
	require.Zero(t, revision("tables.1.3.0"))
	// Or has not died: it wakes up, and leaves nothing either.
	require.ErrorIs(t, write("4", large), lease.ErrLost)
	require.Zero(t, revision("tables.1.3.0"))

	k = two
	require.NoError(t, write("5", tables))
	require.NotZero(t, revision("tables.1.2.0"), "still those that the first has written")
	require.NoError(t, write("6", nil))
	require.Zero(t, revision("tables.1.2.0"))
	require.NoError(t, write("7", large))
	require.NoError(t, store.End(t.Context()))
	require.Zero(t, revision("tables.2.1.0"))
	k, there, err = store.TakeOver(t.Context(), 3, &s, &tables, warn)
	require.NoError(t, err)
	require.False(t, there)
	require.Empty(t, tables)
	require.NoError(t, write("8", large[:5]))
}

func TestWhatIsWrittenDownIsReadAgain(t *testing.T) {
	t.Parallel()
	url := startServer(t, true)
	store := cluster.StateStore{Store: openStore(t, url)}
	_, there, err := store.Desired(t.Context())
	require.NoError(t, err)
	require.False(t, there)
	g, err := topology.Parse("mport-tree:4,3")
	require.NoError(t, err)
	_, err = store.Placement(t.Context(), g)
	require.ErrorContains(t, err, "not its placement")
	p, err := placement.Place(g, []placement.Agent{{Name: "h1", Ports: 100}, {Name: "h2", Ports: 100}})
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, g.WriteYAML(&text))
	packed, err := wire.Compress([]byte(text.String()))
	require.NoError(t, err)
	d := cluster.Desired{
		Version: v1, Created: time.Now().UTC(), Topology: packed, Spec: g.Spec,
		Settings: []byte(`{"seed":7}`),
		File:     make([]byte, 3<<20), // more than a message of a broker may have
	}
	rand.NewChaCha8([32]byte{}).Read(d.File)
	require.NoError(t, store.Begin(t.Context(), d, p))
	require.ErrorIs(t, store.Begin(t.Context(), d, p), reply.ErrConflict)

	got, there, err := store.Desired(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	require.Greater(t, got.Chunks.Count, 5)
	got.Chunks = d.Chunks
	require.Equal(t, d, got)
	again, err := got.Graph()
	require.NoError(t, err)
	require.Equal(t, g.Links, again.Links)
	q, err := store.Placement(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, p, q)
	data, _, err := store.Store.Get(t.Context(), "placement")
	require.NoError(t, err)
	older := strings.Replace(string(data), `"hosts"`, `"parts"`, 1) // its name before
	require.NotEqual(t, string(data), older)
	require.NoError(t, store.Store.Put(t.Context(), "placement", []byte(older)))
	q, err = store.Placement(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, p, q)
	require.NoError(t, store.End(t.Context()))
	_, there, err = store.Desired(t.Context())
	require.NoError(t, err)
	require.False(t, there)
	_, _, err = store.Store.Get(t.Context(), "file.5")
	require.ErrorIs(t, err, reply.ErrNoKey)
	require.NoError(t, store.Begin(t.Context(), d, p))
}

func TestWithoutJetStreamThereIsNoCluster(t *testing.T) {
	t.Parallel()
	_, err := bus.OpenStore(t.Context(), bus.StoreConfig{Fabric: "lab", URL: startServer(t, false)})
	require.True(t, errors.Is(err, bus.ErrNoStore))
}

// The end of a fabric that was broken off leaves its state behind, which is not that of the next of
// its name; and that it was ended is known to who has waited meanwhile.
func TestAFabricBeginsWithNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	url := startServer(t, true)
	store := cluster.StateStore{Store: openStore(t, url)}
	g := topologytest.Parse(t, "kary-ntree:2,2")
	p, err := placement.Place(g, []placement.Agent{{Name: "h1", Ports: 100}})
	require.NoError(t, err)
	d := cluster.Desired{Version: v1, Spec: g.Spec}
	require.NoError(t, store.Begin(t.Context(), d, p))
	_, since, err := store.Store.Get(t.Context(), "fabric")
	require.NoError(t, err)
	k, _, err := store.TakeOver(t.Context(), 1, new(state), new([]byte), func(err error) { t.Error(err) })
	require.NoError(t, err)
	k.Write(state("7"), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, k.Run(ctx))
	ended, err := store.EndedSince(t.Context(), since)
	require.NoError(t, err)
	require.False(t, ended)

	require.NoError(t, store.Store.Delete(t.Context(), "fabric"))
	require.NoError(t, store.Begin(t.Context(), d, p))
	_, there, err := store.TakeOver(t.Context(), 2, new(state), new([]byte), nil)
	require.NoError(t, err)
	require.False(t, there)
	require.NoError(t, store.End(t.Context()))
	ended, err = store.EndedSince(t.Context(), since)
	require.NoError(t, err)
	require.True(t, ended)
	_, now, err := store.Store.Get(t.Context(), "ended")
	require.NoError(t, err)
	ended, err = store.EndedSince(t.Context(), now)
	require.NoError(t, err)
	require.False(t, ended)
}

func TestAStateOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	url := startServer(t, true)
	store := cluster.StateStore{Store: openStore(t, url)}
	written, err := wire.Compress([]byte(`{"term":1,"state":{"now":3}}`))
	require.NoError(t, err)
	require.NoError(t, store.Store.Put(t.Context(), "state", written))
	_, _, err = store.TakeOver(t.Context(), 2, new(state), new([]byte), nil)
	require.ErrorContains(t, err, "did another version of fabricd write it?")
	now, _, err := store.Store.Get(t.Context(), "state")
	require.NoError(t, err)
	require.Equal(t, written, now, "it stays as it is")
}
