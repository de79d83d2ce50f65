package wire_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
	"github.com/weft-fabric/weft/switch/wire/wiretest"
)

// plainHeader is the header without a route as a struct, for msgpack/v5, which cannot leave the
// last element out.
type plainHeader struct {
	Src, Dst                   weft.NICID
	Seq                        uint64
	Injected                   weft.Time
	Size                       uint32
	VC                         weft.VC
	Generation, Hops, Reroutes uint16
	Traced                     bool
	PortField                  int16
	Misroute                   uint64
}

// BenchmarkHeader compares the codec with msgpack/v5 (struct as array) in one run; one operation
// encodes and decodes.
func BenchmarkHeader(b *testing.B) {
	h := wiretest.Header()
	b.Run("codec=weft", func(b *testing.B) {
		b.ReportAllocs()
		var got weft.Header
		buf := make([]byte, 0, wire.MaxHeader)
		for b.Loop() {
			buf = wire.AppendHeader(buf[:0], &h)
			if _, err := wire.DecodeHeader(&got, buf); err != nil {
				b.Fatal(err)
			}
		}
		require.Equal(b, h, got)
	})
	b.Run("codec=msgpack-v5", func(b *testing.B) {
		b.ReportAllocs()
		want := plainHeader{
			h.Src, h.Dst, h.Seq, h.Injected, h.Size, h.VC, h.Generation, h.Hops, h.Reroutes, h.Traced, h.PortField,
			h.Misroute,
		}
		var got plainHeader
		var buf bytes.Buffer
		enc := msgpack.NewEncoder(&buf)
		enc.UseArrayEncodedStructs(true)
		enc.UseCompactInts(true)
		dec := msgpack.NewDecoder(nil)
		var src bytes.Reader
		for b.Loop() {
			buf.Reset()
			if err := enc.Encode(&want); err != nil {
				b.Fatal(err)
			}
			src.Reset(buf.Bytes())
			dec.ResetReader(&src)
			if err := dec.Decode(&got); err != nil {
				b.Fatal(err)
			}
		}
		require.Equal(b, want, got)
	})
}

// BenchmarkFrame encodes and decodes a whole frame of two VCs.
func BenchmarkFrame(b *testing.B) {
	for _, packets := range []int{1, 4, 16, 64} {
		b.Run(frameName(packets), func(b *testing.B) {
			b.ReportAllocs()
			f := wiretest.Frame(packets)
			var got weft.Frame
			var buf []byte
			for b.Loop() {
				buf = wire.AppendFrame(buf[:0], 0, &f)
				if err := wire.DecodeFrame(&got, 0, buf); err != nil {
					b.Fatal(err)
				}
			}
			require.Equal(b, f, got)
			b.ReportMetric(float64(len(buf)), "B/frame")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(packets), "ns/packet")
		})
	}
}

func frameName(packets int) string { return fmt.Sprintf("packets=%d", packets) }
