package work_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// squares is a job that merges the squares of 0 to n-1 into list.
func squares(n int, list *[]int) *work.Job {
	j := &work.Job{Count: n, Piece: func(i int) work.Piece { return work.Piece{Name: fmt.Sprint(i)} }}
	j.Run, j.Merge = work.JSON(func(_ context.Context, _, i int) (int, error) { return i * i, nil },
		func(_, v int) error {
			*list = append(*list, v)
			return nil
		})
	return j
}

func TestResultsAreMergedInTheirOrderHoweverManyWorkersThereAre(t *testing.T) {
	t.Parallel()
	for workers := range 9 {
		var got []int
		j := squares(100, &got)
		j.Ordered = true
		j.Known = func(i int) bool { return i%10 == 3 || i == 0 }
		require.NoError(t, work.Local{Workers: workers}.Run(t.Context(), j))
		assert.Len(t, got, 89)
		assert.True(t, slices.IsSorted(got), got)
	}
}

func TestTheFirstErrorEndsTheOthers(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"run", "merge"} {
		var got []int
		j := squares(1_000_000, &got)
		run, merge, broken := j.Run, j.Merge, errors.New("broken")
		var ran atomic.Int64
		j.Run = func(ctx context.Context, worker, i int) ([]byte, error) {
			ran.Add(1)
			switch {
			case i == 7 && where == "run":
				return nil, broken
			case i > 100: // the error comes first, however slow its worker is
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return run(ctx, worker, i)
		}
		j.Merge = func(i int, result []byte) error {
			if i == 7 && where == "merge" {
				return broken
			}
			return merge(i, result)
		}
		require.ErrorIs(t, work.Local{Workers: 4}.Run(t.Context(), j), broken)
		assert.Less(t, ran.Load(), int64(1000))
	}
}

func TestEnoughIsNoError(t *testing.T) {
	t.Parallel()
	var got []int
	j := squares(1_000_000, &got)
	merge := j.Merge
	j.Merge = func(i int, result []byte) error { return errors.Join(merge(i, result), work.ErrEnough) }
	require.NoError(t, work.Local{Workers: 4}.Run(t.Context(), j))
	assert.LessOrEqual(t, len(got), 100)
	assert.NotEmpty(t, got)
}

// What a piece has counted before an interrupt is merged when it returns it without an error.
func TestAnInterruptIsToldAndWhatWasFoundUntilThenIsMerged(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	var got []int
	j := squares(1_000_000, &got)
	j.Run = func(ctx context.Context, _, i int) ([]byte, error) {
		interrupt()
		<-ctx.Done()
		if i == 0 {
			return []byte("42"), nil
		}
		return nil, ctx.Err()
	}
	require.ErrorIs(t, work.Local{Workers: 2}.Run(ctx, j), context.Canceled)
	assert.Equal(t, []int{42}, got)
}
