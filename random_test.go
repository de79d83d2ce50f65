package weft_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// All objects of a fabric, of five incarnations and three seeds, draw 16 values each: no value
// comes twice. Of 64 bits, a million draws have one pair alike by chance in some 37 million cases.
func TestNoTwoStreamsAreAlike(t *testing.T) {
	t.Parallel()
	seen := map[uint64]bool{}
	streams := 0
	draw := func(seed uint64, kind weft.StreamKind, number, incarnation uint64) {
		streams++
		s := weft.Stream(seed, kind, number, incarnation)
		for range 16 {
			v := s.Uint64()
			if seen[v] {
				t.Fatalf("seed %d, kind %d, number %d, incarnation %d", seed, kind, number, incarnation)
			}
			seen[v] = true
		}
	}
	for seed := range uint64(3) {
		for incarnation := range uint64(5) {
			for number := range uint64(testenv.N(300, 60)) {
				for kind := weft.StreamSwitch; kind <= weft.StreamReroutes; kind++ {
					if kind != weft.StreamLink {
						draw(seed, kind, number, incarnation)
					}
				}
				for _, n := range []weft.Node{weft.SwitchID(number).Node(), weft.NICID(number).Node()} {
					for p := range weft.PortID(4) {
						draw(seed, weft.StreamLink, weft.End{Node: n, Port: p}.StreamNumber(), incarnation)
					}
				}
			}
		}
	}
	t.Logf("%d streams", streams)
}

// The pairs that shared a stream when each caller reckoned its own: they differ from the first draw
// on.
func TestStreamsThatWereOnceAlike(t *testing.T) {
	t.Parallel()
	first := func(kind weft.StreamKind, number, incarnation uint64) uint64 {
		return weft.Stream(7, kind, number, incarnation).Uint64()
	}
	require.NotEqual(t, first(weft.StreamSwitch, 3, 2), first(weft.StreamNIC, 3, 0))
	require.NotEqual(t, first(weft.StreamSwitch, 0, 1), first(weft.StreamTraffic, 0, 0))
	require.NotEqual(t, first(weft.StreamSwitch, 5, 4), first(weft.StreamFlap, 5, 0))
	require.NotEqual(t, first(weft.StreamSwitch, 0, 0), first(weft.StreamLink, 0, 0))
}

// Runs of one seed are the same on every machine and in every version: a stream starts as it always
// has.
func TestStreamsStayTheSame(t *testing.T) {
	t.Parallel()
	s := weft.Stream(1, weft.StreamSwitch, 2, 3)
	require.Equal(t, []uint64{0xa44c39ba778c7316, 0x5462af5ec1bdc227, 0xb1db95f101a536f3},
		[]uint64{s.Uint64(), s.Uint64(), s.Uint64()})
}
