package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A live fabric allocates little but steadily. While it is small, garbage is collected at five times
// what lives instead of twice, which saves a twentieth of the CPU; a large one lets no more than
// mostGarbage gather, or a quarter of what lives. Chosen by measuring.
const (
	gcPercent   = 400
	leastGC     = 25
	mostGarbage = 256 << 20
)

// collected is found to be garbage by each collection.
type collected struct{ _ *collected }

// boundGarbage sets when garbage is collected next, now and after each collection.
func boundGarbage() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(live)
	sum := uint64(1) // as the collector counts
	for _, s := range live {
		sum += s.Value.Uint64()
	}
	debug.SetGCPercent(int(max(leastGC, min(gcPercent, 100*mostGarbage/sum))))
	runtime.SetFinalizer(new(collected), func(*collected) { boundGarbage() })
}
