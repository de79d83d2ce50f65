package bus_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// onEachOutside runs a test against each broker that is not ours.
func onEachOutside(t *testing.T, test func(t *testing.T, release natstest.Release)) {
	for _, release := range natstest.Releases {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			test(t, release)
		})
	}
}

// watch opens a transport and records what happens to it.
func watch(t *testing.T, cfg bus.NATSConfig) (*bus.NATS, *recorder) {
	t.Helper()
	n, events := openNATS(t, cfg), new(recorder)
	n.Watch(events.record)
	return n, events
}

// A broker that dies is told by each shard, and so is its return, with all subscriptions in force
// by then.
func TestOutsideBrokerKilledAndBack(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		tried := attack.Tally(t, "a NATS server killed and started again, each release")
		for name, kind := range map[string]bus.Subscription{"per-shard": bus.PerShard, "per-direction": bus.PerDirection} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				broker := natstest.Start(t, release)
				const shards, links = 2, 8
				n, events := watch(t, bus.NATSConfig{URL: broker.URL, Shards: shards, Subscription: kind})
				inboxes := make([]chan wire.Message, links)
				for i := range links - 1 {
					inboxes[i] = listen(t, n, hop(i), 1000)
				}
				ready(t, n)
				for round := 1; round <= 3; round++ {
					broker.Kill()
					tried.Add(1)
					events.awaitEach(t, shards, wire.EventDisconnected, round)
					require.Equal(t, wire.EnforcedAtEnds, n.Enforcement())
					// Neither waits for the broker, which is not there before both have answered.
					require.ErrorIs(t, sender(t, n, hop(0)).Send([]byte("lost")), wire.ErrDisconnected)
					require.ErrorIs(t, n.Ready(t.Context()), wire.ErrDisconnected)
					if inboxes[links-1] == nil {
						inboxes[links-1] = listen(t, n, hop(links-1), 1000) // holds from the next connection on
					} else {
						require.NoError(t, n.Unlisten(hop(links-1)))
						require.NoError(t, n.Listen(hop(links-1), inboxes[links-1]))
					}
					broker.Start()
					events.awaitEach(t, shards, wire.EventReconnected, round)
					for i := range links {
						require.NoError(t, sender(t, n, hop(i)).Send(fmt.Append(nil, "back ", round)))
					}
					for i := range links {
						require.Equal(t, fmt.Sprint("back ", round), next(t, inboxes[i]))
					}
				}
				for shard := range shards {
					var want []wire.EventKind
					for range 3 {
						want = append(want, wire.EventDisconnected, wire.EventReconnected)
					}
					require.Equal(t, want, events.kinds(shard))
				}
				require.Equal(t, uint64(3), n.Stats().Errors)
				e := events.await(t, wire.EventDisconnected)
				require.ErrorContains(t, e.Err, broker.URL)
				require.ErrorContains(t, e.Err, "frames are lost until it is back")
			})
		}
	})
}

// Under load, what arrives before and after is in order and in one piece.
func TestOutsideBrokerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release)
		n, events := watch(t, bus.NATSConfig{URL: broker.URL, Shards: 1})
		inbox := listen(t, n, hop(0), 1<<16)
		s := sender(t, n, hop(0))
		ready(t, n)
		stop, ended := make(chan struct{}), make(chan uint64)
		credits := make(chan struct{}, 1000) // taken by what is sent, given back by what arrives
		go func() {
			frame, sent := make([]byte, 2000), uint64(0)
			for {
				select {
				case <-stop:
					ended <- sent
					return
				case credits <- struct{}{}:
				}
				binary.BigEndian.PutUint64(frame, sent)
				if s.Send(frame) == nil {
					sent++
					continue
				}
				select { // it is on its way to nobody
				case <-credits:
				default:
				}
			}
		}()
		last, got := int64(-1), uint64(0)
		take := func(m wire.Message) {
			defer m.Release()
			require.Len(t, m.Data, 2000)
			number := int64(binary.BigEndian.Uint64(m.Data))
			require.Greater(t, number, last)
			last, got = number, got+1
			select {
			case <-credits:
			default: // it was taken for lost
			}
		}
		for range 5000 {
			take(<-inbox)
		}
		broker.Kill()
		events.await(t, wire.EventDisconnected)
		late := time.After(rig.Patience)
		for n.Stats().Errors == 0 { // sent in vain while it is gone; nobody gives back the credits of what is lost
			select {
			case m := <-inbox:
				take(m)
			case <-credits:
			case <-late:
				require.Fail(t, "nothing is sent in vain while it is gone")
			}
		}
		broker.Start()
		events.await(t, wire.EventReconnected)
		for len(credits) > 0 {
			<-credits
		}
		for range 5000 {
			take(<-inbox)
		}
		close(stop)
		sent := <-ended
		require.Equal(t, sent, n.Stats().Sent)
		require.Less(t, got, sent+1)
		attack.Count(t, "a NATS server killed while a link is full, each release", 1)
	})
}

// A broker that hangs does not hold up who sends for ever: Send fails while it still hangs.
func TestOutsideBrokerPaused(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release)
		n, events := watch(t, bus.NATSConfig{URL: broker.URL, Shards: 1})
		idle, idleEvents := watch(t, bus.NATSConfig{URL: broker.URL, Shards: 1})
		inbox := listen(t, n, hop(0), 1<<16)
		s := sender(t, n, hop(0))
		ready(t, n)
		broker.Pause()
		require.Error(t, fill(s))
		events.await(t, wire.EventDisconnected)
		require.ErrorIs(t, s.Send([]byte("x")), wire.ErrDisconnected)
		idleEvents.await(t, wire.EventDisconnected)

		broker.Resume()
		events.await(t, wire.EventReconnected)
		idleEvents.await(t, wire.EventReconnected)
		require.NoError(t, s.Send([]byte("and on")))
		for next(t, inbox) != "and on" { // what the broker had in its buffers may come first, or not
		}
		ready(t, idle)
		attack.Count(t, "a NATS server frozen while a link is full, each release", 1)
	})
}

// fill sends until that fails.
func fill(s wire.Sender) error {
	frame := make([]byte, 50_000)
	for {
		if err := s.Send(frame); err != nil {
			return err
		}
	}
}

// Close does not wait for a broker that hangs, nor for the Send that does: it ends that.
func TestOutsideCloseWhilePaused(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release)
		n, events := watch(t, bus.NATSConfig{URL: broker.URL, Shards: 1})
		s := sender(t, n, hop(0))
		broker.Pause()
		failed := make(chan error, 1)
		go func() { failed <- fill(s) }()
		last, since := uint64(0), time.Now()
		rig.Until(t, func() bool {
			if sent := n.Stats().Sent; sent != last {
				last, since = sent, time.Now()
			}
			return time.Since(since) > 300*time.Millisecond
		}, "Send waits")
		require.NoError(t, n.Close())
		require.NotContains(t, events.kinds(0), wire.EventDisconnected, "Send has not given the broker up")
		require.ErrorIs(t, <-failed, wire.ErrClosed)
	})
}

// A pause that is short costs nothing.
func TestOutsideBrokerPausedShortly(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	onEachOutside(t, func(t *testing.T, release natstest.Release) {
		broker := natstest.Start(t, release)
		n := openNATS(t, bus.NATSConfig{URL: broker.URL, Shards: 1}) // events fail the test
		inbox := listen(t, n, hop(0), 1000)
		ready(t, n)
		const rounds = 5
		for round := range rounds {
			broker.Pause()
			for i := range 100 {
				require.NoError(t, sender(t, n, hop(0)).Send(fmt.Append(nil, round, i)))
			}
			broker.Resume()
			for i := range 100 {
				require.Equal(t, fmt.Sprint(round, i), next(t, inbox))
			}
		}
		attack.Count(t, "a NATS server frozen for a moment, each release", rounds)
	})
}
