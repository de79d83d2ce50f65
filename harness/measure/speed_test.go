package measure

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/virtual"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/firmware/wasm"
)

// The networks of docs/explanation/performance.md, as scenarios/papers/booksim compares them: every
// delay a cycle, every credit returned at once. Loads are shares of a link, the second at
// saturation; the torus is measured near it.

func BenchmarkFatTree64(b *testing.B) { benchmark(b, "kary-ntree:4,3", "updown", 0.1, 1) }
func BenchmarkMesh64(b *testing.B)    { benchmark(b, "mesh:8x8", "dimension-order", 0.1, 0.5) }
func BenchmarkTorus512(b *testing.B)  { benchmark(b, "torus:8x8x8", "dimension-order", 0.1, 0.4) }

// BenchmarkLarge is of networks that are more than a processor's cache holds.
func BenchmarkLarge(b *testing.B) {
	for _, c := range []struct {
		spec, routing string
		load          float64
	}{{"torus:16x16x16", "dimension-order", 0.3}, {"mport-tree:36,3", "updown", 0.1}} {
		b.Run(c.spec, func(b *testing.B) { benchmark(b, c.spec, c.routing, c.load) })
	}
}

// benchmark measures the CPU time of a packet-hop once the network is warm, and what of it is
// events.
func benchmark(b *testing.B, spec, routing string, loads ...float64) {
	for _, load := range loads {
		b.Run(fmt.Sprintf("load=%v", load), func(b *testing.B) {
			measureRun(b, running(b, config(b, spec, routing, load)))
		})
	}
}

func measureRun(b *testing.B, r *run) {
	b.ReportAllocs()
	const step = 100 // cycles
	hops, events, cpu := r.totals().hops, r.engine.Events(), testenv.CPU().Seconds()
	for b.Loop() {
		r.engine.Run(r.time(r.cycle() + step))
	}
	cpu = testenv.CPU().Seconds() - cpu
	n := float64(r.totals().hops - hops)
	b.ReportMetric(cpu/n*1e9, "cpu-ns/hop")
	b.ReportMetric(n/cpu/1e6, "Mhops/cpu-s")
	b.ReportMetric(float64(r.engine.Events()-events)/n, "events/hop")
}

// The same fat tree with firmware in WebAssembly, beside the built-in one that it is written after.
func BenchmarkFatTree64InWebAssembly(b *testing.B) {
	for _, load := range []float64{0.1, 1} {
		for file, name := range map[string]string{
			"deterministic_link": "deterministic-link", "adaptive_link": "adaptive-link",
		} {
			m, err := wasm.Open(b.Context(), "../../switch/firmware/examples/c/"+file+".wasm", "")
			require.NoError(b, err)
			builtin, _ := firmware.ByName(name)
			for _, fw := range []switching.Firmware{builtin, m.Firmware()} {
				b.Run(fmt.Sprintf("load=%v/%s", load, fw.Name), func(b *testing.B) {
					c := config(b, "kary-ntree:4,3", name, load)
					c.Firmware, c.Switch.VCs = fw, fw.NeedsVCs()
					measureRun(b, running(b, c))
				})
			}
			require.NoError(b, m.Close(b.Context()))
		}
	}
}

// running is a run some 2000 cycles on its way.
func running(t testing.TB, c Config) *run {
	c.Cycle, c.WireDelay, c.RoutingDelay, c.CrossbarDelay, c.Switch.EagerCredits = cycle, cycle, cycle, cycle, true
	n, err := build(t.Context(), c.Filled())
	require.NoError(t, err)
	require.NoError(t, n.start())
	r := &run{network: n}
	r.open()
	n.engine.Run(r.time(2000))
	return r
}

// Memory of a switch with its place in the engine, its packets' buffers included.
func BenchmarkSwitchMemory(b *testing.B) {
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:36,3"} {
		b.Run(spec, func(b *testing.B) {
			c := config(b, spec, "deterministic-link", 0).Filled()
			n := newNetwork(c)
			require.NoError(b, n.chooseFirmware(b.Context()))
			for b.Loop() {
				before := heap()
				require.NoError(b, n.addSwitches())
				b.ReportMetric(float64(heap()-before)/float64(len(n.switches)), "bytes/switch")
				n.switches, n.switchNodes, n.engine = nil, nil, virtual.New(virtual.Config{})
			}
		})
	}
}

// heap is how many bytes are reachable.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// One run of 4,096 switches, by one goroutine and by two: wall time.
func BenchmarkTwoCores(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			c := config(b, "torus:16x16x16", "dimension-order", 0.3)
			c.Workers = workers
			measureRun(b, running(b, c))
		})
	}
}
