package dqr_test

import (
	"testing"

	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// The time of one reconfiguration after a single fault on one core, all pairs routed; New and
// Routing by themselves.
func BenchmarkMesh20x20(b *testing.B) {
	g := topologytest.Parse(b, "mesh:20x20")
	benchmark(b, xy(b, g), dqr.Options{}, "s9.9-s10.9")
}

func BenchmarkMesh20x20Vertical(b *testing.B) {
	g := topologytest.Parse(b, "mesh:20x20")
	benchmark(b, xy(b, g), dqr.Options{}, "s9.9-s9.10")
}

func BenchmarkMesh20x20Plugin(b *testing.B) {
	g := topologytest.Parse(b, "mesh:20x20")
	benchmark(b, xy(b, g), dqr.Options{Plugin: dqr.Mesh{}}, "s9.9-s10.9")
}

func BenchmarkTree648(b *testing.B) {
	g := topologytest.Parse(b, "mport-tree:36,2")
	benchmark(b, tree(b, g), dqr.Options{Path: dqr.EndToEnd, SwitchFlows: true}, "")
}

func BenchmarkTorus10x10LASH(b *testing.B) {
	g := topologytest.Parse(b, "torus:10x10")
	r, err := layered.LASH(b.Context(), g, layered.Options{})
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, r, dqr.Options{Layers: dqr.AllLayers}, "")
}

func benchmark(b *testing.B, routing *layered.Routing, o dqr.Options, link string) {
	b.Helper()
	r := begin(b, routing, o)
	dead := between(routing.Graph)[0]
	if link != "" {
		l, err := routing.Graph.LinkByName(link)
		if err != nil {
			b.Fatal(err)
		}
		dead = l.ID
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			begin(b, routing, o)
		}
	})
	b.Run("fail", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			c := r.Clone()
			b.StartTimer()
			fail(b, c, dead)
		}
	})
	b.Run("routing", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Routing(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
