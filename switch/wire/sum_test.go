package wire_test

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/switch/wire"
	"github.com/weft-fabric/weft/switch/wire/wiretest"
)

// body is a frame but for its sum.
func body(f *weft.Frame) []byte {
	data := wire.AppendFrame(nil, 0, f)
	return slices.Clone(data[:len(data)-5])
}

// summed appends the sum to a body as the documentation says, and not as the codec does.
func summed(link wire.LinkSum, body []byte) []byte {
	data := append(slices.Clone(body), 0xce)
	sum := crc32.Update(uint32(link), crc32.MakeTable(crc32.Castagnoli), data)
	return binary.BigEndian.AppendUint32(data, sum)
}

func TestTheSumIsThatOfTheNameOfTheLinkAndOfTheFrame(t *testing.T) {
	t.Parallel()
	d := wire.Direction{From: "s0.00", FromPort: 1, To: "s1.10", ToPort: 3}
	f := wiretest.Frame(3)
	data := wire.AppendFrame(nil, d.Sum(), &f)
	require.Equal(t, summed(d.Sum(), body(&f)), data)
	text := "s0.00:p1>s1.10:p3" + string(data[:len(data)-4])
	require.Equal(t, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)),
		binary.BigEndian.Uint32(data[len(data)-4:]))
}

// A frame that was damaged is known by its sum, whichever bits it was: one or two anywhere, or a
// run of up to 32.
func TestADamagedFrameIsKnown(t *testing.T) {
	t.Parallel()
	link := wiretest.Hop(0).Sum()
	f := wiretest.Frame(2)
	good := wire.AppendFrame(nil, link, &f)
	var got weft.Frame
	require.NoError(t, wire.DecodeFrame(&got, link, good))
	attempts := 0
	damaged := func(data []byte) {
		t.Helper()
		attempts++
		err := wire.DecodeFrame(&got, link, data)
		require.ErrorIs(t, err, wire.ErrDamaged)
		require.ErrorIs(t, err, wire.ErrFrame)
		require.Empty(t, got.Packets)
	}
	flip := func(data []byte, bit int) { data[bit/8] ^= 1 << (bit % 8) }
	bits := 8 * len(good)
	for i := range bits {
		data := slices.Clone(good)
		flip(data, i)
		damaged(data)
		flip(data, (i+1+i%(bits-1))%bits)
		damaged(data)
	}
	rnd := rand.New(rand.NewPCG(11, 12))
	for range 10_000 {
		data, length := slices.Clone(good), 2+rnd.IntN(31)
		at := rnd.IntN(bits - length)
		flip(data, at)
		flip(data, at+length-1)
		for i := 1; i < length-1; i++ {
			if rnd.IntN(2) == 0 {
				flip(data, at+i)
			}
		}
		damaged(data)
	}
	for n := range good {
		damaged(good[:n])
	}
	damaged(append(slices.Clone(good), 0))
	attack.Count(t, "damaged frames", attempts)
}

func TestAFrameForAnotherLinkIsKnown(t *testing.T) {
	t.Parallel()
	f := wiretest.Frame(1)
	data := wire.AppendFrame(nil, wiretest.Hop(0).Sum(), &f)
	for _, d := range []wire.Direction{
		wiretest.Hop(0).Reverse(), wiretest.Hop(1),
		{From: "s0", FromPort: 1, To: "s1", ToPort: 1},
		{From: "s0", FromPort: 2, To: "s1"},
	} {
		require.ErrorIs(t, wire.DecodeFrame(&weft.Frame{}, d.Sum(), data), wire.ErrDamaged, d)
	}
}

// BenchmarkSum is what the sum costs a frame at both its ends together.
func BenchmarkSum(b *testing.B) {
	for _, packets := range []int{0, 1, 2, 16, 64} {
		b.Run(frameName(packets), func(b *testing.B) {
			f := wiretest.Frame(packets)
			data := body(&f)
			table := crc32.MakeTable(crc32.Castagnoli)
			var sum uint32
			for b.Loop() {
				sum ^= crc32.Update(1, table, data) ^ crc32.Update(2, table, data)
			}
			_ = sum
			b.ReportMetric(float64(len(data)), "B/frame")
		})
	}
}
