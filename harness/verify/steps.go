package verify

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// waitAt notes a wait at a moment, or at all that there can be.
func (x *explorer) waitAt(moment int, wait int32) {
	if moment != anyMoment {
		x.graph.waits(moment, wait)
		return
	}
	for moment := range x.scene.moments {
		if !x.scene.moments[moment].never {
			x.graph.waits(moment, wait)
		}
	}
}

// steps calls f with everything the firmware may do with a packet: at its moment, or at any when
// faults come and go, and with any value that the registers can have for it. value is that of the
// switch's registers when the firmware was asked, memory what the packet knows afterwards.
func (x *explorer) steps(f int, fs *flowSpace, k nodeKey, do func(a *alternative, value, memory int32, moment int)) {
	sw := fs.states[k.state].sw
	if x.m.when != Flapping {
		dead, _ := x.scene.dead(sw, int(k.moment))
		x.stepsWith(f, fs, k, sw, dead, int(k.moment), do)
		return
	}
	if x.scene.near[sw] == 0 { // no fault is at this switch: the same at any moment
		x.stepsWith(f, fs, k, sw, 0, anyMoment, do)
		return
	}
	for moment := range x.scene.moments {
		if dead, down := x.scene.dead(sw, moment); !down && !x.scene.moments[moment].never {
			x.views(sw, dead, fs.states[k.state].in, func(dead int32) { x.stepsWith(f, fs, k, sw, dead, moment, do) })
		}
	}
}

// views calls f with the ports that may be dead at a switch for a packet that came in by one of
// them: with OneByOne, at a switch that comes and goes, these and any others.
func (x *explorer) views(sw, dead int32, in weft.PortID, f func(dead int32)) {
	if !x.m.oneByOne || !x.scene.gone[sw] {
		f(dead)
		return
	}
	for mask := range uint64(1) << x.m.ports(int(sw)) {
		set, more := x.deads.of(dead), switching.PortSet{mask}
		if more.Has(in) {
			continue
		}
		set[0] |= mask
		f(x.deads.id(set))
	}
}

// anyMoment stands for all moments of a scene.
const anyMoment = -1

// noValue stands for all values of the registers: the firmware neither looks at them nor writes
// one.
const noValue = -1

func (x *explorer) stepsWith(f int, fs *flowSpace, k nodeKey, sw, dead int32, moment int,
	do func(*alternative, int32, int32, int),
) {
	runs := blanks[:1]
	if x.m.mixed() {
		runs = x.mayRun(f, fs, k, sw, dead)
	}
	for _, blank := range runs {
		e := x.expand(f, fs, k.state, dead, blank)
		if x.m.stateful && e.regs {
			x.stepsBy(f, fs, k, sw, dead, blank, moment, do)
			continue
		}
		memory := k.memory
		if x.m.mixed() && !e.alike {
			if _, known := x.memory.get(memory, sw); !known {
				memory = x.memory.set(memory, sw, blank)
			}
		}
		for i := range e.alts {
			do(&e.alts[i], noValue, memory, moment)
		}
	}
}

// stepsBy is stepsWith where the firmware with these blank registers looks at them.
func (x *explorer) stepsBy(
	f int, fs *flowSpace, k nodeKey, sw, dead, blank int32, moment int, do func(*alternative, int32, int32, int),
) {
	for _, value := range x.mayBe(k.memory, sw) {
		if x.blank(value) != blank {
			continue
		}
		e := x.expand(f, fs, k.state, dead, value)
		for i := range e.alts {
			a := &e.alts[i]
			after := value
			if a.write >= 0 {
				after = a.write
			}
			memory := k.memory
			if after != 0 || len(x.traffic.values[sw]) > 1 || x.m.mixed() {
				memory = x.memory.set(memory, sw, after)
			}
			do(a, value, memory, moment)
		}
	}
}

// mayBe is the values that a packet with this memory can find in the registers of sw.
func (x *explorer) mayBe(memory, sw int32) []int32 {
	value, known := x.memory.get(memory, sw)
	restarts := x.m.when == Flapping && x.scene.gone[sw] // and then its registers are zero
	switch {
	case x.m.regs == Alone && !known:
		return x.runs[sw] // zero unless it wrote
	case x.m.regs == Alone && restarts && value != x.blank(value):
		return []int32{value, x.blank(value)}
	case x.m.regs == Alone:
		return []int32{value}
	case known && restarts && x.m.mixed():
		return x.traffic.from(sw, x.blank(value))
	case known && !restarts:
		return x.traffic.from(sw, value)
	}
	return x.traffic.values[sw]
}

// settle finds the values that the packets of all flows can give to the registers: every flow is
// walked with any values that are known to be possible, until there are no more.
func (x *explorer) settle() error {
	x.traffic.clear(x.runs)
	for x.traffic.grown = x.m.stateful; x.traffic.grown; {
		x.traffic.grown = false
		for f := range x.m.flows {
			x.reachable(f, x.start(f), false)
			if full := x.traffic.full; len(full) > 0 {
				return fmt.Errorf("%w: with %s dead the registers of %s can hold more than %d values: ask for fewer faults, or "+
					"for registers that a packet has to itself",
					ErrConfig, x.names(x.scene.set), x.m.g.Switches[full[0]].Name, maxValues)
			}
			x.release(f)
		}
	}
	x.traffic.reach = map[[2]int32][]int32{}
	return nil
}

// reachable lists the states of a flow in nodes, whatever the registers hold and at whatever
// moment, and notes what packets write. With edges it also keeps which state leads to which.
func (x *explorer) reachable(f int, fs *flowSpace, edges bool) {
	x.nodes.clear()
	for _, start := range slices.Concat(fs.starts...) {
		_, runs := x.begin(fs, start)
		_, down := x.scene.dead(fs.states[start.state].sw, 0) // at moment 0 everything is dead or nothing
		if runs && !down {
			x.nodes.id(nodeKey{state: start.state})
		}
	}
	for i := 0; i < len(x.nodes.all); i++ {
		k := x.nodes.all[i].nodeKey
		sw := fs.states[k.state].sw
		x.nodes.all[i].from = int32(len(x.nodes.succ))
		for moment := range x.scene.moments {
			dead, down := x.scene.dead(sw, moment)
			if down || x.scene.moments[moment].never || moment > 0 && x.scene.near[sw] == 0 {
				continue
			}
			x.views(sw, dead, fs.states[k.state].in, func(dead int32) { x.reach(f, fs, k.state, dead, edges) })
		}
		x.nodes.all[i].to = int32(len(x.nodes.succ))
	}
}

// reach lists the states that a packet in one can come to with these dead ports.
func (x *explorer) reach(f int, fs *flowSpace, state, dead int32, edges bool) {
	sw := fs.states[state].sw
	if x.m.mixed() && x.m.stateful && len(x.runs[sw]) > 1 && !x.alike(f, fs, state, dead) {
		x.mixture.forked[sw] = true
	}
	for v := 0; v < len(x.traffic.values[sw]); v++ {
		value := x.traffic.values[sw][v]
		e := x.expand(f, fs, state, dead, value)
		if !e.regs && value != x.blank(value) {
			continue // as with the blank ones, which were before
		}
		for _, a := range e.alts {
			if a.write >= 0 {
				x.traffic.step(sw, value, a.write)
			}
			for _, next := range a.edges {
				if next.to < 0 {
					continue
				}
				n := x.nodes.id(nodeKey{state: next.to})
				if edges {
					x.nodes.succ = append(x.nodes.succ, successor{node: n})
				}
			}
		}
	}
}

// ending is how an alternative that is not good ends, in words.
func (x *explorer) ending(a *alternative) string {
	rule := x.rules.of(a.rule)
	switch a.bad {
	case stuck:
		return rule + ": waits for dead ports only"
	case misnamed:
		return rule + ": names a port or VC that is not there"
	case undeclared:
		return rule + ": writes a register that is not there"
	case misdelivery:
		return rule + ": delivered to another NIC"
	}
	return rule
}

// names is a fault set in words.
func (x *explorer) names(set []Element) string {
	if len(set) == 0 {
		return "nothing"
	}
	text := ""
	for i, e := range set {
		if i > 0 {
			text += ", "
		}
		text += e.Name(x.m.g)
	}
	return text
}
