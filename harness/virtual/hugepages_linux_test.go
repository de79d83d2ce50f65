package virtual

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The runtime's heap is several mappings once a part of it is in huge pages.
func TestHugePagesFitIntoAllPartsOfTheHeap(t *testing.T) {
	const maps = `02f1b000-0518c000 rw-p 00000000 00:00 0
138375000000-138375400000 rw-p 00000000 00:00 0
138375400000-138375700000 rw-p 00000000 00:00 0
138375700000-138378000000 ---p 00000000 00:00 0
138378100000-138378400000 rw-p 00000000 00:00 0
7f5c5bf0c000-7f5c5c900000 rw-p 00000000 00:00 0
`
	var pages []uintptr
	eachHugePage(strings.NewReader(maps), 0x138375410000, func(p uintptr) { pages = append(pages, p) })
	require.Equal(t, []uintptr{0x138375000000, 0x138375200000, 0x138375400000, 0x138378200000}, pages)
}
