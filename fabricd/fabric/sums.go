package fabric

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/fabricd/host"
)

// What is counted all over the fabric is added up in one way: from the sums of hosts, see counted.

// count calls do with what each host has counted.
func (f *Fabric) count(what host.Counted, do func(s *host.Sum)) {
	for _, h := range *f.hosts.Load() {
		do(h.count(what))
	}
}

// countEras does likewise with what NICs have counted per era.
func (f *Fabric) countEras(do func(s *host.Sum)) {
	f.count(host.CountNICs|host.CountEras, do)
}

// mergeLatency adds the latencies of all NICs to h; those of hosts as they told them last.
func (f *Fabric) mergeLatency(hist *hdrhistogram.Histogram) {
	for _, h := range *f.hosts.Load() {
		h.mergeLatency(hist)
	}
}

// holdsPackets reports whether a switch has packets inside.
func (f *Fabric) holdsPackets() bool {
	return slices.ContainsFunc(*f.hosts.Load(), func(h *hostState) bool { return h.count(host.CountSwitches).Held > 0 })
}
