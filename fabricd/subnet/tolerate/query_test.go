package tolerate_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

func query(t *testing.T, spec, region string, workers int) *tolerate.Query {
	t.Helper()
	q, err := tolerate.NewQuery(topologytest.Parse(t, spec), region, "", workers)
	require.NoError(t, err)
	return q
}

func mechanisms(t *testing.T, text string) direct.Mechanisms {
	t.Helper()
	m, err := direct.Parse(text)
	require.NoError(t, err)
	return m
}

// count counts the sets of k links by I.
func count(ctx context.Context, t *testing.T, q *tolerate.Query, k int, s tolerate.Sampling, told func(uint64),
) (r tolerate.CountResult) {
	t.Helper()
	cells, results := []tolerate.Cell{{Mechanisms: mechanisms(t, "I"), Faults: k}}, 0
	require.NoError(t, q.Count(ctx, nil, cells, s, told, func(c tolerate.CountResult) error {
		r = c
		results++
		return nil
	}))
	require.Equal(t, 1, results)
	return r
}

func TestAQueryIsRefusedForWhatItCannotAsk(t *testing.T) {
	t.Parallel()
	_, err := tolerate.NewQuery(topologytest.Parse(t, "kary-ntree:2,2"), tolerate.Whole, "", 1)
	require.ErrorContains(t, err, "is no mesh, torus or ring")
	g := topologytest.Parse(t, "torus:3x3")
	_, err = tolerate.NewQuery(g, "distance-1", "s9.9", 1)
	require.ErrorContains(t, err, `"s9.9"`)
	_, err = tolerate.NewQuery(g, "far", "", 1)
	require.ErrorContains(t, err, `unknown region "far"`)
}

// What is counted does not depend on the goroutines, and what was told adds up to it.
func TestACounterCountsAllSetsHoweverManyGoroutinesThereAre(t *testing.T) {
	t.Parallel()
	for _, s := range []tolerate.Sampling{{}, {Samples: 5000, Seed: 3}} {
		var want tolerate.CountResult
		for workers := range 2 {
			told := make(chan uint64, 1<<16)
			q := query(t, "torus:3x3", tolerate.Whole, 4*workers)
			got := count(t.Context(), t, q, 3, s, func(sets uint64) { told <- sets })
			close(told)
			sum := uint64(0)
			for n := range told {
				sum += n
			}
			assert.Equal(t, got.FaultSets, sum)
			assert.True(t, got.Complete)
			assert.Positive(t, got.NotTolerated)
			require.NotNil(t, got.Example)
			assert.Len(t, got.Example.Links, 3)
			got.Seconds = 0
			if workers == 0 {
				want = got
			}
			assert.Equal(t, want, got)
		}
	}
}

func TestAnInterruptedQueryEndsAndSaysSo(t *testing.T) {
	t.Parallel()
	q := query(t, "torus:3x3x3", tolerate.Whole, 2)
	for _, s := range []tolerate.Sampling{{}, {Samples: 100_000_000}} {
		ctx, interrupt := context.WithCancel(t.Context())
		r := count(ctx, t, q, 9, s, func(uint64) { interrupt() })
		assert.False(t, r.Complete)
		assert.Positive(t, r.FaultSets)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	l, err := q.Limit(ctx, mechanisms(t, "I+M"), nil, func(_, done, _ int) {
		if done == 1 {
			interrupt()
		}
	})
	require.NoError(t, err)
	assert.False(t, l.Complete)
	assert.Nil(t, l.Example)
	_, err = q.Set(ctx, mechanisms(t, "I"), q.Links[:1], tolerate.Listed{})
	require.ErrorIs(t, err, context.Canceled)
}

// The values are computed by hand; of no hits the interval is from 0.
func TestWilsonsIntervalIsRightForFewHits(t *testing.T) {
	t.Parallel()
	middle, half := tolerate.Wilson(5, 10, tolerate.Z95)
	assert.InDelta(t, 0.5, middle, 1e-12)
	assert.InDelta(t, 0.26341, half, 1e-5)
	middle, half = tolerate.Wilson(0, 10, tolerate.Z95)
	assert.InDelta(t, 0, middle-half, 1e-12)
	assert.InDelta(t, 0.27754, middle+half, 1e-5)
}
