package opensm_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// Any bytes give a routing whose every way ends, or is known to go round, or an error.
func FuzzLoad(f *testing.F) {
	g := topologytest.Parse(f, "testdata/tiny.net")
	f.Add([]byte(read(f, "opensm-lfts.dump")), []byte(read(f, "opensm-sl2vl.dump")), []byte(read(f, "path-sl.txt")),
		[]byte(read(f, "guid2lid")))
	f.Add([]byte(read(f, "dump_lfts.txt")), []byte{}, []byte("1 6 3\n"), []byte{})
	f.Fuzz(func(t *testing.T, lft, sl2vl, pathSL, guid2lid []byte) {
		files := opensm.Files{LFT: opensm.File{Name: "lft", Reader: bytes.NewReader(lft)}}
		add := func(to **opensm.File, name string, data []byte) {
			if len(data) > 0 {
				*to = &opensm.File{Name: name, Reader: bytes.NewReader(data)}
			}
		}
		add(&files.SL2VL, "sl2vl", sl2vl)
		add(&files.PathSL, "path-sl", pathSL)
		add(&files.GUID2LID, "guid2lid", guid2lid)
		r, err := opensm.Load(t.Context(), g, files)
		if err != nil {
			return
		}
		require.LessOrEqual(t, r.Layers, weft.MaxVCs)
		require.LessOrEqual(t, r.Unroutable, len(g.NICs)*(len(g.NICs)-1))
		r.Dependencies(t.Context()).Cycle()
	})
}
