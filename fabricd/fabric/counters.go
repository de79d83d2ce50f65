package fabric

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/fabricd/host"
)

// count calls do with the counters that each host told last, for those that the ledger does not
// take.
func (f *Fabric) count(do func(s *host.Counters)) {
	for _, h := range *f.hosts.Load() {
		do(&h.counters.Load().all)
	}
}

// countGenerations calls do with the counters of NICs per generation; those of this process are
// read now.
func (f *Fabric) countGenerations(do func(s *host.Counters)) {
	f.recordLocal(host.CountersRequest{Generations: true})
	f.count(do)
}

// mergeLatency adds the latencies of all NICs to h; those of other hosts as they told them last.
func (f *Fabric) mergeLatency(hist *hdrhistogram.Histogram) {
	for _, h := range *f.hosts.Load() {
		h.mergeLatency(hist)
	}
}

// holdsPackets reports whether a switch of this process has packets inside.
func (f *Fabric) holdsPackets() bool { return f.local.local.HoldsPackets() }
