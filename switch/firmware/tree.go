package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// What the firmwares for trees share. The names are those of the rules in the papers: dp is the
// down port towards the destination, D the testing sequence of the up ports of a U-turn switch,
// here the order of their indices everywhere, so that it is the same in all switches of a switch
// group, as Corollary 1 of the fat-tree paper needs.

const (
	ruleDown        = "2: down"
	ruleNodeDead    = "deliver: the link to the NIC is dead"
	ruleNoUp        = "1: no live up port"
	ruleNoOtherDown = "2: no other live down port"
	ruleNoDown      = "4: no live down port"
	// ruleNever is for packets that no switch running the same firmware sends: their header is not
	// to be trusted.
	ruleNever = "unreachable: no rule for such an arrival, layer and header"
)

// firstLiveUp is the first live up port of D, starting at index from and leaving out skip, or
// NoPort.
func firstLiveUp(sw View, t *weft.Tree, from int, skip weft.PortID) weft.PortID {
	if t.Ports == nil {
		return switching.FirstUp(sw, weft.PortID(t.Down+from), weft.PortID(t.Down+t.Ups()), skip)
	}
	for j := from; j < t.Ups(); j++ {
		if p := t.Up(j); p != skip && sw.PortUp(p) {
			return p
		}
	}
	return weft.NoPort
}

// upFor is the port of rule 1: the default up port or, when that is dead, the next live one.
func upFor(sw View, t *weft.Tree, d weft.NICID) (p weft.PortID, turn switching.Turn) {
	p = t.DefaultUp(d)
	if sw.PortUp(p) {
		return p, switching.Straight
	}
	if q := firstLiveUp(sw, t, t.UpIndex(p)+1, p); q != weft.NoPort {
		return q, switching.Reroute
	}
	return firstLiveUp(sw, t, 0, p), switching.Reroute
}

// goUp is rule 1 of the deterministic firmwares: up in vc, with f for fields.
func goUp(sw View, t *weft.Tree, d weft.NICID, vc weft.VC, f *weft.Fields) Decision {
	p, turn := upFor(sw, t, d)
	rule := ruleUp
	if turn != switching.Straight {
		rule = ruleUpOther
	}
	return one(sw, p, vc, f, rule, turn, ruleNoUp)
}

// otherDown is the first live down port after dp in cyclic order (anyDown!=dp), or NoPort.
func otherDown(sw View, t *weft.Tree, dp weft.PortID) weft.PortID {
	for i := 1; i <= t.Down; i++ {
		if p := t.DownAt((t.DownIndex(dp) + i) % t.Down); p != dp && sw.PortUp(p) {
			return p
		}
	}
	return weft.NoPort
}

// anyDown is the first live down port in cyclic order that starts at the digit of d, or NoPort. It
// leads nowhere near d, which is not below this switch; the digit spreads destinations.
func anyDown(sw View, t *weft.Tree, d weft.NICID) weft.PortID {
	if p := t.DownPort(d); sw.PortUp(p) {
		return p
	}
	return otherDown(sw, t, t.DownPort(d))
}

// downs appends every live down port but except, which may be NoPort.
func downs(sw View, t *weft.Tree, except weft.PortID, vc weft.VC, f weft.Fields) []Candidate {
	c := sw.Scratch()
	for i := range t.Down {
		if p := t.DownAt(i); p != except && switching.Offer(sw, p) {
			c = append(c, Candidate{Port: p, VC: vc, Fields: f})
		}
	}
	return c
}

// ups appends every live up port whose bit in tried is not set.
func ups(sw View, t *weft.Tree, tried uint64, vc weft.VC, f weft.Fields) []Candidate {
	c := sw.Scratch()
	for j := range t.Ups() {
		if p := t.Up(j); tried>>uint(j)&1 == 0 && switching.Offer(sw, p) {
			c = append(c, Candidate{Port: p, VC: vc, Fields: f})
		}
	}
	return c
}

// bit is the bit of up port p in a vector.
func bit(t *weft.Tree, p weft.PortID) uint64 { return 1 << uint(t.UpIndex(p)) }

// aimed reports whether the port field names a down port that leads to a switch.
func aimed(t *weft.Tree, f weft.Fields) bool {
	return f.PortField >= 0 && t.DownIndex(weft.PortID(f.PortField)) >= 0 && !t.Leaf()
}

// withPort returns f with the port field set.
func withPort(f weft.Fields, port int16) weft.Fields {
	f.PortField = port
	return f
}

// only is the list of a single candidate, written where it stays.
func only(sw View, p weft.PortID, vc weft.VC, f *weft.Fields) []Candidate {
	list := append(sw.Scratch(), Candidate{})
	c := &list[0]
	c.Port, c.VC, c.Fields = p, vc, *f
	return list
}

// one is the decision for a single port, or the discard by rule none when there is no port.
func one(sw View, p weft.PortID, vc weft.VC, f *weft.Fields, rule string, turn switching.Turn, none string) Decision {
	if p == weft.NoPort {
		return switching.Discard(none)
	}
	return Decision{Candidates: only(sw, p, vc, f), Rule: rule, Turn: turn}
}

// many is the decision for every port in c, or the discard by rule none when there is none.
func many(c []Candidate, rule string, turn switching.Turn, none string) Decision {
	if len(c) == 0 {
		return switching.Discard(none)
	}
	return Decision{Candidates: c, Rule: rule, Turn: turn}
}

// adaptiveDown is what the adaptive firmwares with a vector in the switch do with a packet whose
// destination is below: down, with the fields done, else around the dead link. A packet from below
// goes back to the switch it came from, also when this is the first time it meets the fault.
func adaptiveDown(pkt *weft.Header, at Arrival, sw View, done weft.Fields) Decision {
	t := sw.Place().Tree
	dp := t.DownPort(pkt.Dst)
	above := at.From == weft.RoleUp
	switch {
	case sw.PortUp(dp):
		return switching.To(sw, dp, at.VC, done, ruleDown)
	case t.Leaf():
		return switching.Discard(ruleNodeDead)
	case !above && sw.PortUp(at.Port):
		return switching.To(sw, at.Port, at.VC, pkt.Fields, rule2b).As(switching.Reroute)
	}
	rule := rule2a
	if !above {
		rule = rule2bDied
	}
	return many(downs(sw, t, dp, at.VC, pkt.Fields), rule, switching.Reroute, ruleNoOtherDown)
}

// notify is d; if it discards, it asks to inform the packet's source, as these rules may
// (Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees, rules 4 and 5). Only
// rules that find a destination out of reach from their U-turn switch call it.
func notify(d Decision) Decision {
	d.Notify = len(d.Candidates) == 0
	return d
}

// linkTier is the tier of the link at port p, which is that of its upper end, and whether p is the
// lower end: the packet that leaves by it goes up.
func linkTier(t *weft.Tree, p weft.PortID) (s int, up bool) {
	if t.UpIndex(p) >= 0 {
		return int(t.Tier) - 1, true
	}
	return int(t.Tier), false
}

// upperDigit is the digit s of the upper end of the link at port p, s its tier: the index in D by
// which the lower end's switch group knows that upper switch.
func upperDigit(t *weft.Tree, p weft.PortID) int {
	if j := t.UpIndex(p); j >= 0 {
		return j
	}
	return t.W[t.Tier]
}
