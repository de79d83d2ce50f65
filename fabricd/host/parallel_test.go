package host

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInParallelDoesEachOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 7, 1000} {
		calls := make([]atomic.Int32, n)
		last := -1
		require.NoError(t, inParallel(n, func(done int) {
			require.Greater(t, done, last)
			last = done
		}, func(i int) error {
			calls[i].Add(1)
			return nil
		}))
		for i := range calls {
			require.Equal(t, int32(1), calls[i].Load())
		}
		require.LessOrEqual(t, last, n)
		require.Equal(t, n >= 1000, last > 0)
	}
}

func TestInParallelTellsTheFirstThatFailed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var calls atomic.Int32
	err := inParallel(100_000, nil, func(i int) error {
		calls.Add(1)
		if i >= 5 {
			return fmt.Errorf("%d: %w", i, broken)
		}
		return nil
	})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "5: ")
	require.Less(t, calls.Load(), int32(100_000), "what has not begun is left")
}
