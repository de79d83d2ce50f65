package layered

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft/fabricd/topology"
)

func BenchmarkLASH(b *testing.B) {
	for _, n := range []int{64, 128, 256, 512, 1024} {
		for _, balance := range []Tristate{Off, On} {
			b.Run(fmt.Sprintf("switches=%d/balance=%v", n, balance == On), func(b *testing.B) {
				g, err := topology.Parse(fmt.Sprintf("irregular:%d,%d,1", n, 2*n))
				if err != nil {
					b.Fatal(err)
				}
				layers := 0
				for b.Loop() {
					r, err := LASH(g, Options{Balance: balance})
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
