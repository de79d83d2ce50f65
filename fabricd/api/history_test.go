package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
)

func TestTheHistoryIsBoundedAndHoldsRates(t *testing.T) {
	t.Parallel()
	var h history
	for i := range maxPoints + 5 {
		h.add(Sample{
			At: float64(i) / 2, InjectedRate: 7, InFlight: 3, Lost: uint64(10 * i), Rerouted: uint64(i),
			Latency: fabric.Latency{P50: 1, P99: 2},
		}, 4)
	}
	all := h.since(-1)
	require.Len(t, all, maxPoints)
	require.Equal(t, Point{At: 302, Injected: 7, Refused: 4, Lost: 20, Rerouted: 2, InFlight: 3, P50: 1, P99: 2},
		all[maxPoints-1])
	require.Equal(t, all[maxPoints-2:], h.since(301))
	require.Empty(t, h.since(302))
}

func TestAViewerBeginsWithTheHistory(t *testing.T) {
	t.Parallel()
	s := serve(t)
	stream, smp := NewStream(s.Fabric()), newSampling(s.Fabric())
	smp.history = &history{}
	for at := range 3 {
		smp.history.add(Sample{At: float64(at + 1)}, 0)
	}
	first := smp.frame(true)
	require.Len(t, first.History, 3)
	stream.add(first)
	smp.history.add(Sample{At: 4}, 0)
	next := smp.frame(true)
	require.Len(t, next.History, 1, "those that are new")
	stream.add(next)
	require.Len(t, stream.snap().History, 4)
	var points []Point
	for _, page := range split(stream.snap().Frame, 0) {
		points = append(points, page.History...)
	}
	require.Len(t, points, 4, "each on one page")
}
