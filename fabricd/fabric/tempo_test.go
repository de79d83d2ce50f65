package fabric_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/testenv"
)

// The clocks of all hosts go with the factor, and so does what their NICs inject. The next leader
// goes on with it.
func TestAFabricGoesWithATimeFactor(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := startHosts(t, 2, func(o *fabric.Options) { o.Link.Paced, o.Link.Rate = true, 256_000 })
	require.EqualValues(t, 1, l.Fabric.Tempo().Factor)
	l.load("uniform:0.02") // 20 packets a second from each of 8 NICs, on hosts alone
	rate := func(factor float64) float64 {
		before := l.Fabric.Totals().Injected
		first, from, later := time.Now(), l.Fabric.Now(), time.Now()
		l.more(120)
		least, passed, most := time.Since(later), (l.Fabric.Now() - from).Duration(), time.Since(first)
		injected := l.Fabric.Totals().Injected - before
		require.GreaterOrEqual(t, float64(passed), 0.95*factor*float64(least))
		require.LessOrEqual(t, float64(passed), 1.05*factor*float64(most))
		return float64(injected) / passed.Seconds()
	}
	// A clock of another factor is off by half or more. What hosts have told is some time old, and on a
	// machine that is behind so are their packets: then it is measured again.
	goes := func(factor float64) {
		require.Equal(t, factor, l.Fabric.Tempo().Factor)
		var rates []float64
		for range 20 {
			r := rate(factor)
			if math.Abs(r-160) <= 70 {
				return
			}
			rates = append(rates, r)
		}
		require.Fail(t, "in the time of the fabric 160 packets a second were expected", "%v", rates)
	}
	for _, factor := range []float64{0.2, 0.5} {
		require.NoError(t, l.Fabric.SetTimeFactor(factor, true))
		goes(factor)
	}
	l.succeed()
	goes(0.5)
	require.NoError(t, l.Fabric.SetTimeFactor(1, true))
	goes(1)
	l.sound()

	said := 0
	for _, e := range l.Fabric.Events().Since(0) {
		if e.Kind == fabric.EventTimeFactor {
			require.Equal(t, "time factor 1", e.Summary())
			said++
		}
	}
	require.Equal(t, 1, said, "the new leader's own")
	for _, wrong := range []float64{0, -1, 0.0001, 1000} {
		require.ErrorContains(t, l.Fabric.SetTimeFactor(wrong, true), "give 0.001 to 100, 1 is the time of the machine")
	}
}

// Whoever traces a packet waits by the clock of the machine, also where that of the fabric is slow.
func TestASlowFabricSendsATracedPacketInTime(t *testing.T) {
	t.Parallel()
	l := startHosts(t, 1, func(o *fabric.Options) { o.Link.Paced = true })
	require.NoError(t, l.Fabric.SetTimeFactor(0.01, true))
	l.load("uniform:0.0001") // so that its packets come too late
	from := l.Fabric.Now()
	order, err := l.Fabric.Trace(0, 7, 1)
	require.NoError(t, err)
	require.Zero(t, order.Sent)
	l.until("the packet arrives", func() bool {
		views, _, _ := l.Fabric.Hops(order.After)
		return slices.ContainsFunc(views, func(v fabric.HopView) bool { return v.End == fabric.EndDelivered })
	})
	require.Less(t, l.Fabric.Now()-from, weft.Second)
}

// Timers of the fabric go by its clock, also those that wait already when its factor changes.
func TestAPauseGoesByTheClockOfTheFabric(t *testing.T) {
	t.Parallel()
	l := startHosts(t, 1, func(o *fabric.Options) { o.Link.Paced = true })
	require.NoError(t, l.Fabric.SetTimeFactor(0.001, true))
	over := make(chan error, 1)
	from := l.Fabric.Now()
	go func() { over <- l.Fabric.Pause(t.Context(), time.Second, nil) }() // a quarter of an hour at that pace
	require.NoError(t, l.Fabric.SetTimeFactor(100, true))
	require.NoError(t, <-over)
	require.GreaterOrEqual(t, l.Fabric.Now()-from, weft.Second)
}

func TestAFabricWithoutRatesHasNoTimeFactor(t *testing.T) {
	t.Parallel()
	l := startHosts(t, 1)
	require.Zero(t, l.Fabric.Tempo())
	require.ErrorIs(t, l.Fabric.SetTimeFactor(0.5, true), fabric.ErrUnpaced)
}
