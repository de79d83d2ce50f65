package switching

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// What stands in long lists is as long as cache lines are, so that no element begins within one.
func TestPortsAndSlotsTakeTwoCacheLines(t *testing.T) {
	require.EqualValues(t, 128, unsafe.Sizeof(port{}))
	require.EqualValues(t, 128, unsafe.Sizeof(slot{}))
}
