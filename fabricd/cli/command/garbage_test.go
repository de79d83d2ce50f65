package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of a small fabric five times what lives may be there, of a large one a bounded amount more.
func TestGarbageIsBoundedInLargeFabrics(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 10 << 20: 400, 128 << 20: 200, 512 << 20: 50, 8 << 30: 25} {
		require.Equal(t, want, percentFor(live, LiveGarbage), live)
	}
}
