package layered_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// BenchmarkLASH is paths, layers and tables of one graph with twice as many links as switches.
func BenchmarkLASH(b *testing.B) {
	for _, n := range []int{64, 128, 256, 512, 1024} {
		b.Run(fmt.Sprintf("switches=%d", n), func(b *testing.B) {
			g := parse(b, fmt.Sprintf("irregular:%d,%d,1", n, 2*n))
			var r *layered.Routing
			for b.Loop() {
				var err error
				r, err = layered.LASH(b.Context(), g, layered.Options{})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(r.Layers), "layers")
		})
	}
}

// BenchmarkLayers is how many layers are needed and how many paths the channel with the most has,
// over 20 graphs each. With -benchtime 1x.
func BenchmarkLayers(b *testing.B) {
	pair := layered.ByPair
	for _, o := range []layered.Options{
		{}, {Rounds: 6}, {Both: true}, {Paths: pair}, {Paths: pair, Both: true}, {Paths: pair, Rounds: 5000},
	} {
		for _, n := range []int{32, 64, 128} {
			b.Run(fmt.Sprintf("%+v/switches=%d", o, n), func(b *testing.B) {
				const graphs = 20
				for b.Loop() {
					sum, most, load := 0, 0, 0
					for seed := 1; seed <= graphs; seed++ {
						r, err := layered.LASH(b.Context(), parse(b, fmt.Sprintf("irregular:%d,%d,%d", n, 2*n, seed)), o)
						require.NoError(b, err)
						sum, most = sum+r.Layers, max(most, r.Layers)
						load += slices.Max(perChannel(r))
					}
					b.ReportMetric(float64(sum)/graphs, "layers")
					b.ReportMetric(float64(most), "most")
					b.ReportMetric(float64(load)/graphs, "load")
				}
			})
		}
	}
}

// perChannel are the loads of all layers together.
func perChannel(r *layered.Routing) []int {
	d := r.Dependencies(context.Background())
	sum := make([]int, d.Channels.Len())
	for i, n := range d.Loads {
		sum[i%len(sum)] += n
	}
	return sum
}
