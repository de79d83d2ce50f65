package verify_test

import (
	"strings"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestDeterministicSwitchAsPrintedIsCaught(t *testing.T) {
	t.Parallel()
	caught(t, firmware.DeterministicSwitch{}, []broken{
		{name: "4a does not set the port field", rule: neverSetsMinus2, on: "kary-ntree:2,3", kind: verify.Any, faults: 1},
		{name: "4a does not set the port field, four tiers", rule: neverSetsMinus2, on: "kary-ntree:2,4", kind: verify.Any, faults: 1},
		{name: "2a does not reset the port field", rule: neverResets, on: "kary-ntree:2,3", kind: verify.Any, faults: 1},
		{name: "2a does not reset the port field, four", rule: neverResets, on: "kary-ntree:2,4", kind: verify.Any, faults: 1},
		{name: "2a does not reset the port field, two", rule: neverResets, on: "kary-ntree:3,3", kind: verify.Any, faults: 2},
		{name: "neither", rule: neither, on: "kary-ntree:2,3", kind: verify.Any, faults: 1},
		{name: "neither4", rule: neither, on: "kary-ntree:2,4", kind: verify.Any, faults: 1},
		{name: "3b first bounce ML2", rule: firstBounceInML2, on: "kary-ntree:3,3", kind: verify.Any, faults: 2},
		{name: "3b first bounce ML2, 4,2", rule: firstBounceInML2, on: "kary-ntree:4,2", kind: verify.Any, faults: 3},
		{name: "bottom 2c NL", rule: bottomDownNL, on: "kary-ntree:3,2", kind: verify.Any, faults: 2},
		{name: "bottom 2c NL 4,2", rule: bottomDownNL, on: "kary-ntree:4,2", kind: verify.Any, faults: 3},
		{name: "bottom 3b ML2", rule: bottomBounceML2, on: "kary-ntree:3,2", kind: verify.Any, faults: 2},
		{name: "bottom 3b ML2 4,2", rule: bottomBounceML2, on: "kary-ntree:4,2", kind: verify.Any, faults: 3},
		{name: "bottom 3b ML2 3,3", rule: bottomBounceML2, on: "kary-ntree:3,3", kind: verify.Any, faults: 2},
		{name: "bottom all", rule: bottomLiteral, on: "kary-ntree:3,2", kind: verify.Any, faults: 2},
		{name: "bottom all 4,2", rule: bottomLiteral, on: "kary-ntree:4,2", kind: verify.Any, faults: 3},
		{name: "4bi stays NL", rule: uturnLayerNL, on: "kary-ntree:3,3", kind: verify.Any, faults: 2},
		{name: "4bi stays NL 3,2", rule: uturnLayerNL, on: "kary-ntree:3,2", kind: verify.Any, faults: 2},
	})
}

// literally is the real firmware for packets that it never makes, but a firmware with a rule as printed does: one in a
// re-routing layer without a port field is one of the normal layer to the rules that do not name a layer.
func literally(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if !strings.HasPrefix(d.Rule, "unreachable") {
		return d
	}
	if pkt.PortField == weft.PortFieldNone {
		at.VC = nl
		return real(pkt, at, sw)
	}
	return d
}

func neverSetsMinus2(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := literally(real, pkt, at, sw)
	if fired(d, "4a") {
		return withPortField(d, weft.PortFieldNone)
	}
	return d
}

func neverResets(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := literally(real, pkt, at, sw)
	if sw.Place().Tree.HasDown(pkt.Dst) {
		return withPortField(d, pkt.PortField)
	}
	return d
}

func neither(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := literally(real, pkt, at, sw)
	if fired(d, "4a") {
		return withPortField(d, weft.PortFieldNone)
	}
	if sw.Place().Tree.HasDown(pkt.Dst) {
		return withPortField(d, pkt.PortField)
	}
	return d
}

func firstBounceInML2(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := literally(real, pkt, at, sw)
	if fired(d, "3: first bounce, back") {
		return inLayer(d, ml2)
	}
	return d
}

func bottomDownNL(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := literally(real, pkt, at, sw)
	if fired(d, "2: down, past the fault just") {
		return inLayer(d, nl)
	}
	return d
}

func bottomBounceML2(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if t := sw.Place().Tree; turns(pkt, at, sw) && t.Leaf() && at.VC == ml2 {
		at.VC = ml1 // it has made a U-turn here
	}
	d := real(pkt, at, sw)
	if fired(d, "3b") && at.VC == ml1 {
		return inLayer(d, ml2)
	}
	return d
}

func bottomLiteral(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := bottomBounceML2(real, pkt, at, sw)
	if fired(d, "2: down, past the fault just") {
		return inLayer(d, nl)
	}
	return d
}

func uturnLayerNL(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := literally(real, pkt, at, sw)
	if fired(d, "4b.i:") {
		return inLayer(d, nl)
	}
	return d
}
