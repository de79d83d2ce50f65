package fabric

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/fabricd/host"
)

// count calls do with what each host has told last that the ledger does not know.
func (f *Fabric) count(do func(s *host.Sum)) {
	for _, h := range *f.hosts.Load() {
		do(&h.counters.Load().all)
	}
}

// countEras does likewise with what NICs have counted per era, those of this process as of now.
func (f *Fabric) countEras(do func(s *host.Sum)) {
	f.recordLocal(host.SumRequest{Eras: true})
	f.count(do)
}

// mergeLatency adds the latencies of all NICs to h; those of hosts as they told them last.
func (f *Fabric) mergeLatency(hist *hdrhistogram.Histogram) {
	for _, h := range *f.hosts.Load() {
		h.mergeLatency(hist)
	}
}

// holdsPackets reports whether a switch of this process has packets inside.
func (f *Fabric) holdsPackets() bool { return f.local.local.HoldsPackets() }
