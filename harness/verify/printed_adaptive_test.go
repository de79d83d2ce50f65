package verify_test

import (
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestMisrouteVectorPrintedOrBrokenIsCaught(t *testing.T) {
	t.Parallel()
	caught(t, firmware.MisrouteVector{}, []broken{
		{name: "5 for packets from any switch below", rule: alwaysBounces, on: "kary-ntree:3,3", faults: 2},
		{name: "5 for packets from above too", rule: bouncesFromAboveToo, on: "kary-ntree:2,3", faults: 1},
		{name: "5 for none: 2 also for packets from a U-turn switch", rule: neverBounces, on: "kary-ntree:3,2", faults: 2},
		{name: "5 resets the vector when it sends back", rule: bounceResets, on: "kary-ntree:3,2", faults: 2},
		{name: "forgets to clear the vector", rule: vectorNotCleared, on: "kary-ntree:3,3", faults: 2},
		{name: "forgets to clear the vector (groups)", rule: vectorNotCleared, on: "kary-ntree:2,3", dead: "s0.00-s1.00 s1.00-s2.00"},
		{name: "forgets to clear the vector (groups 4)", rule: vectorNotCleared, on: "kary-ntree:2,3", dead: "s0.00-s1.00 s1.10-s2.10"},
		{name: "forgets to set the bit", rule: vectorNotSet, on: "kary-ntree:3,2", faults: 2},
		{name: "forgets to set the bit k=2", rule: vectorNotSet, on: "kary-ntree:2,2", faults: 1},
		{name: "sets the bit of the next port", rule: vectorOffByOne, on: "kary-ntree:2,2", faults: 1},
		{name: "one clear bit is not enough", rule: discardsAtSecondBit, on: "kary-ntree:3,2", faults: 2},
		{name: "names dead ports too", rule: deadUps, on: "kary-ntree:2,2", faults: 1},
		{name: "names dead ports too 3", rule: deadUps, on: "kary-ntree:3,2", faults: 2},
	})
}

func TestAdaptiveLinkPrintedOrBrokenIsCaught(t *testing.T) {
	t.Parallel()
	caught(t, firmware.AdaptiveLink{}, []broken{
		{name: "vector consulted up", rule: vectorConsultedUp, on: "kary-ntree:2,3", faults: 1},
		{name: "vector consulted up 3", rule: vectorConsultedUp, on: "kary-ntree:3,3", faults: 2},
		{name: "2b left out", rule: neverBouncesLink, on: "kary-ntree:3,2", faults: 2},
		{name: "does not write", rule: noWrite, on: "kary-ntree:2,2", faults: 1},
		{name: "does not write 3", rule: noWrite, on: "kary-ntree:3,2", faults: 2},
		{name: "clears", rule: clearsOthers, on: "kary-ntree:3,2", faults: 2},
		{name: "early", rule: discardsAtSecondBit, on: "kary-ntree:3,2", faults: 2},
		{name: "bounces up", rule: bouncesFromAboveToo, on: "kary-ntree:2,3", faults: 1},
	})
}

func TestAdaptiveSwitchPrintedOrBrokenIsCaught(t *testing.T) {
	t.Parallel()
	any := verify.Any
	caught(t, firmware.AdaptiveSwitch{}, []broken{
		{name: "4c: port field -1 at every leaf", rule: fourCLiteral, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "4c: any up port at the leaf (5 for -2 only)", rule: fiveOnlyMinus2, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "4c: any up port at the leaf (5 for -2 only) 3,2", rule: fiveOnlyMinus2, on: "kary-ntree:3,2", kind: any, faults: 2},
		{name: "7 -2 only", rule: sevenOnlyMinus2, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "4c both", rule: fourCBoth, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "keeps the port field", rule: keepsPortField, on: "kary-ntree:2,3", kind: any, faults: 1},
		{name: "keeps the port field 3", rule: keepsPortField, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "keeps the port field 24", rule: keepsPortField, on: "kary-ntree:2,4", kind: any, faults: 1},
		{name: "port field off by one", rule: portFieldOff, lopsided: true, on: "kary-ntree:2,3", kind: any, faults: 1},
		{name: "port field off by one 3", rule: portFieldOff, lopsided: true, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "port field off no wrap", rule: portFieldOffNoWrap, lopsided: true, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "4a leaves -1", rule: neverSetsMinus2, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "4d keeps", rule: fourDKeeps, on: "kary-ntree:3,3", kind: any, faults: 2},
	})
}

func TestDeterministicSwitchBrokenIsCaught(t *testing.T) {
	t.Parallel()
	any := verify.Any
	caught(t, firmware.DeterministicSwitch{}, []broken{
		{name: "D differs", rule: differentDSwitch, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "D differs leaf", rule: differentDSwitch, on: "kary-ntree:3,2", kind: any, faults: 2},
		{name: "D differs, 4,2", rule: differentDSwitch, on: "kary-ntree:4,2", kind: any, faults: 3},
		{name: "port field off by one", rule: portFieldOff, lopsided: true, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "port field off by one no wrap", rule: portFieldOffNoWrap, lopsided: true, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "5 stays ML1", rule: layerOf("5", ml1), on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "2b stays ML2", rule: layerOf("2b", ml2), on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "2b stays ML2 4", rule: layerOf("2b", ml2), on: "kary-ntree:3,4", dead: "s0.002-s1.002 s2.002-s3.000"},
		{name: "2c stays ML1 4", rule: layerOf("2c", ml1), on: "kary-ntree:3,4", dead: "s0.002-s1.002 s2.002-s3.000"},
		{name: "2c stays ML1", rule: layerOf("2c", ml1), on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "3a.i stays ML2", rule: layerOf("3a.i:", ml2), on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "3a.ii stays ML1", rule: stays3aii, on: "kary-ntree:3,3", kind: any, faults: 2},
		{name: "3a.ii stays ML1 34", rule: stays3aii, on: "kary-ntree:3,4", dead: "s0.002-s1.002 s2.002-s3.000"},
		{name: "4c stays ML2", rule: layerOf("4c", ml2), on: "kary-ntree:3,3", kind: any, faults: 2},
	})
}

func layerOf(name string, vc weft.VC) rule {
	return func(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := literally(real, pkt, at, sw)
		if fired(d, name) {
			return inLayer(d, vc)
		}
		return d
	}
}

func stays3aii(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := literally(real, pkt, at, sw)
	if fired(d, "3a.ii") {
		return inLayer(d, at.VC)
	}
	return d
}

func differentDSwitch(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if !fired(d, "4b") {
		return d
	}
	return uturnBy(sw, at, pkt.Fields, orderOf(sw.Place().Tree), at.VC == ml1, ml1)
}

func portFieldOff(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "5:", "6:") {
		return withPortField(d, int16((int(at.Port)+1)%sw.Place().Tree.Down))
	}
	return d
}

func portFieldOffNoWrap(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "5:", "6:") {
		return withPortField(d, int16(at.Port)+1)
	}
	return d
}

func fourDKeeps(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "4d") {
		return withPortField(d, pkt.PortField)
	}
	return d
}

func keepsPortField(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if sw.Place().Tree.HasDown(pkt.Dst) {
		return withPortField(d, pkt.PortField)
	}
	return d
}

func fourCLiteral(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if turns(pkt, at, sw) && sw.Place().Tree.Leaf() {
		return withPortField(d, weft.PortFieldNone)
	}
	return d
}

func fiveOnlyMinus2(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if turns(pkt, at, sw) && sw.Place().Tree.Leaf() && pkt.PortField == weft.PortFieldNone {
		d.Candidates = anyUp(sw, 0, nl, pkt.Fields, "").Candidates
	}
	return d
}

func sevenOnlyMinus2(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "7") && pkt.PortField == weft.PortFieldNone {
		d.Candidates = anyUp(sw, 0, nl, pkt.Fields, "").Candidates
	}
	return d
}

func fourCBoth(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if turns(pkt, at, sw) && sw.Place().Tree.Leaf() {
		f := pkt.Fields
		f.PortField = weft.PortFieldNone
		d.Candidates = anyUp(sw, 0, nl, f, "").Candidates
	}
	return d
}

func vectorConsultedUp(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if !sw.Place().Tree.HasDown(pkt.Dst) && at.From != weft.RoleUp {
		return anyUp(sw, sw.Register(0), at.VC, pkt.Fields, "1: an up port not in the vector")
	}
	return real(pkt, at, sw)
}

func neverBouncesLink(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if meets(pkt, sw) {
		return anyDown(sw, sw.Place().Tree.DownPort(pkt.Dst), at.VC, pkt.Fields, "2a from below too")
	}
	return real(pkt, at, sw)
}

func noWrite(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	d.Write.Do = false
	return d
}

func clearsOthers(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if d.Write.Do {
		d.Write.Value = 1 << sw.Place().Tree.UpIndex(at.Port)
	}
	return d
}

func alwaysBounces(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if meets(pkt, sw) && at.From != weft.RoleUp && sw.PortUp(at.Port) {
		return switching.To(sw, at.Port, at.VC, pkt.Fields, "5: back")
	}
	return real(pkt, at, sw)
}

func bouncesFromAboveToo(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if meets(pkt, sw) && sw.PortUp(at.Port) {
		return switching.To(sw, at.Port, at.VC, pkt.Fields, "5: back")
	}
	return real(pkt, at, sw)
}

func neverBounces(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if meets(pkt, sw) {
		return anyDown(sw, sw.Place().Tree.DownPort(pkt.Dst), at.VC, pkt.Fields, "2: any other down port")
	}
	return real(pkt, at, sw)
}

func bounceResets(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "5") {
		return sent(d, func(c *switching.Candidate) { c.Fields.Misroute = 0 })
	}
	return d
}

func vectorNotCleared(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if sw.Place().Tree.HasDown(pkt.Dst) {
		return sent(d, func(c *switching.Candidate) { c.Fields.Misroute = pkt.Misroute })
	}
	return d
}

func vectorNotSet(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if turns(pkt, at, sw) {
		return anyUp(sw, pkt.Misroute, at.VC, pkt.Fields, "4: the bit is not set")
	}
	return real(pkt, at, sw)
}

func vectorOffByOne(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if t := sw.Place().Tree; turns(pkt, at, sw) {
		f := pkt.Fields
		f.Misroute |= 1 << ((t.UpIndex(at.Port) + 1) % t.Ups())
		return anyUp(sw, f.Misroute, at.VC, f, "4: the next port's bit is set")
	}
	return real(pkt, at, sw)
}

func discardsAtSecondBit(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	tried := pkt.Misroute
	if d.Write.Do {
		tried = d.Write.Value &^ (1 << sw.Place().Tree.UpIndex(at.Port))
	}
	if turns(pkt, at, sw) && tried != 0 {
		return switching.Discard("6: too early")
	}
	return d
}

func deadUps(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if t := sw.Place().Tree; turns(pkt, at, sw) {
		f := pkt.Fields
		f.Misroute |= 1 << t.UpIndex(at.Port)
		d.Candidates = sw.Scratch()
		for j := range t.Ups() {
			if f.Misroute>>j&1 == 0 {
				d.Candidates = append(d.Candidates, switching.Candidate{Port: t.Up(j), VC: at.VC, Fields: f})
			}
		}
	}
	return d
}
