package api

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/linkmon/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a small fabric with its server.
type served struct {
	*harness.Harness
	t      *testing.T
	broker *bus.Broker
}

func serve(t *testing.T, options ...harness.Option) *served {
	t.Helper()
	h := harness.New(t, "kary-ntree:2,2", options...)
	b, err := bus.StartBroker(bus.BrokerConfig{Fabric: "lab"})
	require.NoError(t, err)
	t.Cleanup(b.Shutdown)
	control, err := bus.NewControl(bus.ControlConfig{Fabric: "lab", Broker: b})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	s, err := NewServer(h.Fabric(), control, Info{Name: "lab", Firmware: "adaptive-link", Started: time.Now()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, func(Sample) {}) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return &served{h, t, b}
}

func (s *served) dial(act bool) *Client {
	s.t.Helper()
	login := func(r bus.Role) registry.Login {
		c := s.broker.Credentials(r)
		return registry.Login{User: c.User, Password: c.Password, InboxPrefix: c.InboxPrefix}
	}
	c, err := Dial(registry.Entry{
		Name: "lab", URL: s.broker.ClientURL(), Operator: login(bus.RoleOperator), Viewer: login(bus.RoleViewer),
	}, "test", act)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, c.Close()) })
	return c
}

func (s *served) linkID() weft.LinkID {
	l, err := s.Topology().LinkByName("s0.0-s1.0")
	require.NoError(s.t, err)
	return l.ID
}

func TestAViewerLooksAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.dial(false), t.Context()
	_, err := c.Cut(ctx, "s0.0", "s1.0")
	require.ErrorIs(t, err, bus.ErrDenied)
	_, err = c.Restore(ctx, "s0.0", "s1.0")
	require.ErrorIs(t, err, bus.ErrDenied)
	_, err = c.Crash(ctx, "s0.0")
	require.ErrorIs(t, err, bus.ErrDenied)
	_, err = c.Heal(ctx)
	require.ErrorIs(t, err, bus.ErrDenied)
	require.Empty(t, s.Fabric().LinksDown())

	links, err := c.Links(ctx)
	require.NoError(t, err)
	require.Len(t, links, 8)
	raw, err := c.Topology(ctx)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"links":[`)
	st, err := c.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, "lab", st.Name)
	var sw map[string]any
	require.NoError(t, c.bus.Request(ctx, VerbSwitch, SwitchRequest{Switch: "s0.0"}, &sw))
	require.NotEmpty(t, sw)
	var ledger fabric.Ledger
	require.NoError(t, c.bus.Request(ctx, VerbLedger, nil, &ledger))
	require.True(t, ledger.Balanced)
}

func TestAnOperatorCutsCrashesAndHeals(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.dial(true), t.Context()
	ch, err := c.Cut(ctx, "s0.0-s1.0", "")
	require.NoError(t, err)
	require.True(t, ch.Fresh)
	_, err = c.Crash(ctx, "s1.1")
	require.NoError(t, err)
	faults, err := c.Faults(ctx)
	require.NoError(t, err)
	require.Len(t, faults, 2)
	ch, err = c.Restore(ctx, "s1.1", "")
	require.NoError(t, err)
	require.Equal(t, Change{Target: "s1.1", Fresh: true}, ch)
	h, err := c.Heal(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"s0.0-s1.0"}, h.Healed)
}

func TestFollowGivesEveryEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := serve(t, harness.Traffic("uniform:0.1"))
	c := s.dial(false)
	const changes = 200
	go func() {
		for range changes / 2 {
			_, _, _ = s.Fabric().Cut(s.linkID())
			_, _ = s.Fabric().Restore(context.Background(), s.linkID())
		}
	}()
	ctx, stop := context.WithTimeout(t.Context(), harness.DefaultPatience)
	defer stop()
	follow := func(after uint64) (seq uint64) {
		seq = after
		restored := 0
		err := c.Follow(ctx, after, func(e fabric.Event) error {
			require.Equal(t, seq+1, e.Seq)
			require.Zero(t, e.Missed)
			seq = e.Seq
			if e.Kind == fabric.EventRestore {
				restored++
			}
			if restored == changes/4 {
				return context.Canceled // it has heard enough
			}
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		return seq
	}
	middle := follow(0)
	last := follow(middle) // it resumes where it was
	require.Equal(t, s.Fabric().Events().Last(), last)
}

func TestAllKeptEventsArriveHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for range 2 * 4096 { // more than are kept
		s.Fabric().Events().Publish(0, fabric.Event{Kind: string(fault.VerbCut), Detail: "a detail as long as that of an event with a report and more of it, again and again", Fault: &fault.Report{Target: "s0.0-s1.0"}})
	}
	events, err := s.dial(false).Events(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 4096)
	for i, e := range events[1:] {
		require.Equal(t, events[i].Seq+1, e.Seq)
	}
}

func TestAnEventOlderThanThoseKeptCountsAsMissed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for range 5000 {
		s.Fabric().Events().Publish(0, fabric.Event{Kind: fabric.EventTraffic})
	}
	e, err := s.Fabric().Events().After(t.Context(), 0)
	require.NoError(t, err)
	require.Positive(t, e.Missed)
}

func TestWatchGivesSamples(t *testing.T) {
	t.Parallel()
	s := serve(t, harness.Traffic("uniform:0.5"))
	s.Cut("s0.0", "s1.0")
	ctx, stop := context.WithTimeout(t.Context(), harness.DefaultPatience)
	defer stop()
	var last Sample
	err := s.dial(false).Watch(ctx, func(sample Sample) error {
		require.Greater(t, sample.At, last.At)
		if last.At > 0 {
			require.Positive(t, sample.DeliveredRate)
			require.Equal(t, 1, sample.LinksDown)
			require.Contains(t, sample.String(), "links down 1")
			return context.Canceled
		}
		last = sample
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestMalformedRequestsAreAnsweredAndBreakNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c, ctx := s.dial(true), t.Context()
	for _, verb := range []string{VerbSwitch, VerbEvents, VerbCut, VerbRestore, VerbCrash} {
		for _, in := range []any{nil, json.RawMessage(`[1]`), json.RawMessage(`"x"`), json.RawMessage(`{"a":1,"switch":2,"after":-1}`)} {
			err := c.bus.Request(ctx, verb, in, nil)
			require.ErrorIs(t, err, bus.ErrRefused)
			require.ErrorContains(t, err, "malformed request")
		}
	}
	for _, verb := range []string{VerbSwitch, VerbCut, VerbRestore, VerbCrash} {
		require.ErrorContains(t, c.bus.Request(ctx, verb, json.RawMessage(`{}`), nil), "unknown")
	}
	ch, err := c.Cut(ctx, "s0.0", "s1.0")
	require.NoError(t, err)
	require.True(t, ch.Fresh)
}

func TestAFollowerThatStopsReadingSlowsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, harness.Traffic("uniform:0.5"))
	c := s.dial(false)
	ctx, stop := context.WithCancel(t.Context())
	stuck, read := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var missed uint64
	done := make(chan error, 1)
	go func() {
		done <- c.Follow(ctx, 0, func(e fabric.Event) error {
			once.Do(func() { close(stuck); <-read })
			missed += e.Missed
			if e.Kind == fabric.EventRestart {
				return context.Canceled
			}
			return nil
		})
	}()
	<-stuck
	began := s.Fabric().Totals().Delivered
	for range 1000 {
		_, _, err := s.Fabric().Cut(s.linkID())
		require.NoError(t, err)
		_, err = s.Fabric().Restore(ctx, s.linkID())
		require.NoError(t, err)
	}
	s.Eventually(func() error {
		if s.Fabric().Totals().Delivered < began+200 {
			return context.DeadlineExceeded
		}
		return nil
	})
	require.Less(t, s.Fabric().Faults()[999].SeenAfter, 5000.0)
	close(read)
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}
