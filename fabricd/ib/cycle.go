package ib

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// Dependencies is which channels between switches packets of NICs can hold while they wait for
// which others, by the tables that a manager has written, and the levels that NICs know. A layer is
// a lane.
func (s *Subnet) Dependencies() *layered.Dependencies {
	f := follower{Subnet: s, Dependencies: layered.NewDependencies(s.graph, s.cfg.VLs)}
	f.seen = make([]int, f.Channels.Len()*s.cfg.VLs)
	for d := range s.graph.NICs {
		dst := weft.NICID(d)
		p := s.nicPort(dst)
		for o := range 1 << p.info.lmc() {
			if lid := p.info.lid(); lid != 0 {
				f.to(dst, lid, o)
			}
		}
	}
	return f.Dependencies
}

// follower follows packets by a LID and a level from all NICs that send by it.
type follower struct {
	*Subnet
	*layered.Dependencies
	seen []int // per channel: the walk that was there last
	walk int
}

// to follows what NICs send to a LID of another. Where all paths have one level, NICs of one switch
// are taken to be alike.
func (f *follower) to(dst weft.NICID, base, offset int) {
	begin := f.walk + 1 // a walk for each level
	f.walk += 16
	last := weft.SwitchID(len(f.graph.Switches)) // none
	for _, n := range f.graph.NICs {
		at, port := f.graph.SwitchOf(n.ID)
		sl, ok := f.paths.level(n.ID, dst, offset)
		if !ok || n.ID == dst || f.paths.alike && at == last {
			continue
		}
		last = at
		f.follow(at, int(port)+1, base+offset, sl, begin+int(sl))
	}
}

// follow follows a packet that comes into a switch by a port.
func (f *follower) follow(at weft.SwitchID, in, lid int, sl uint8, walk int) {
	for by := -1; ; {
		n := f.switchNode(at)
		out := PortRef{n, int(f.nodes[n].sw.out(lid))}
		if out.Port == 0 || !f.valid(out) || !f.carriesData(out) {
			return
		}
		p := f.port(out)
		lane := int(p.lane(in)[sl])
		if lane >= min(p.info.lanes(), f.cfg.VLs) || f.nodes[p.peer.Node].kind != typeSwitch {
			return
		}
		c := f.Channels.Number(at, weft.PortID(out.Port-1), weft.VC(lane))
		if by >= 0 {
			f.Add(by, c)
		}
		if f.seen[c] == walk {
			return
		}
		f.seen[c] = walk
		at, in, by = weft.SwitchID(p.peer.Node), p.peer.Port, c
	}
}
