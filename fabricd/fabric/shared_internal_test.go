package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Who reads what is published does not wait for who uses the value, and sees what changed since.
func TestASnapshotIsThereWhileTheValueIsInUse(t *testing.T) {
	s := shared[[]int, int]{value: &[]int{1}, see: func(list *[]int) *int { return new(len(*list)) }}
	before := s.seen()
	s.read(func(*[]int) { require.Same(t, before, s.seen()) }) // under the lock
	s.change(func(list *[]int) { *list = append(*list, 2) })
	require.Equal(t, 1, *before)
	require.Equal(t, 2, *s.seen())
}
