package host

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Delivered is how many packets the NICs have received that were for them, for callers that ask a
// hundred times a second.
func (p *Local) Delivered() (n uint64) {
	for _, h := range p.nodes.nics {
		n += h.Stats().Delivered
	}
	return n
}

// Drivers adds up what the drivers of all nodes have done, for callers that ask several times a
// second.
func (p *Local) Drivers() (sum switchd.Stats) {
	for _, n := range p.nodes.switches {
		sum = sum.Add(n.Stats())
	}
	for _, h := range p.nodes.nics {
		sum = sum.Add(h.Driver.Stats())
	}
	return sum
}

// HoldsPackets reports whether a packet is inside a switch.
func (p *Local) HoldsPackets() bool {
	return slices.ContainsFunc(p.nodes.switches, func(n *node) (holds bool) {
		n.View(func() { holds = n.core.Held() > 0 })
		return holds
	})
}

func (s *Counters) addNIC(name string, st *nic.Stats) {
	ledger.Add(&s.Counters.NICs, st)
	if st.Wrong > 0 {
		s.discard(WrongNIC(name), st.Wrong)
	}
}

// addGenerationsOf adds the generations of a NIC.
func (s *Counters) addGenerationsOf(sn *nic.Snapshot) {
	var now nic.GenerationStats
	for _, e := range sn.Generations {
		now = addGeneration(now, e)
	}
	s.OlderGenerations = addGeneration(s.OlderGenerations, nic.GenerationStats{
		Injected: sn.Stats.Injected - now.Injected, Delivered: sn.Stats.Delivered - now.Delivered,
		Rerouted: sn.Stats.Rerouted - now.Rerouted,
	})
	s.FirstGeneration, s.Generations = addGenerations(s.FirstGeneration, s.Generations, sn.FirstGeneration,
		sn.Generations)
}

// forgetGenerations counts generations before first as older, because some NIC no longer tells them
// apart.
func (s *Counters) forgetGenerations(first int) {
	n := min(max(0, first-s.FirstGeneration), len(s.Generations))
	for _, e := range s.Generations[:n] {
		s.OlderGenerations = addGeneration(s.OlderGenerations, e)
	}
	s.FirstGeneration, s.Generations = s.FirstGeneration+n, s.Generations[n:]
}

// ReadEnd reads the end of a link as a switch's port, without the packets that wait there.
func (p *Local) ReadEnd(e weft.End) (r switching.PortReading) {
	if !e.Node.IsSwitch() {
		n := p.ReadNIC(weft.NICID(e.Node.Index))
		return switching.PortReading{Flow: n.Flow, Suppressed: n.Suppressed}
	}
	n := p.nodes.bySwitch[weft.SwitchID(e.Node.Index)]
	n.View(func() {
		_, r.Lost = n.core.PortCounters(e.Port)
		r.Flow, r.Suppressed = n.core.Flow(e.Port), n.core.Suppressed(e.Port)
	})
	return r
}

// ReadSwitch reads a switch.
func (p *Local) ReadSwitch(id weft.SwitchID, r *switching.Reading) {
	n := p.nodes.bySwitch[id]
	n.View(func() { n.core.Read(r) })
}

// ReadNIC reads a NIC.
func (p *Local) ReadNIC(id weft.NICID) (r nic.Reading) {
	p.nodes.byNIC[id].Read(&r)
	return r
}

// Holds reports whether a packet is inside a switch.
func (p *Local) Holds(id weft.SwitchID, h *weft.Header) (holds bool) {
	n := p.nodes.bySwitch[id]
	n.View(func() { holds = n.core.Holds(h.Src, h.Dst, h.Seq) })
	return holds
}

// MergeLatency adds the latencies of all NICs to h.
func (p *Local) MergeLatency(h *hdrhistogram.Histogram) {
	for _, n := range p.nodes.nics {
		n.MergeLatency(h)
	}
}

// Share makes the ends of a switch's links tell what passes on them from now on, as the ends of
// links to other hosts do: another host may run that switch for a time. What passes within this
// host stays inside.
func (p *Local) Share(id weft.SwitchID) {
	p.adder.mu.Lock()
	defer p.adder.mu.Unlock()
	n := &p.nodes
	inside := n.inside[:0]
	for _, l := range n.inside {
		if n.ends[l.a].Node != id.Node() && n.ends[l.b].Node != id.Node() {
			inside = append(inside, l)
			continue
		}
		a, b := &n.ends[l.a], &n.ends[l.b]
		a.peer, b.peer = a.placed, b.placed
		a.shared, b.shared = true, true
		n.shared = append(n.shared, l)
	}
	n.inside = inside
}
