package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// What the firmwares for trees share. The names are those of the rules in the papers: dp is the down port towards the
// destination, D the testing sequence of the up ports of a U-turn switch, here the order of their indices everywhere, so
// that it is the same in all switches of a switch group, as Corollary 1 of the fat-tree paper needs.

const (
	ruleDown        = "2: down"
	ruleNodeDead    = "deliver: the link to the NIC is dead"
	ruleNoUp        = "1: no live up port"
	ruleNoOtherDown = "2: no other live down port"
)

// defaultUp is the up port a packet for d takes from this switch without faults: the digit of d that the way down no longer
// needs (d mod k at the leaves, and so on upwards). All packets for d meet at one top switch, and the destinations are
// spread evenly over the top switches and their links.
func defaultUp(t *weft.Tree, d weft.NICID) weft.PortID {
	return t.Up(int(uint32(d)/t.Below) % t.K)
}

// firstLiveUp is the first live up port of D, starting at index from and leaving out skip, or NoPort.
func firstLiveUp(sw View, t *weft.Tree, from int, skip weft.PortID) weft.PortID {
	for j := from; j < t.Ups(); j++ {
		if p := t.Up(j); p != skip && sw.PortUp(p) {
			return p
		}
	}
	return weft.NoPort
}

// upFor is the port of rule 1: the default up port or, when that is dead, the next live one.
func upFor(sw View, t *weft.Tree, d weft.NICID) (p weft.PortID, turn switching.Turn) {
	p = defaultUp(t, d)
	if sw.PortUp(p) {
		return p, switching.Straight
	}
	if q := firstLiveUp(sw, t, t.UpIndex(p)+1, p); q != weft.NoPort {
		return q, switching.Reroute
	}
	return firstLiveUp(sw, t, 0, p), switching.Reroute
}

// otherDown is the first live down port after dp in cyclic order (anyDown!=dp), or NoPort.
func otherDown(sw View, t *weft.Tree, dp weft.PortID) weft.PortID {
	for i := 1; i < t.Down; i++ {
		if p := weft.PortID((int(dp) + i) % t.Down); sw.PortUp(p) {
			return p
		}
	}
	return weft.NoPort
}

// otherDowns appends every live down port but dp.
func otherDowns(sw View, t *weft.Tree, dp weft.PortID, vc weft.VC, f weft.Fields) []Candidate {
	c := sw.Scratch()
	for i := range t.Down {
		if p := weft.PortID(i); p != dp && sw.PortUp(p) {
			c = append(c, Candidate{Port: p, VC: vc, Fields: f})
		}
	}
	return c
}

// ups appends every live up port whose bit in tried is not set.
func ups(sw View, t *weft.Tree, tried uint64, vc weft.VC, f weft.Fields) []Candidate {
	c := sw.Scratch()
	for j := range t.Ups() {
		if p := t.Up(j); tried>>uint(j)&1 == 0 && sw.PortUp(p) {
			c = append(c, Candidate{Port: p, VC: vc, Fields: f})
		}
	}
	return c
}

// one is the decision for a single port, or the discard by rule none when there is no port.
func one(sw View, p weft.PortID, vc weft.VC, pkt *weft.Header, rule string, turn switching.Turn, none string) Decision {
	if p == weft.NoPort {
		return switching.Discard(none)
	}
	return switching.To(sw, p, vc, pkt.Fields, rule).As(turn)
}

// notify is d; if it discards and the firmware was told to, it is to inform the packet's source. Only rules that find a
// destination out of reach from their U-turn switch call it: those of which the papers say that they may inform.
func notify(d Decision, told bool) Decision {
	d.Notify = told && len(d.Candidates) == 0
	return d
}
