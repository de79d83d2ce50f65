package verify

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
)

// BenchmarkLazyToEnumeration explores all sets at once and one by one, in turn and without
// symmetry, and reports the medians of the processor time of both and their ratio. Where there are
// too many sets to go through, random ones of the largest size say what one takes.
func BenchmarkLazyToEnumeration(b *testing.B) {
	const turns = 5
	for _, c := range []struct {
		name, on string
		most     int
		drawn    int // sets; 0: each is explored
	}{
		{"4-ary 3-tree, 2 links", "kary-ntree:4,3", 2, 0},
		{"4-ary 3-tree, 3 links, from 2,000 sets", "kary-ntree:4,3", 3, 2000},
		{"8-ary 2-tree, 2 links", "kary-ntree:8,2", 2, 0},
		{"8-ary 3-tree, 7 links, from 10 sets", "kary-ntree:8,3", 7, 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			config := Config{
				Graph: topologytest.Parse(b, c.on), Firmware: firmware.DeterministicLink(), Sets: Sets{Max: c.most},
				NoSymmetry: true, Workers: 1,
			}
			each := config
			each.Exhaustive = true
			if c.drawn > 0 {
				each.Sets.Min, each.Sets.Samples = c.most, c.drawn
			}
			took := func(c Config) (float64, uint64) {
				began := testenv.CPU()
				r, err := Run(b.Context(), c)
				require.NoError(b, err)
				require.True(b, r.Pass)
				return (testenv.CPU() - began).Seconds(), r.FaultSets
			}
			for b.Loop() {
				var once, one []float64
				for range turns {
					s, sets := took(config)
					once = append(once, s)
					t, explored := took(each)
					one = append(one, t/float64(explored)*float64(sets))
				}
				slices.Sort(once)
				slices.Sort(one)
				b.ReportMetric(once[turns/2], "s-at-once")
				b.ReportMetric(one[turns/2], "s-one-by-one")
				b.ReportMetric(one[turns/2]/once[turns/2], "times")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
