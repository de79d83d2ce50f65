package api

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestAViewerReadsWhatTracedPacketsTellAndTracesNone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	viewer, operator := s.dial(false), s.dial(true)
	_, err := viewer.Trace(t.Context(), TraceRequest{Src: "n00", Dst: "n10"})
	require.ErrorIs(t, err, reply.ErrDenied)
	const packets = 100 // some 500 events, and many answers
	order, err := operator.Trace(t.Context(), TraceRequest{Src: "n00", Dst: "n10", Count: packets})
	require.NoError(t, err)
	require.Equal(t, fabric.Tracing{Sent: packets}, order)
	ended, last := 0, order.After
	err = viewer.Hops(t.Context(), order.After, func(v fabric.HopView) error {
		require.Equal(t, last+1, v.N)
		require.Zero(t, v.Missed)
		last = v.N
		if v.End != "" {
			ended++
		}
		if ended == packets {
			return context.Canceled // it has heard enough
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.GreaterOrEqual(t, last, uint64(5*packets), "and more where one waited for a credit")

	order, err = operator.Trace(t.Context(), TraceRequest{Src: "n10", Dst: "n00"})
	require.NoError(t, err)
	require.Equal(t, fabric.Tracing{After: last, Sent: 1}, order)
}

func TestAReaderOfHopsThatIsTooSlowIsToldHowManyItMissed(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	s := serve(t, harness.Traffic("uniform:0.5"), harness.TraceEvery(1))
	s.Eventually(func() error {
		if s.Fabric().LastHop() < 5000 {
			return context.DeadlineExceeded
		}
		return nil
	})
	var first fabric.HopView
	err := s.dial(false).Hops(t.Context(), 0, func(v fabric.HopView) error {
		first = v
		return context.Canceled
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, first.N-1, first.Missed)
	require.Greater(t, first.Missed, uint64(900))
}

func TestOrdersToTraceThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	c := s.dial(true)
	for req, want := range map[string]string{
		`{"src":"n0","dst":"n10"}`:              `unknown NIC "n0": did you mean "n00"?`,
		`{"src":"n00","dst":"s1.0"}`:            `unknown NIC "s1.0"`,
		`{"src":"n00","dst":"n10","count":-1}`:  "trace -1 packets: expected 1 to 256",
		`{"src":"n00","dst":"n10","count":257}`: "trace 257 packets",
		`{"src":"n00","dst":"n00"}`:             "to itself",
		`{"src":1}`:                             "malformed request",
		`[]`:                                    "malformed request",
	} {
		err := askNone(t.Context(), c, VerbTrace, json.RawMessage(req))
		require.ErrorIs(t, err, reply.ErrRefused, req)
		require.ErrorContains(t, err, want, req)
	}
	require.ErrorContains(t, askNone(t.Context(), c, VerbHops, json.RawMessage(`{"after":-1}`)), "malformed request")
	require.Zero(t, s.Fabric().LastHop())
}
