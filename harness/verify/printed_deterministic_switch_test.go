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
	caught(t, firmware.DeterministicSwitch{}.Firmware(), []broken{
		{
			name: "4a does not set the port field", rule: neverSetsMinus2,
			on: "kary-ntree:2,3", kind: verify.Any, faults: 1,
			what: verify.Numbering, at: 1, ends: "a packet goes from a channel numbered 16 to one numbered 1", length: 2,
		},
		{
			name: "4a does not set the port field, more faults", rule: neverSetsMinus2,
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Numbering, at: 1, ends: "a packet goes from a channel numbered 20 to one numbered 1", length: 2,
			deadlocks: 2,
		},
		{
			name: "2a does not reset the port field", rule: keepsPortField,
			on: "kary-ntree:3,3", dead: "s0.00-s1.00 s1.01-s2.00",
			what: verify.Unconnected, at: 2, ends: "unreachable: no rule for such an arrival, layer and header", length: 9,
		},
		{
			name: "3b in ML2 for the first bounce", rule: firstBounceInML2,
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Numbering, at: 1, ends: "a packet goes from a channel numbered 18 to one numbered 15", length: 2,
			deadlocks: 2,
		},
		{
			name: "3b in ML2 after a U-turn at the leaves", rule: leafBounceInML2,
			on: "kary-ntree:3,2", kind: verify.Any, faults: 2,
			what: verify.Numbering, at: 2, ends: "a packet goes from a channel numbered 17 to one numbered 10", length: 2,
		},
		{
			name: "2c down in NL after a U-turn at the leaves", rule: layerOf("2: down, past the fault just", nl),
			on: "kary-ntree:4,2", kind: verify.Any, faults: 3,
			what: verify.Numbering, at: 1, ends: "a packet goes from a channel numbered 6 to one numbered 1", length: 2,
			deadlocks: 3,
		},
		{
			name: "4b.i stays in NL", rule: layerOf("4b.i:", nl),
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Unconnected, at: 1, ends: "unreachable: no rule for such an arrival, layer and header", length: 6,
			deadlocks: 2,
		},
		{
			name: "4b.i stays in NL, two tiers", rule: layerOf("4b.i:", nl),
			on: "kary-ntree:3,2", kind: verify.Any, faults: 2,
			what: verify.Numbering, at: 1, ends: "a packet goes from a channel numbered 1 to one numbered 0", length: 2,
			deadlocks: 2,
		},
		{
			name: "all to the letter", rule: switchToTheLetter,
			on: "kary-ntree:2,3", kind: verify.Any, faults: 1,
			what: verify.Unconnected, at: 1, ends: "4b: no rule for ML2", length: 3,
		},
		{
			name: "all to the letter, two tiers", rule: switchToTheLetter,
			on: "kary-ntree:2,2", kind: verify.Any, faults: 1,
			what: verify.Unconnected, at: 1, ends: "4b: no rule for ML2", length: 3,
		},
	})
}

func TestDeterministicSwitchBrokenIsCaught(t *testing.T) {
	t.Parallel()
	caught(t, firmware.DeterministicSwitch{}.Firmware(), []broken{
		{
			name: "D differs within a switch group", rule: differentDSwitch,
			on: "kary-ntree:3,3", dead: "s1.00-s2.00 s1.02",
			what: verify.Unconnected, at: 2, ends: "next of D: none left", length: 9,
		},
		{
			name: "port field off by one", rule: portFieldOffByOne,
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Unconnected, at: 2, ends: "unreachable: no rule for such an arrival, layer and header", length: 8,
		},
		{
			name: "transition left out: 5 stays in ML1", rule: layerOf("5:", ml1),
			on: "kary-ntree:3,3", kind: verify.Any, faults: 2,
			what: verify.Numbering, at: 1, ends: "a packet goes from a channel numbered 20 to one numbered 3", length: 2,
			deadlocks: 2,
		},
		{
			name: "transition left out: 2b stays in ML2", rule: layerOf("2b", ml2),
			on: "kary-ntree:3,4", dead: "s0.002-s1.002 s2.002-s3.000",
			what: verify.Unconnected, at: 2, ends: "4b.iii: every up port of D has been tried", length: 11,
		},
		{
			name: "transition left out: 3a.i stays in ML2", rule: layerOf("3a.i:", ml2),
			on: "kary-ntree:3,3", dead: "s0.00-s1.00 s1.01-s2.00",
			what: verify.Numbering, at: 2, ends: "a packet goes from a channel numbered 31 to one numbered 16", length: 2,
		},
		{
			name: "transition left out: 3a.ii stays in ML1", rule: keepsLayer("3a.ii"),
			on: "kary-ntree:3,4", dead: "s0.002-s1.002 s2.002-s3.000",
			what: verify.Unconnected, at: 2, ends: "4b.iii: every up port of D has been tried", length: 11,
		},
		{
			name: "transition left out: 4c stays in ML2", rule: layerOf("4c", ml2),
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Unconnected, at: 2, ends: "unreachable: no rule for such an arrival, layer and header", length: 9,
		},
		{
			name: "4c sends down without the port field that says so", rule: keepsFieldAt("4c"),
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Unconnected, at: 2, ends: "unreachable: no rule for such an arrival, layer and header", length: 9,
		},
	})
}

// The papers leave it open which port 4a takes. Taking any of them, packets of one destination make
// U-turns at several switches of a group, and D must be the same in all of them.
func TestDInDifferentOrdersClosesCyclesWhenAnyDownPortIsTaken(t *testing.T) {
	t.Parallel()
	caught(t, with(firmware.DeterministicSwitch{}.Firmware(), any4a), []broken{
		{
			name: "D differs within a switch group", rule: differentDSwitch,
			on: "kary-ntree:3,3", kind: verify.Switches, faults: 2, dead: "s1.00 s1.01",
			what: verify.Deadlock, at: 2, ends: "90 channels can hold only packets that wait for one another; in 8 of them " +
				"each waits for the next", length: 8, deadlocks: 2,
		},
	})
}

// literally is the real firmware for packets that it never makes, but a firmware with a rule as
// printed does: one in a re-routing layer without a port field is one of the normal layer to the
// rules that do not name a layer.
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

func firstBounceInML2(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := literally(real, pkt, at, sw)
	if fired(d, "3: first bounce, back") {
		return inLayer(d, ml2)
	}
	return d
}

func leafBounceInML2(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if t := sw.Place().Tree; turns(pkt, at, sw) && t.Leaf() && at.VC == ml2 {
		at.VC = ml1 // it has made a U-turn here
	}
	d := real(pkt, at, sw)
	if fired(d, "3b") && at.VC == ml1 {
		return inLayer(d, ml2)
	}
	return d
}

// switchToTheLetter is the section's list of rules with what it says of layers and the port field,
// and nothing that it does not say.
func switchToTheLetter(_ route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	t, f := sw.Place().Tree, pkt.Fields
	above := at.From == weft.RoleUp
	if t.HasDown(pkt.Dst) {
		dp := t.DownPort(pkt.Dst)
		switch {
		case sw.PortUp(dp) && at.VC == ml2 && !above:
			return switching.To(sw, dp, ml2, f, "2a")
		case sw.PortUp(dp) && at.VC == ml2:
			return switching.To(sw, dp, ml1, f, "2b")
		case sw.PortUp(dp):
			return switching.To(sw, dp, nl, f, "2c, 2d")
		case above && at.VC == ml2:
			return anyDown(sw, dp, ml1, f, "3a.i")
		case above:
			return anyDown(sw, dp, nl, f, "3a.ii")
		}
		return switching.To(sw, at.Port, ml2, f, "3b")
	}
	order := []int{0, 1, 2, 3}[:t.Ups()]
	switch leaf := t.Leaf(); {
	case !above && f.PortField == weft.PortFieldDown:
		f.PortField = int16(at.Port)
		return switching.To(sw, t.Up(0), ml2, f, "5")
	case !above:
		return anyUp(sw, 0, nl, f, "1")
	case f.PortField == weft.PortFieldNone && !leaf:
		return anyDown(sw, weft.NoPort, nl, f, "4a")
	case f.PortField >= 0:
		p := weft.PortID(f.PortField)
		f.PortField = weft.PortFieldDown
		return switching.To(sw, p, ml1, f, "4c")
	case at.VC == nl:
		return uturnBy(sw, at, f, order, false, nl)
	case at.VC == ml1:
		return uturnBy(sw, at, f, order, true, ml1)
	}
	return switching.Discard("4b: no rule for ML2")
}

// any4a takes any down port where the real firmware takes one.
func any4a(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if !fired(d, "4a") {
		return d
	}
	c := d.Candidates[0]
	return anyDown(sw, weft.NoPort, c.VC, c.Fields, d.Rule)
}

func differentDSwitch(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	if d := real(pkt, at, sw); !fired(d, "4b") {
		return d
	}
	return uturnBy(sw, at, pkt.Fields, orderOf(sw.Place().Tree), at.VC == ml1, ml1)
}

// layerOf has a rule leave in a layer.
func layerOf(name string, vc weft.VC) rule {
	return func(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := literally(real, pkt, at, sw)
		if fired(d, name) {
			return inLayer(d, vc)
		}
		return d
	}
}

// keepsLayer has a rule keep the layer.
func keepsLayer(name string) rule {
	return func(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		return layerOf(name, at.VC)(real, pkt, at, sw)
	}
}

// keepsFieldAt has a rule keep the port field.
func keepsFieldAt(name string) rule {
	return func(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := real(pkt, at, sw)
		if fired(d, name) {
			return withPortField(d, pkt.PortField)
		}
		return d
	}
}

// keepsPortField does not reset the port field when the packet has come past the fault.
func keepsPortField(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if sw.Place().Tree.HasDown(pkt.Dst) {
		return withPortField(d, pkt.PortField)
	}
	return d
}

// portFieldOffByOne stores the number of the port after the one that the packet came by.
func portFieldOffByOne(real route, pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	d := real(pkt, at, sw)
	if fired(d, "5:", "6:") {
		return withPortField(d, int16(at.Port)+1)
	}
	return d
}
