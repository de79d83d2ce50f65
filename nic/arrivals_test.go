package nic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// arrived is how many packets a process generates in each of n windows.
func arrived(p *process, r Rand, n int, window weft.Time) []float64 {
	counts := make([]float64, n)
	for at := p.first(r); at < weft.Time(n)*window; at += max(1, p.next(r)) {
		counts[at/window]++
	}
	return counts
}

func moments(list []float64) (mean, variance float64) {
	for _, x := range list {
		mean += x
	}
	mean /= float64(len(list))
	for _, x := range list {
		variance += (x - mean) * (x - mean)
	}
	return mean, variance / float64(len(list)-1)
}

// The mean is the load, and the dispersion, variance over mean of the packets in a long window,
// tells the processes apart: 1 for Poisson and what approximates it; for the others that of one gap
// over the square of the mean (they are renewal processes).
func TestEveryProcessHasTheMeanOfItsLoadAndItsOwnDispersion(t *testing.T) {
	const mean = 1000 * weft.Nanosecond
	for _, c := range []struct {
		a          Arrivals
		dispersion float64
	}{
		{Arrivals{}, 1},
		{Arrivals{Process: Normal}, 1},
		{Arrivals{Process: Bursts}, 0.25*0.25 + 31*0.75*0.75},
		{Arrivals{Process: Poisson}, 1},
		{Arrivals{Process: Normal, Per: 1}, 1},
		{Arrivals{Process: Normal, Per: 200}, 1},
		{Arrivals{Process: Bursts, Burst: 4, Duty: 0.5}, 0.5*0.5 + 7*0.5*0.5},
		{Arrivals{Process: Bursts, Burst: 1, Duty: 1}, 1},
		{Arrivals{Process: Periodic}, 0},
	}[:testenv.N(9, 3)] {
		t.Run(fmt.Sprintf("%+v", c.a), func(t *testing.T) {
			require.NoError(t, c.a.check())
			p := newProcess(c.a, mean)
			// A window of 1600 packets on average holds many intervals and bursts.
			n, window := 1500, 1600*mean
			counts := arrived(&p, rand.NewPCG(7, 8), n, window)
			m, v := moments(counts)
			deviation := math.Sqrt(max(c.dispersion, 0.01) * 1600 / float64(n))
			require.InDelta(t, 1600, m, 4*deviation, "mean")
			require.InDelta(t, c.dispersion, v/m, 0.12*c.dispersion+0.01, "dispersion")
		})
	}
}

// Processes have been running before they are asked: the first window gets as much as any.
func TestAProcessBeginsInTheMiddle(t *testing.T) {
	const mean, sources = 1000 * weft.Nanosecond, 20_000
	for _, a := range []Arrivals{{}, {Process: Normal}, {Process: Bursts}, {Process: Periodic}} {
		total := 0.0
		for i := range uint64(sources) {
			p := newProcess(a, mean)
			total += arrived(&p, rand.NewPCG(9, i), 1, 2*mean)[0]
		}
		require.InDelta(t, 2, total/sources, 0.1, "%+v", a)
	}
}

func TestANormalIntervalGetsANormalNumberOfPackets(t *testing.T) {
	const per, n = 64, 50_000
	p := newProcess(Arrivals{Process: Normal, Per: per}, weft.Microsecond)
	counts := arrived(&p, rand.NewPCG(1, 3), n, per*weft.Microsecond)
	inside, odd := 0, 0
	for _, c := range counts {
		if math.Abs(c-per) < 8.5 {
			inside++ // rounded, that is within 8.5/8 deviations
		}
		if int(c)%2 == 1 {
			odd++
		}
	}
	require.InDelta(t, math.Erf(8.5/8/math.Sqrt2), float64(inside)/n, 0.01)
	require.InDelta(t, 0.5, float64(odd)/n, 0.01, "no number is favoured")
}

func TestPacketsComeInBursts(t *testing.T) {
	const mean = weft.Microsecond
	p := newProcess(Arrivals{Process: Bursts, Burst: 100, Duty: 0.01}, mean)
	r := rand.NewPCG(4, 4)
	bursts, packets := 0, 200_000
	for range packets {
		if p.next(r) > mean/4 { // far above the gap within a burst, 10 ns, far below that between two, 99 us
			bursts++
		}
	}
	require.InEpsilon(t, 100, float64(packets)/float64(bursts), 0.1)
}

func TestPeriodicPacketsOfTwoNICsAreOutOfStep(t *testing.T) {
	first := map[weft.Time]bool{}
	for i := range uint64(20) {
		p, r := newProcess(Arrivals{Process: Periodic}, weft.Microsecond), rand.NewPCG(i, i)
		first[p.first(r)] = true
		for range 5 {
			require.Equal(t, weft.Time(weft.Microsecond), p.next(r))
		}
	}
	require.Len(t, first, 20)
}

// With a mean of years the next packet is far away, never in the past, whatever the process.
func TestARareProcessDoesNotOverflowTheClock(t *testing.T) {
	r := rand.NewPCG(2, 2)
	for _, a := range []Arrivals{
		{},
		{Process: Normal, Per: mostPer},
		{Process: Bursts, Burst: mostPer, Duty: 1e-9},
		{Process: Periodic},
	} {
		p := newProcess(a, weft.Never)
		for range 1000 {
			for _, gap := range []weft.Time{p.first(r), p.next(r)} {
				require.GreaterOrEqual(t, gap, weft.Time(0), "%+v", a)
				require.Less(t, gap, weft.Never/4*3, "%+v", a)
			}
		}
	}
}

func TestArrivalsThatCannotBeAreRefused(t *testing.T) {
	for want, a := range map[string]Arrivals{
		`known: poisson, normal, bursts`:  {Process: "burst"},
		"take no per":                     {Process: Bursts, Per: 3},
		"poisson arrivals take no burst":  {Burst: 3},
		"periodic arrivals take no burst": {Process: Periodic, Duty: 0.5},
		"1 to 1048576, not -1":            {Process: Normal, Per: -1},
		"1 to 1048576, not 1048577":       {Process: Normal, Per: mostPer + 1},
		"1 to 1048576, not 0.5":           {Process: Bursts, Burst: 0.5},
		"1 to 1048576, not NaN":           {Process: Bursts, Burst: math.NaN()},
		"above 0 and at most 1, not 1.5":  {Process: Bursts, Duty: 1.5},
		"above 0 and at most 1, not -0.1": {Process: Bursts, Duty: -0.1},
		"above 0 and at most 1, not NaN":  {Process: Bursts, Duty: math.NaN()},
		"1 to 1048576, not +Inf":          {Process: Bursts, Burst: math.Inf(1)},
	} {
		require.ErrorContains(t, a.check(), want)
		require.ErrorContains(t, newDarkRig(t, Config{}).SetSource(0, Source{To: only(1), Mean: 1, Arrivals: a},
			&weft.Actions{}), want)
	}
}

func BenchmarkNextPacket(b *testing.B) {
	for _, spec := range []string{
		"uniform:0.5", "uniform:0.5,arrivals=normal", "uniform:0.5,arrivals=bursts", "uniform:0.5,arrivals=periodic",
		"hotspot:0.5,hot=4,sizes=64:0.6/1500:0.4", "all-to-all:0.5",
	} {
		b.Run(spec, func(b *testing.B) {
			r := rand.NewPCG(1, 1)
			s := sources(b, spec, 64, r)[0]
			p, m := newProcess(s.Arrivals, s.Mean), newMix(s.Sizes, s.Bytes)
			b.ReportAllocs()
			for b.Loop() {
				s.To.Next(r)
				m.next(r)
				p.next(r)
			}
		})
	}
}
