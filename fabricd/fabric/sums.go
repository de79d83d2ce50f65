package fabric

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// What is counted all over the fabric is added up in one way: the nodes of this process one by one, and each part by the sum that
// it has told last. Whoever needs it of this moment has called refreshSums.

// eachSwitch calls do with what switches have counted, of a part all together.
func (f *Fabric) eachSwitch(do func(st *switching.Stats)) {
	for _, s := range f.here.switches {
		st := s.stats()
		do(&st)
	}
}

// eachNIC does likewise for NICs.
func (f *Fabric) eachNIC(do func(st *nic.Stats)) {
	for _, n := range f.here.nics {
		st := n.Stats()
		do(&st)
	}
}

// eachDiscard calls do with each rule by which switches have discarded packets, and how many; a rule may come several times.
func (f *Fabric) eachDiscard(do func(rule string, packets uint64)) {
	for _, s := range f.here.switches {
		s.discards(do)
	}
}

// eachEra calls do with what NICs have counted per era, the first of which is given.
func (f *Fabric) eachEra(do func(st *nic.Stats, first int, eras []nic.EraStats)) {
	for _, n := range f.here.nics {
		s := n.Snapshot()
		do(&s.Stats, s.FirstEra, s.Eras)
	}
}

// mergeLatency adds the latencies of all NICs to h.
func (f *Fabric) mergeLatency(h *hdrhistogram.Histogram) {
	for _, n := range f.here.nics {
		n.MergeLatency(h)
	}
}

// holding reports whether a switch has packets inside.
func (f *Fabric) holdsPackets() bool {
	for _, s := range f.here.switches {
		if s.held() > 0 {
			return true
		}
	}
	return false
}
