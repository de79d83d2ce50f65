package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/virtual/world"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) } // virtual time has no goroutines

// empty is a world without nodes.
func empty(t *testing.T) *world.World {
	t.Helper()
	w := world.New()
	require.Zero(t, w.Now())
	_, _, err := w.Build(fabric.BuildSpec{Graph: new(topology.Graph)})
	require.NoError(t, err)
	require.NoError(t, w.Start(t.Context()))
	return w
}

func TestTimersFireInOrderOfTimeAndOnlyWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	w := empty(t)
	var fired []string
	at := func(ms weft.Time, name string) (stop func()) {
		return w.At(ms*weft.Millisecond, func() { fired = append(fired, name+" at "+w.Now().String()) })
	}
	at(30, "third")
	at(10, "first")
	stop := at(20, "second")
	at(20, "third of the second")
	stop()
	require.Empty(t, fired)
	require.NoError(t, w.Pause(t.Context(), 20*weft.Millisecond, nil))
	require.Equal(t, []string{"first at 10ms", "third of the second at 20ms"}, fired)
	require.Equal(t, 20*weft.Millisecond, w.Now())
	require.NoError(t, w.Pause(t.Context(), 50*weft.Millisecond, nil))
	require.Equal(t, []string{"first at 10ms", "third of the second at 20ms", "third at 30ms"}, fired)
	require.Equal(t, 50*weft.Millisecond, w.Now(), "also when nothing happens then")
}

func TestATimerMayItselfLetTimeGoOn(t *testing.T) {
	t.Parallel()
	w := empty(t)
	var fired []weft.Time
	w.At(10*weft.Millisecond, func() {
		require.NoError(t, w.Pause(t.Context(), 40*weft.Millisecond, nil))
		fired = append(fired, w.Now())
	})
	w.At(20*weft.Millisecond, func() { fired = append(fired, w.Now()) })
	require.NoError(t, w.Pause(t.Context(), 30*weft.Millisecond, nil))
	require.Equal(t, []weft.Time{20 * weft.Millisecond, 40 * weft.Millisecond}, fired)
	require.Equal(t, 40*weft.Millisecond, w.Now(), "time does not go back for who waited for less")
}

func TestNewsEndsAPauseAtTheEventThatBroughtIt(t *testing.T) {
	t.Parallel()
	w := empty(t)
	news := make(chan struct{})
	w.At(10*weft.Millisecond, func() { close(news) })
	w.At(20*weft.Millisecond, func() { t.Error("nobody waits so long") })
	require.NoError(t, w.Pause(t.Context(), weft.Never, news))
	require.Equal(t, 10*weft.Millisecond, w.Now())
}

func TestWaitingForWhatCannotComeIsAnErrorAndNoHang(t *testing.T) {
	t.Parallel()
	w := empty(t)
	require.ErrorIs(t, w.Pause(t.Context(), weft.Never, make(chan struct{})), world.ErrNothingLeft)
}

func TestTimeThatStandsStillIsAnErrorAndNoHang(t *testing.T) {
	t.Parallel()
	w := empty(t)
	w.StandStillAfter(100_000)
	ctx, cancel := w.WithTimeout(t.Context(), time.Hour) // which never comes
	defer cancel()
	n := 0
	var again func()
	again = func() {
		if n++; n < 1_000_000 {
			w.At(w.Now(), again)
		}
	}
	w.At(weft.Millisecond, again)
	err := w.Pause(ctx, weft.Second, nil)
	require.ErrorIs(t, err, world.ErrStandsStill)
	require.ErrorContains(t, err, "time stands still at 1ms: ")
	require.Less(t, n, 110_000)
}

func TestManyEventsAtOneTimeAreNoStandstillWhenItGoesOn(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	w := empty(t)
	w.StandStillAfter(10_000)
	for i := range 100_000 {
		w.At(weft.Time(i/9000)*weft.Millisecond, func() {})
	}
	require.NoError(t, w.Pause(t.Context(), weft.Second, nil))
}

func TestATimeoutIsOneOfVirtualTime(t *testing.T) {
	t.Parallel()
	w := empty(t)
	ctx, cancel := w.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	require.NoError(t, w.Pause(ctx, weft.FromDuration(59*time.Minute), nil))
	require.NoError(t, ctx.Err())
	require.ErrorIs(t, w.Pause(ctx, weft.FromDuration(61*time.Minute), nil), context.DeadlineExceeded)
	require.Equal(t, weft.FromDuration(time.Hour), w.Now())

	ctx, cancel = w.WithTimeout(t.Context(), time.Hour)
	cancel()
	require.ErrorIs(t, w.Pause(ctx, weft.Never, nil), context.Canceled)
	require.Equal(t, weft.FromDuration(time.Hour), w.Now(), "it did not begin")
}

func TestAnInterruptFromOutsideEndsAPauseThatWouldNeverEnd(t *testing.T) {
	t.Parallel()
	w := empty(t)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	var again func()
	again = func() {
		if n++; n == 10_000 { // as by a signal, at any time
			cancel()
		}
		w.At(w.Now()+weft.Microsecond, again)
	}
	again()
	require.ErrorIs(t, w.Pause(ctx, weft.Never, nil), context.Canceled)
	require.Less(t, n, 20_000)
}

func TestAgentsAreCalledAfterWhatPokedThemAndAtTheirTimes(t *testing.T) {
	t.Parallel()
	w := empty(t)
	var calls []weft.Time
	wake := w.Task(10*time.Millisecond, func() { calls = append(calls, w.Now()/weft.Millisecond) })
	w.At(15*weft.Millisecond, func() {
		wake()
		wake()
		require.Len(t, calls, 1, "not within poke")
	})
	require.NoError(t, w.Pause(t.Context(), 30*weft.Millisecond, nil))
	require.Equal(t, []weft.Time{10, 15, 20, 30}, calls)
}

func small(t *testing.T, o fabric.Options) *fabric.Fabric {
	t.Helper()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	o.Topology, o.Firmware, o.Runtime = g, firmware.AdaptiveLink{}.Firmware(), world.New()
	f, err := fabric.New(o)
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	t.Cleanup(f.Stop)
	return f
}

// A hop takes a packet of 256 bytes a microsecond to send and another on the wire, and a path of
// six links six times that.
func TestUnpacedLinksTakeTheTimeTheyAreDocumentedToTake(t *testing.T) {
	t.Parallel()
	f := small(t, fabric.Options{})
	_, err := f.Send(0, 7, false)
	require.NoError(t, err)
	_, err = f.Quiesce(t.Context())
	require.NoError(t, err)
	assert.InDelta(t, 6*2, f.Totals().Latency.Max, 0.2, "microseconds")
}

func TestPacedLinksTakeTheirRateAndDelay(t *testing.T) {
	t.Parallel()
	f := small(t, fabric.Options{Link: settings.Link{Paced: true, Rate: 256_000, Delay: "3ms"}})
	_, err := f.Send(0, 7, false)
	require.NoError(t, err)
	_, err = f.Quiesce(t.Context())
	require.NoError(t, err)
	assert.InDelta(t, 6*(1000+3000), f.Totals().Latency.Max, 300, "microseconds, to the two digits of the histogram")
}

func TestAFaultThatEndsByItselfDoesNotHoldUpARepairNorWaitForIt(t *testing.T) {
	t.Parallel()
	f := small(t, fabric.Options{Link: settings.Link{Delay: "20ms"}}) // so that a link is long in coming up
	apply := func(s fault.Spec) {
		t.Helper()
		_, err := f.Apply(t.Context(), s)
		require.NoError(t, err)
	}
	apply(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00", For: fault.Duration(10 * time.Millisecond)})
	apply(fault.Spec{Do: fault.VerbCut, A: "s0.01-s1.01"})
	apply(fault.Spec{Do: fault.VerbRestore, A: "s0.01-s1.01"}) // waits, and the first cut ends meanwhile
	require.Equal(t, []string{"s0.00-s1.00"}, f.LinksDown(), "it is cut for 10 ms longer")
	require.NoError(t, f.Pause(t.Context(), 20*time.Millisecond, nil))
	require.Empty(t, f.LinksDown())
	reports := f.Faults()
	require.Len(t, reports, 2)
	require.InDelta(t, reports[1].RestoredAt+0.01, reports[0].RestoredAt, 0.001,
		"each as soon as its link is back, 10 ms apart")
	var order []string
	for _, e := range f.Events().Since(0) {
		if e.Kind == fabric.EventRestore {
			order = append(order, e.Link)
		}
	}
	require.Equal(t, []string{"s0.01-s1.01", "s0.00-s1.00"}, order)
}

func TestVirtualTimeRefusesWhatBelongsToTheClockOnTheWall(t *testing.T) {
	t.Parallel()
	g, err := topology.Parse("kary-ntree:2,3")
	require.NoError(t, err)
	o := fabric.Options{
		Topology: g, Firmware: firmware.AdaptiveLink{}.Firmware(), Runtime: world.New(),
		Transport: wire.NewMemory(),
	}
	_, err = fabric.New(o)
	require.ErrorContains(t, err, "in virtual time there is none: leave it out")
	o.Transport, o.Processes = nil, &fabric.ProcessOptions{}
	_, err = fabric.New(o)
	require.ErrorContains(t, err, "lives by the clock on the wall: run it live")
}
