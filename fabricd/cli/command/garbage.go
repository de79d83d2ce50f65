package command

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// A fabric allocates little but steadily. While it is small, garbage is collected at five times
// what lives instead of twice, which saves a twentieth of the CPU of a live one; in a large one no
// more than so much gathers, or a quarter of what lives. Chosen by measuring.
const (
	mostPercent  = 400
	leastPercent = 25

	LiveGarbage    = 256 << 20
	VirtualGarbage = 32 << 20 // hardly any comes once a network is built
)

var (
	mostGarbage atomic.Uint64
	bounding    sync.Once
)

// BoundGarbage has no more garbage gather, from now on, than suits a fabric that is live or in
// virtual time. GOGC in the environment overrides it.
func BoundGarbage(most uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	mostGarbage.Store(most)
	bounding.Do(func() { runtime.SetFinalizer(new(collected), (*collected).again) })
	boundGarbage()
}

// collected is found to be garbage by each collection.
type collected struct{ _ *collected }

func (*collected) again() {
	boundGarbage()
	runtime.SetFinalizer(new(collected), (*collected).again)
}

// boundGarbage sets when garbage is collected next.
func boundGarbage() {
	live := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"},
	}
	metrics.Read(live)
	sum := uint64(0) // as the collector counts
	for _, s := range live {
		sum += s.Value.Uint64()
	}
	debug.SetGCPercent(percentFor(sum, mostGarbage.Load()))
}

// percentFor is the GOGC for so many bytes that live, and so many of garbage.
func percentFor(live, garbage uint64) int {
	return int(max(leastPercent, min(mostPercent, 100*garbage/max(1, live))))
}
