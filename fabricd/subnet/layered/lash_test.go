package layered_test

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

func BenchmarkLASH(b *testing.B) {
	for _, n := range []int{64, 128, 256, 512, 1024} {
		for _, balance := range []layered.Tristate{layered.Off, layered.On} {
			b.Run(fmt.Sprintf("switches=%d/balance=%v", n, balance == layered.On), func(b *testing.B) {
				g := parse(b, fmt.Sprintf("irregular:%d,%d,1", n, 2*n))
				layers := 0
				for b.Loop() {
					r, err := layered.LASH(g, layered.Options{Balance: balance})
					if err != nil {
						b.Fatal(err)
					}
					layers = r.Layers
				}
				b.ReportMetric(float64(layers), "layers")
			})
		}
	}
}
