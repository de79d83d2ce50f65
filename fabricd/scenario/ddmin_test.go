package scenario

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func never() bool { return false }

// numbers are 0 to n-1.
func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func contains(list []int, all ...int) bool {
	return !slices.ContainsFunc(all, func(i int) bool { return !slices.Contains(list, i) })
}

func TestMinimiseFindsExactlyWhatIsNeeded(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 12; n++ {
		for set := range 1 << n { // every set of culprits, all of which are needed
			var need []int
			for i := range n {
				if set>>i&1 == 1 {
					need = append(need, i)
				}
			}
			got := minimise(numbers(n), func(part []int) bool { return contains(part, need...) }, never)
			require.ElementsMatch(t, need, got, "of %d", n)
			require.True(t, slices.IsSorted(got))
		}
	}
}

// Failures of any shape, not only those that more items keep: what comes back fails, and without
// any one item it does not.
func TestWhatMinimiseReturnsFailsAndIsOneMinimal(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(30)
		var ways [][]int // of failing: any of these together, unless an item hides it
		for range 1 + r.IntN(3) {
			ways = append(ways, r.Perm(n)[:r.IntN(min(n, 5)+1)])
		}
		hides := r.IntN(n)
		all := numbers(n)
		fails := func(part []int) bool {
			if len(part) == n {
				return true
			}
			if len(part)%3 == 2 && slices.Contains(part, hides) {
				return false
			}
			return slices.ContainsFunc(ways, func(w []int) bool { return contains(part, w...) })
		}
		asked := 0
		got := minimise(all, func(part []int) bool { asked++; return fails(part) }, never)
		require.True(t, fails(got), "seed %d: %v", seed, got)
		require.True(t, slices.IsSorted(got), "seed %d: in their order", seed)
		for i := range got {
			without := slices.Delete(slices.Clone(got), i, i+1)
			require.False(t, fails(without), "seed %d: %v fails without %d", seed, got, got[i])
		}
		require.Equal(t, numbers(n), all, "seed %d: what it is given stays as it is", seed)
		require.LessOrEqual(t, asked, n*n+5*n+2, "seed %d: the bound of ddmin", seed)
	}
}

func TestMinimiseOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	assert.Empty(t, minimise(nil, func([]int) bool { t.Error("asked"); return false }, never))
	assert.Empty(t, minimise(numbers(5), func([]int) bool { return true }, never))
}

func TestMinimiseStopsWithTheSmallestSoFar(t *testing.T) {
	t.Parallel()
	for most := range 40 {
		asked := 0
		best := numbers(16)
		got := minimise(numbers(16), func(part []int) bool {
			asked++
			ok := contains(part, 3, 11, 12)
			if ok && len(part) < len(best) {
				best = part
			}
			return ok
		}, func() bool { return asked > most })
		assert.Equal(t, best, got, "after %d", most)
		assert.LessOrEqual(t, asked, most+1)
	}
}
