package fabric

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/fabricd/host"
)

// count calls do with what each host has told last that the ledger does not know.
func (f *Fabric) count(do func(s *host.Counters)) {
	for _, h := range *f.hosts.Load() {
		do(&h.counters.Load().all)
	}
}

// countGenerations does likewise with what NICs have counted per generation, those of this process
// as of now.
func (f *Fabric) countGenerations(do func(s *host.Counters)) {
	f.recordLocal(host.CountersRequest{Generations: true})
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
