package bus

import (
	"crypto/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/switch/wire"
)

func TestChunks(t *testing.T) {
	t.Parallel()
	body := make([]byte, 10_000)
	_, _ = rand.Read(body)
	id, list, err := pack(body, 1000)
	require.NoError(t, err)
	require.Greater(t, len(list), 9)
	var ts transfers
	at := func(i int) chunk { return chunk{id, i, len(list)} }
	add := func(c chunk, data []byte) []byte {
		whole, err := ts.add(c, data)
		require.NoError(t, err)
		return whole
	}
	for i, data := range list[:len(list)-1] {
		require.Nil(t, add(at(i), data))
		require.Nil(t, add(chunk{"other" + string(rune('a'+i)), 0, 2}, data), "others come in between")
	}
	got, err := wire.Decompress(add(at(len(list)-1), list[len(list)-1]))
	require.NoError(t, err)
	require.Equal(t, body, got)

	refused := func(c chunk) {
		t.Helper()
		_, err := ts.add(c, list[0])
		require.ErrorIs(t, err, errChunks)
	}
	refused(at(1)) // without the first
	require.Nil(t, add(at(0), list[0]))
	refused(at(2))
	refused(at(1)) // the rest is lost then
	require.Nil(t, add(at(0), list[0]))
	refused(chunk{id, 1, len(list) + 1})
	for _, text := range []string{"", "a 0", "a 0 0", "a 1 1", "a -1 2", "a 0 99999", "a x 2", "a 0 x"} {
		_, err := parseChunk(text)
		require.ErrorIs(t, err, errChunks, text)
	}
}

// Who asks and never fetches, or sends a part only, takes no more than some room from others.
func TestTransfersAreBounded(t *testing.T) {
	t.Parallel()
	var ts transfers
	for i := range 3 * maxUnderWay {
		ts.store(string(rune(i)), [][]byte{{1}, {2}})
	}
	require.Len(t, ts.lists, maxUnderWay)
	_, err := ts.fetch(chunk{string(rune(0)), 1, 2})
	require.ErrorIs(t, err, errChunks)
	last := string(rune(3*maxUnderWay - 1))
	for i, want := range []byte{1, 2} {
		data, err := ts.fetch(chunk{last, i, 2})
		require.NoError(t, err)
		require.Equal(t, []byte{want}, data)
	}
	_, err = ts.fetch(chunk{last, 1, 2})
	require.ErrorIs(t, err, errChunks, "it was fetched")
	large := make([]byte, maxPacked/2)
	for _, id := range []string{"x", "y", "z"} {
		ts.store(id, [][]byte{large, nil})
	}
	require.Len(t, ts.lists, 2)
	require.False(t, slices.ContainsFunc(ts.lists, func(t *transfer) bool { return t.id == "x" }))
	require.False(t, ts.none())
}
