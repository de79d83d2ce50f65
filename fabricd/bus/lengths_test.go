package bus

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/weft-fabric/weft/harness/testenv"
)

// What the library writes is let through whole, and not when a byte of it is missing.
func TestLengthsOfWhatTheLibraryWritesFit(t *testing.T) {
	t.Parallel()
	for _, compact := range []bool{true, false} {
		for _, size := range []int{0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536} {
			for _, v := range []any{
				nil, true, int8(-7), size, -size, uint64(1) << 63, 1.5, float32(2), make([]byte, size),
				string(make([]byte, size)),
				make([]int, size), make([]bool, min(size, 300)),
				map[string]any{"a": []any{size, "b", nil}},
			} {
				var b bytes.Buffer
				e := msgpack.NewEncoder(&b)
				e.UseCompactInts(compact)
				require.NoError(t, e.Encode(v))
				require.NoError(t, checkLengths(b.Bytes()), "%T of %d", v, size)
				require.Error(t, checkLengths(b.Bytes()[:b.Len()-1]), "%T of %d", v, size)
			}
		}
	}
}

// Whatever is let through the library can skip: both find the same end.
func TestLengthsAgreeWithTheLibrary(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	draw := rand.New(rand.NewPCG(1, 2))
	agreed := map[bool]int{}
	many := testenv.Levels(200_000, 50_000, 4_000)
	for range many {
		data := make([]byte, 1+draw.IntN(12))
		for i := range data {
			data[i] = byte(draw.Uint32())
		}
		err := checkLengths(data)
		require.Equal(t, err == nil, msgpack.NewDecoder(bytes.NewReader(data)).Skip() == nil, "% x: %v", data, err)
		agreed[err == nil]++
	}
	require.Greater(t, agreed[true], many/20)
	require.Greater(t, agreed[false], many/20)
}
