package subnet_test

import (
	"iter"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// fabric is every switch of a topology standing still, with some elements dead.
type fabric struct {
	g    *topology.Graph
	at   []switching.Still
	dead subnet.Dead
}

func newFabric(g *topology.Graph) *fabric {
	f := &fabric{g: g, at: make([]switching.Still, len(g.Switches))}
	for i := range f.at {
		f.at[i].At = g.Place(weft.SwitchID(i))
	}
	return f
}

// kill takes a link down, or brings it up again.
func (f *fabric) kill(l topology.Link, dead bool) {
	if dead {
		f.dead.AddLink(l.ID)
	} else {
		f.dead.RemoveLink(l.ID)
	}
	f.see(l)
}

// crash kills a switch, or repairs it.
func (f *fabric) crash(s weft.SwitchID, dead bool) {
	if dead {
		f.dead.AddSwitch(s)
	} else {
		f.dead.RemoveSwitch(s)
	}
	for _, l := range f.g.Links {
		if l.A.Node == s.Node() || l.B.Node == s.Node() {
			f.see(l)
		}
	}
}

// see lets both ends of a link know whether it works.
func (f *fabric) see(l topology.Link) {
	for _, e := range []weft.End{l.A, l.B} {
		if !e.Node.IsSwitch() {
			continue
		}
		if at := &f.at[e.Node.Index]; broken(&f.dead, l) {
			at.Dead.Add(e.Port)
		} else {
			at.Dead.Remove(e.Port)
		}
	}
}

// broken is what Dead.Cuts should say.
func broken(dead *subnet.Dead, l topology.Link) bool {
	for _, e := range []weft.End{l.A, l.B} {
		if e.Node.IsSwitch() && dead.HasSwitch(weft.SwitchID(e.Node.Index)) {
			return true
		}
	}
	return dead.HasLink(l.ID)
}

// walk is where a packet came by and what became of it.
type walk struct {
	ups, downs int
	upAgain    bool   // up after it came down
	lost       string // why it was not delivered to its destination; "" if it was
}

// send follows a packet of a firmware that names one candidate at most.
func (f *fabric) send(fw firmware.Firmware, src, dst weft.NICID) walk {
	return f.forward(fw, weft.Header{Src: src, Dst: dst, Fields: weft.NewFields()})
}

// forward is send with a header of one's own.
func (f *fabric) forward(fw firmware.Firmware, pkt weft.Header) (w walk) {
	dst := pkt.Dst
	s, p := f.g.SwitchOf(pkt.Src)
	for w.ups+w.downs < 1000 {
		at := &f.at[s]
		d := fw.Route(&pkt, switching.Arrival{Port: p, VC: pkt.VC, From: at.At.Roles[p]}, at)
		if len(d.Candidates) != 1 {
			w.lost = d.Rule
			return w
		}
		c := d.Candidates[0]
		if !at.PortUp(c.Port) {
			w.lost = "by a dead port"
			return w
		}
		pkt.VC, pkt.Fields = c.VC, c.Fields
		peer, _, _ := f.g.Peer(weft.End{Node: s.Node(), Port: c.Port})
		if !peer.Node.IsSwitch() {
			if peer.Node != dst.Node() {
				w.lost = "delivered to " + f.g.Name(peer.Node)
			}
			return w
		}
		if at.At.Roles[c.Port] == weft.RoleUp {
			w.ups++
			w.upAgain = w.upAgain || w.downs > 0
		} else {
			w.downs++
		}
		s, p = weft.SwitchID(peer.Node.Index), peer.Port
	}
	w.lost = "still under way"
	return w
}

// pairs are all ordered pairs of different NICs.
func pairs(g *topology.Graph) iter.Seq2[weft.NICID, weft.NICID] {
	return func(yield func(src, dst weft.NICID) bool) {
		for src := range weft.NICID(len(g.NICs)) {
			for dst := range weft.NICID(len(g.NICs)) {
				if src != dst && !yield(src, dst) {
					return
				}
			}
		}
	}
}

// faultSets calls each with every set of at most most links between switches dead.
func (f *fabric) faultSets(most int, each func()) {
	var links []topology.Link
	for _, l := range f.g.Links {
		if l.BetweenSwitches() {
			links = append(links, l)
		}
	}
	var pick func(from, left int)
	pick = func(from, left int) {
		each()
		if left == 0 {
			return
		}
		for i := from; i < len(links); i++ {
			f.kill(links[i], true)
			pick(i+1, left-1)
			f.kill(links[i], false)
		}
	}
	pick(0, most)
}
