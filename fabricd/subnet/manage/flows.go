package manage

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// rerouted counts the ordered pairs of different NICs whose path differs, to destinations of which
// something has changed.
func (p *planner) rerouted(old, new *layered.Routing, changed func(weft.NICID) bool) (flows int) {
	if old.Kind != layered.Deterministic {
		return 0 // a pair has many paths there
	}
	for d := range weft.NICID(len(p.g.NICs)) {
		if !changed(d) {
			continue
		}
		home, _ := p.g.SwitchOf(d)
		for s := range p.g.Switches {
			if s := weft.SwitchID(s); p.nics[s] > 0 && s != home && p.differ(old, new, s, d) {
				flows += p.nics[s]
			}
		}
	}
	return flows
}

// differ reports whether the paths of two routings from a switch to a NIC are different, of the
// first address that each has.
func (p *planner) differ(a, b *layered.Routing, s weft.SwitchID, d weft.NICID) bool {
	wa, oka := begin(a, s, d)
	wb, okb := begin(b, s, d)
	for range 2 * len(p.g.Switches) {
		if oka != okb || wa != wb {
			return true
		}
		if !oka {
			return false
		}
		oka, okb = wa.step(a, p.g, d), wb.step(b, p.g, d)
	}
	return true
}

// walk is where a packet is, and how it came there.
type walk struct {
	at    weft.SwitchID
	in    weft.PortID
	layer weft.VC
	path  uint16
}

func begin(r *layered.Routing, s weft.SwitchID, d weft.NICID) (walk, bool) {
	list := r.Assignment.Addresses(s, d)
	if len(list) == 0 {
		return walk{}, false
	}
	return walk{s, r.Injected(s), list[0].VC, list[0].Path}, true
}

// step goes to the next switch; false at the end, whichever it is.
func (w *walk) step(r *layered.Routing, g *topology.Graph, d weft.NICID) bool {
	hops := r.Tables.Choices(w.at, d, w.path, w.in, w.layer)
	if len(hops) == 0 || hops[0].Port == weft.NoPort {
		w.in = weft.NoPort // it ends before it is there
		return false
	}
	to, _, ok := g.Peer(weft.End{Node: w.at.Node(), Port: hops[0].Port})
	if !ok || !to.Node.IsSwitch() {
		return false
	}
	*w = walk{weft.SwitchID(to.Node.Index), to.Port, hops[0].In(w.layer), w.path}
	return true
}
