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
	caught(t, firmware.MisrouteVector{}.Firmware(), []broken{
		{
			name: "5 for packets from above too", rule: bouncesFromAboveToo,
			on: "kary-ntree:2,3", faults: 1,
			what: verify.Livelock, at: 1, ends: "comes back to where it was: livelock", length: 5, deadlocks: 1,
		},
		{
			name: "5 resets the vector when it sends back", rule: bounceResets,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Livelock, at: 2, ends: "comes back to where it was: livelock", length: 6,
		},
		{
			name: "forgets to clear the vector", rule: vectorNotCleared,
			on: "kary-ntree:2,3", dead: "s0.10-s1.00 s1.00-s2.00",
			what: verify.Unconnected, at: 2, ends: "6: every up port is dead or in the misroute vector", length: 7,
		},
		{
			name: "forgets to set the bit", rule: vectorNotSet,
			on: "kary-ntree:2,2", faults: 1,
			what: verify.Livelock, at: 1, ends: "comes back to where it was: livelock", length: 3,
		},
		{
			name: "sets the bit of the next port", rule: vectorOffByOne,
			on: "kary-ntree:2,2", faults: 1,
			what: verify.Livelock, at: 1, ends: "comes back to where it was: livelock", length: 5, deadlocks: 1,
		},
		{
			name: "discards although a bit is clear", rule: discardsAtSecondBit,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Unconnected, at: 2, ends: "6: too early", length: 5,
		},
	})
}

func TestAdaptiveLinkBrokenIsCaught(t *testing.T) {
	t.Parallel()
	caught(t, firmware.AdaptiveLink{}.Firmware(), []broken{
		{
			name: "2b for packets from above too", rule: bouncesFromAboveToo,
			on: "kary-ntree:2,3", faults: 1,
			what: verify.Livelock, at: 1, ends: "comes back to where it was: livelock", length: 5, deadlocks: 1,
		},
		{
			name: "2b left out: another down port for packets from below too", rule: neverBouncesLink,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Livelock, at: 2, ends: "comes back to where it was: livelock", length: 9,
		},
		{
			name: "forgets to write the vector", rule: noWrite,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Livelock, at: 2, ends: "comes back to where it was: livelock", length: 5,
		},
		{
			name: "forgets the other bits of the vector", rule: clearsOthers,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Livelock, at: 2, ends: "comes back to where it was: livelock", length: 7,
		},
		{
			name: "discards although a bit is clear", rule: discardsAtSecondBit,
			on: "kary-ntree:3,2", faults: 2,
			what: verify.Unconnected, at: 2, ends: "6: too early", length: 5,
		},
	})
}

func TestAdaptiveSwitchPrintedOrBrokenIsCaught(t *testing.T) {
	t.Parallel()
	caught(t, firmware.AdaptiveSwitch{}.Firmware(), []broken{
		{
			name: "4c: port field -1 at every leaf", rule: fourCLiteral,
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Livelock, at: 2, ends: "comes back to where it was: livelock", length: 17,
		},
		{
			name: "4c: any up port at the leaves, 5 for port field -2 only", rule: fiveOnlyMinus2,
			on: "kary-ntree:2,2", kind: verify.Any, faults: 1,
			what: verify.Livelock, at: 1, ends: "comes back to where it was: livelock", length: 5,
		},
		{
			name: "4a does not set the port field", rule: neverSetsMinus2,
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Livelock, at: 2, ends: "comes back to where it was: livelock", length: 17,
		},
		{
			name: "keeps the port field past the fault", rule: keepsPortField,
			on: "kary-ntree:3,3", dead: "s0.00-s1.00 s1.01-s2.00",
			what: verify.Unconnected, at: 2, ends: "unreachable: no rule for such an arrival, layer and header", length: 9,
		},
		{
			name: "port field off by one", rule: portFieldOffByOne,
			on: "kary-ntree:3,3", dead: "s0.00-s1.00 s0.01-s1.01",
			what: verify.Unconnected, at: 2, ends: "unreachable: no rule for such an arrival, layer and header", length: 8,
		},
		{
			name: "4d does not set the port field back to -2", rule: keepsFieldAt("4d"),
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Unconnected, at: 2, ends: "unreachable: no rule for such an arrival, layer and header", length: 9,
		},
		{
			name: "names a port that is not there", rule: fourDNoPort,
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Unconnected, at: 2, ends: "4d: back to the U-turn switch: names a port or VC that is not there",
			length: 8,
		},
		{
			name: "sets the bit of the next port", rule: vectorWrittenOffByOne,
			on: "kary-ntree:2,2", kind: verify.Any, faults: 1,
			what: verify.Livelock, at: 1, ends: "comes back to where it was: livelock", length: 5, deadlocks: 1,
		},
	})
}

func fourDNoPort(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "4d") {
		return sent(d, func(c *switching.Candidate) { c.Port = weft.NoPort })
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

func vectorWrittenOffByOne(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if t := sw.Place().Tree; d.Write.Do {
		d.Write.Value = 1 << ((t.UpIndex(at.Port) + 1) % t.Ups())
		d.Candidates = anyUp(sw, d.Write.Value, at.VC, pkt.Fields, "").Candidates
	}
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
