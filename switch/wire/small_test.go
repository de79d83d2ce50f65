package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
	"github.com/weft-fabric/weft/switch/wire/wiretest"
)

// Elements that are one byte each go together. One that is longer by a little has all of them go
// one by one: the bytes are what msgpack/v5 writes all the same, and are read as what they were.
func TestElementsOfOneByteAreWrittenAsOthersAre(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(h *weft.Header, above int){
		"vc":         func(h *weft.Header, above int) { h.VC = weft.VC(weft.MaxVCs - 2 + above) },
		"generation": func(h *weft.Header, above int) { h.Generation = uint16(127 + above) },
		"hops":       func(h *weft.Header, above int) { h.Hops = uint16(127 + above) },
		"reroutes":   func(h *weft.Header, above int) { h.Reroutes = uint16(127 + above) },
		"traced":     func(h *weft.Header, above int) { h.Traced = above == 1 },
		"port field": func(h *weft.Header, above int) { h.PortField = int16(127 + above) },
		"negative":   func(h *weft.Header, above int) { h.PortField = int16(-32 - above) },
		"misroute":   func(h *weft.Header, above int) { h.Misroute = uint64(127 + above) },
		"far above":  func(h *weft.Header, above int) { h.Misroute = uint64(above) << 63 },
	} {
		for above := range 2 {
			want := wiretest.Header()
			change(&want, above)
			ours := wire.AppendHeader(nil, &want)

			var theirs bytes.Buffer
			enc := msgpack.NewEncoder(&theirs)
			enc.UseArrayEncodedStructs(true)
			enc.UseCompactInts(true)
			require.NoError(t, enc.Encode(&wireHeader{want}))
			require.Equal(t, theirs.Bytes(), ours, "%s: %d above", name, above)

			var got weft.Header
			rest, err := wire.DecodeHeader(&got, ours)
			require.NoError(t, err, name)
			require.Empty(t, rest, name)
			require.Equal(t, want, got, "%s: %d above", name, above)
		}
	}
}
