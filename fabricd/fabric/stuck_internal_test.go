package fabric

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
)

// stuck is a host that answers nothing. An order stays with it until it is released.
type stuck struct {
	host.Host
	ordered chan struct{} // closed when it has its first order; it gets one at a time
	release chan struct{}
	queried chan time.Duration // how long it was given to answer; nil: nobody wants to know
}

func (s *stuck) Order(context.Context, host.Order) (host.OrderAnswer, error) {
	select {
	case <-s.ordered:
	default:
		close(s.ordered)
	}
	<-s.release
	return host.OrderAnswer{}, errors.New("it was stuck")
}

func (s *stuck) Counters(ctx context.Context, _ host.CountersRequest) (host.Counters, error) {
	if end, ok := ctx.Deadline(); ok && s.queried != nil {
		s.queried <- time.Until(end)
	}
	<-ctx.Done()
	return host.Counters{}, context.Cause(ctx)
}

func (s *stuck) Read(ctx context.Context, _ host.ReadRequest) (host.Readings, error) {
	<-ctx.Done()
	return host.Readings{}, context.Cause(ctx)
}

func (s *stuck) End(context.Context, host.EndOrder) (host.Counters, error) {
	return host.Counters{}, errors.New("it was stuck")
}

// reaches has all hosts be one.
type reaches struct {
	nobody
	host host.Host
}

func (r reaches) Reach(string) host.Host                              { return r.host }
func (r reaches) Admit(*host.Spec, *topology.Graph) (string, error)   { return "", nil }
func (r reaches) Hear(func(name string, batch host.EventBatch)) error { return nil }

// startStuck starts a fabric of which switch 0 is a process that does not answer from its first
// order on.
func startStuck(tb testing.TB) (*Fabric, *stuck) {
	tb.Helper()
	s := &stuck{ordered: make(chan struct{}), release: make(chan struct{})}
	f := startRing(tb, withProcesses(reaches{host: s}))
	f.ownedBy(f.switches[0], 2, firstEpoch).markAlive()
	return f, s
}

// Whoever looks at a fabric waits for no decision.
func TestWhoLooksDoesNotWaitForTheLeader(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f, s := startStuck(t)
	defer close(s.release)
	sampler := f.NewSampler()
	deciding, decided := make(chan struct{}), make(chan struct{})
	go f.inLoop(func(loop) { // a decision that takes long
		close(deciding)
		<-decided
	})
	defer close(decided)
	<-deciding
	require.Len(t, f.LinkStates(), len(f.links))
	require.Empty(t, f.Faults())
	require.Empty(t, sampler.Faults(0))
	require.Equal(t, SwitchUp, sampler.Read().Switches[1].State)
	require.Equal(t, SwitchUp, f.SwitchState(1))
	require.Len(t, f.SwitchProcesses(), 1)
	require.Empty(t, f.Hosts())
	require.Empty(t, f.CrashedSwitches())
	require.Empty(t, f.CutLinks())
	require.Empty(t, f.RoundCounts().Outcomes)
	require.NotEmpty(t, f.TableVersions())
	require.Empty(t, f.FaultCounts())
	require.Zero(t, f.Traffic())
	f.Ports()
	f.Ledger()
	f.Totals()
	f.Hops(0)
}

// A leader that takes over asks a host that is frozen no longer than anybody else would.
func TestAdoptionDoesNotWaitForAFrozenHost(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f, s := startStuck(t)
	defer close(s.release)
	s.queried = make(chan time.Duration, 1)
	_, err := f.switches[0].own.Load().askApplied(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.LessOrEqual(t, <-s.queried, answerTime)
}

// The first who looks waits a moment for a host that is frozen. Whoever looks after that does not,
// nor does he ask it, until it has answered.
func TestWhoLooksWaitsForAFrozenHostOnce(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f, s := startStuck(t)
	defer close(s.release)
	h := f.switches[0].owned()
	s.queried = make(chan time.Duration, 8)
	f.Totals()
	<-s.queried
	require.False(t, h.suspect.Load(), "nobody knows yet that it is frozen")
	for f.Now() <= weft.Time(h.owing.Load())+weft.FromDuration(lookTime) {
		require.NoError(t, f.Pause(t.Context(), time.Millisecond, nil))
	}
	f.Totals()
	f.Ledger()
	f.LinkStates()
	f.Faults()
	require.Empty(t, s.queried)
	h.owing.Store(0) // it has answered
	f.Totals()
	<-s.queried
}

// Nor does it wait for one that freezes after its first answer, before it has acted on what it is
// told.
func TestAdoptionDoesNotWaitForAHostThatFreezesMeanwhile(t *testing.T) {
	t.Parallel()
	f, s := startStuck(t)
	defer close(s.release)
	h := f.switches[0].own.Load()
	require.NoError(t, f.attendance.resyncAdopted(t.Context(), map[*hostState]*host.Applied{h: {}}))
	<-s.ordered
	require.True(t, h.suspect.Load(), "who attends to it")
	require.True(t, h.stale.Load(), "tells it all again")
}

// unreachable is a host that carries out no order, since nobody answers just then.
type unreachable struct{ willing }

func (unreachable) Order(context.Context, host.Order) (host.OrderAnswer, error) {
	return host.OrderAnswer{}, reply.ErrNobody
}

// onOrder is a log that does something when an order has come to nothing.
type onOrder struct {
	slog.Handler
	do func()
}

func (o *onOrder) Enabled(context.Context, slog.Level) bool { return true }

func (o *onOrder) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "order to a host" {
		o.do()
	}
	return nil
}

// A host that does not answer for a moment does not keep a leader from taking over, even if it
// answers again by the time that the leader looks.
func TestAdoptionEndsAlthoughAHostIsAbsentForAMoment(t *testing.T) {
	t.Parallel()
	log := &onOrder{Handler: slog.DiscardHandler, do: func() {}}
	f := startRing(t, withProcesses(reaches{host: unreachable{}}), func(o *Options) { o.Log = slog.New(log) })
	h := f.ownedBy(f.switches[0], 2, firstEpoch)
	h.markAlive()
	log.do = h.markAlive
	require.NoError(t, f.attendance.resyncAdopted(t.Context(), map[*hostState]*host.Applied{h: {}}))
	require.False(t, h.suspect.Load(), "it answers")
	require.True(t, h.stale.Load(), "and is told all again")
}

// While a host is frozen, how long it takes to look at the fabric, and to cut a link of others.
func BenchmarkAHostIsFrozen(b *testing.B) {
	f, s := startStuck(b)
	defer close(s.release)
	go func() { _, _ = f.Apply(b.Context(), fault.Spec{Do: fault.VerbCrash, A: f.switches[0].name}) }()
	<-s.ordered
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			f.Totals()
			f.Ledger()
		}
	})
	b.Run("links", func(b *testing.B) {
		for b.Loop() {
			f.LinkStates()
		}
	})
	b.Run("cut", func(b *testing.B) {
		l, err := f.graph.LinkBetween(f.switches[1].name, f.switches[2].name)
		require.NoError(b, err)
		for b.Loop() {
			_, changed, err := f.Cut(l.ID)
			require.NoError(b, err)
			require.True(b, changed)
			b.StopTimer()
			_, err = f.Restore(b.Context(), l.ID)
			require.NoError(b, err)
			b.StartTimer()
		}
	})
}

// An order to a host that does not answer holds up neither those who look nor faults elsewhere, and
// nor does the host itself.
func TestAHostThatIsStuckHoldsUpOnlyWhoOrdersSomethingOfIt(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f, s := startStuck(t)
	g := f.graph

	crashed := make(chan error, 1)
	go func() {
		_, err := f.Apply(t.Context(), fault.Spec{Do: fault.VerbCrash, A: f.switches[0].name})
		crashed <- err
	}()
	<-s.ordered

	sampler := f.NewSampler()
	for range 3 {
		require.Len(t, f.LinkStates(), len(g.Links))
		require.NotEmpty(t, f.Faults())
		require.NotEmpty(t, sampler.Faults(0))
		require.Equal(t, SwitchDown, sampler.Read().Switches[0].State)
		require.Equal(t, SwitchDown, f.SwitchState(0))
		require.Len(t, f.SwitchProcesses(), 1)
		f.Ledger()
		f.Totals()
	}
	elsewhere := fault.Spec{Do: fault.VerbCut, A: f.switches[1].name, B: f.switches[2].name}
	out, err := f.Apply(t.Context(), elsewhere)
	require.NoError(t, err)
	require.True(t, out[0].Changed)
	require.Len(t, out[0].Fault.Detected, 2, "both ends have acted")
	elsewhere.Do = fault.VerbRestore
	_, err = f.Apply(t.Context(), elsewhere)
	require.NoError(t, err)
	require.NoError(t, f.SetTraffic(nic.Traffic{Pattern: "uniform", Load: 0.1}))
	require.NoError(t, f.StopTraffic())
	select {
	case err := <-crashed:
		t.Fatalf("the order to the stuck host does not wait for it any more: %v", err)
	default:
	}
	close(s.release)
	require.NoError(t, <-crashed, "a host that does not answer is told again when it does")
}
