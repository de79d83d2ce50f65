package fabric

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/fabricd/part"
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
	for _, p := range f.parts {
		do(&p.known.Load().all.Counters.Switches)
	}
}

// eachNIC does likewise for NICs.
func (f *Fabric) eachNIC(do func(st *nic.Stats)) {
	for _, n := range f.here.nics {
		st := n.Stats()
		do(&st)
	}
	for _, p := range f.parts {
		do(&p.known.Load().all.Counters.NICs)
	}
}

// eachDiscard calls do with each rule by which switches and NICs have discarded packets, and how many; a rule may come several times.
func (f *Fabric) eachDiscard(do func(rule string, packets uint64)) {
	for _, s := range f.here.switches {
		s.discards(do)
	}
	for _, n := range f.here.nics {
		if wrong := n.Stats().Wrong; wrong > 0 {
			do(part.WrongNIC(f.graph.NICs[n.id].Name), wrong)
		}
	}
	for _, p := range f.parts {
		for _, r := range p.known.Load().all.Discards {
			do(r.Name, r.Packets)
		}
	}
}

// eachEra calls do with what NICs have counted per era, the first of which is given.
func (f *Fabric) eachEra(do func(st *nic.Stats, first int, eras []nic.EraStats)) {
	for _, n := range f.here.nics {
		s := n.Snapshot()
		do(&s.Stats, s.FirstEra, s.Eras)
	}
	f.refreshParts(part.SumRequest{Eras: true})
	for _, p := range f.parts {
		s := &p.known.Load().all
		do(&s.Counters.NICs, s.FirstEra, s.Eras)
	}
}

// mergeLatency adds the latencies of all NICs to h; those of parts as they told them last.
func (f *Fabric) mergeLatency(h *hdrhistogram.Histogram) {
	for _, n := range f.here.nics {
		n.MergeLatency(h)
	}
	for _, p := range f.parts {
		p.mergeLatency(h)
	}
}

// holdsPackets reports whether a switch has packets inside.
func (f *Fabric) holdsPackets() bool {
	for _, s := range f.here.switches {
		if s.held() > 0 {
			return true
		}
	}
	return slices.ContainsFunc(f.parts, func(p *outpost) bool { return p.known.Load().all.Held > 0 })
}

// mergeLatency adds the latencies of the part's NICs to h.
func (p *outpost) mergeLatency(h *hdrhistogram.Histogram) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pastLatency != nil {
		h.Merge(p.pastLatency)
	}
	data := p.known.Load().own.Latency
	if data == nil {
		return
	}
	l, err := part.DecodeLatency(data)
	if err != nil {
		p.fabric.opts.Log.Warn("a part's latencies", "part", p.name, "err", err)
		return
	}
	h.Merge(l)
}
