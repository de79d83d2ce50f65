package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/switch/wire"
)

func TestWhatIsCompressedComesBack(t *testing.T) {
	t.Parallel()
	packed, err := wire.Compress(bytes.Repeat([]byte("x"), 1<<20))
	require.NoError(t, err)
	require.Less(t, len(packed), 8192)
	got, err := wire.Decompress(packed)
	require.NoError(t, err)
	require.Len(t, got, 1<<20)
	_, err = wire.Decompress([]byte("no DEFLATE data"))
	require.ErrorContains(t, err, "decompress 15 bytes")
}
