package wasm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// WASI gives every instance the same answers, and keeps what is printed while the first starts.
func TestWASIGivesFixedAnswers(t *testing.T) {
	const preview = "wasi_snapshot_preview1"
	call := func(function byte, args ...[]byte) []byte {
		return slices.Concat(slices.Concat(args...), []byte{0x10, function})
	}
	result := func(at uint32, call []byte) []byte { return slices.Concat(i32(int32(at)), call, []byte{0x36, 2, 0}) }
	texts := slices.Concat(store(4, 64, 'h'|'e'<<8|'l'<<16|'l'<<24), store(4, 68, 'o'|' '<<8|'y'<<16|'o'<<24),
		store(2, 72, 'u'|'.'<<8),
		store(4, 80, 70), store(4, 84, 3), store(4, 88, 73), store(4, 92, 1)) // "you" and "."
	print := call(6, i32(1), i32(80), i32(2), i32(96))
	m := guest{
		rules: []string{"r"},
		imports: []foreign{
			{preview, "clock_time_get", 6},
			{preview, "random_get", 3},
			{preview, "args_sizes_get", 3},
			{preview, "fd_write", 7},
			{preview, "fd_close", 1},
			{preview, "proc_exit", 8},
			{preview, "args_get", 3},
		},
		init: slices.Concat(texts, call(2, i32(64), i32(6)),
			result(100, call(3, i32(0), []byte{0x42, 0}, i32(104))), result(112, call(4, i32(116), i32(8))), result(124,
				call(5, i32(128), i32(132))),
			result(136, print), result(140, call(7, i32(1))), result(144, call(9, i32(0), i32(0))), result(148,
				call(4, i32(0), i32(4097))),
			result(152, call(6, i32(1), i32(80), i32(17), i32(96)))),
		route: slices.Concat(result(160, print), when(13, call(8, i32(3))),
			when(14, call(4, i32(65533), i32(8)), []byte{0x1a}), to(1, 0)),
	}
	module := m.load(t)
	var all [][]byte
	for range 3 {
		i, _, err := module.start()
		require.NoError(t, err)
		all = append(all, slices.Clone(i.memory()[96:156]))
	}
	got := all[0]
	require.Equal(t, all, [][]byte{got, got, got})
	require.Equal(t, "hello you.", module.Log)
	word := func(at int) uint32 { return le.Uint32(got[at-96:]) }
	require.Equal(t, uint32(4), word(96), "bytes printed")
	require.Equal(t, uint64(1e18), le.Uint64(got[104-96:]))
	require.NotZero(t, le.Uint64(got[116-96:]), "random bytes")
	require.Equal(t, []uint32{0, 0, 0, 0, 0, 52, 0, 28, 28}, []uint32{
		word(100), word(112), word(124), word(128),
		word(136), word(140), word(144), word(148), word(152),
	})

	_, f := decide(module, somewhere(), 12)
	require.Nil(t, f)
	require.Equal(t, "hello you.", module.Log, "later it is dropped")
	_, f = decide(module, somewhere(), 13)
	require.ErrorContains(t, f, "it ended itself with code 3")
	_, f = decide(module, somewhere(), 14)
	require.ErrorContains(t, f, "it read or wrote outside its memory")
}

// A guest has the place of a switch in a torus as docs/reference/wasm.md says.
func TestTheGuestHasThePlaceInATorus(t *testing.T) {
	g, err := topology.Generate("torus:3x4x2")
	require.NoError(t, err)
	place := g.Place(7)
	i, _, err := guest{rules: []string{"r"}}.load(t).start()
	require.NoError(t, err)
	s, err := i.placed(place)
	require.NoError(t, err)
	b := i.memory()
	word := func(at uint32, n int) uint32 { return le.Uint32(b[at+4*uint32(n):]) }
	require.Equal(t, []uint32{7, uint32(len(place.Roles)), 0}, []uint32{word(s.at, 0), word(s.at, 1), word(s.at, 6)})
	require.Equal(t, place.Name, string(b[word(s.at, 4):][:word(s.at, 5)]))
	for p, role := range place.Roles {
		require.Equal(t, byte(role), b[word(s.at, 2)+uint32(p)])
		end := weft.Node{Kind: weft.NodeKind(word(word(s.at, 3), 2*p)), Index: word(word(s.at, 3), 2*p+1)}
		require.Equal(t, place.Neighbours[p], end)
	}
	grid := word(s.at, 7)
	require.Equal(t, []uint32{place.Grid.NICs, 3}, []uint32{word(grid, 0), word(grid, 1)})
	for n, d := range place.Grid.Dims {
		at := grid + 8 + 16*uint32(n)
		require.Equal(t, d, weft.Dim{Size: word(at, 0), At: word(at, 1), Stride: word(at, 2), Wrap: word(at, 3) == 1})
	}
}
