package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
)

// Mixed is the second firmware of a mixture, as while switches get a new one: each switch runs
// [Config].Firmware or this one, which one it runs does not change, and every subset of the
// switches is explored. See "Mixtures" in the package's documentation.
type Mixed struct {
	Firmware switching.Firmware
	Around   func(dead *subnet.Dead) (fw switching.Firmware, vcs int, err error) // as that of Config
	Name     string                                                              // for the result
}

// name is that of its routing, for the result.
func (m *Mixed) name() string { return cmp.Or(m.Name, m.Firmware.Name) }

// blanks are the registers of a switch before anything is written to them, for each firmware that
// it may run, by number.
var blanks = [2]int32{0, 1}

// start is a state that packets start in.
type start struct {
	state int32
	runs  int32 // the firmware that says so, where the other of a mixture does not; otherwise -1
}

// either has what all firmwares start packets in be the start of any.
func (s *space) either(of []start) (list []start) {
	for _, a := range of {
		all := true
		for i := range s.m.runs {
			all = all && slices.Contains(of, start{a.state, int32(i)})
		}
		if all {
			a.runs = -1
		}
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// blank is zero in all registers of a switch that runs what one with these values runs. Its number
// is that of the firmware.
func (s *space) blank(value int32) int32 {
	if int(value) < len(s.m.runs) {
		return value
	}
	return int32(s.values.of(value)[maxRegisters])
}

// begin is what a packet knows in a start: which firmware its switch runs, where the other has
// packets start otherwise. It reports false when the switch does not run it.
func (x *explorer) begin(fs *flowSpace, s start) (memory int32, runs bool) {
	if s.runs < 0 {
		return 0, true
	}
	sw := fs.states[s.state].sw
	x.fork(sw)
	return x.memory.set(0, sw, s.runs), slices.Contains(x.runs[sw], s.runs)
}

// mayRun is the firmwares that decide for a packet at sw: that which it knows the switch to run, or
// any that it may run. If both do the same, the first decides for both, and nothing is settled.
func (x *explorer) mayRun(f int, fs *flowSpace, k nodeKey, sw, dead int32) []int32 {
	if x.alike(f, fs, k.state, dead) {
		return blanks[:1]
	}
	if value, known := x.memory.get(k.memory, sw); known {
		blank := x.blank(value)
		return blanks[blank : blank+1]
	}
	x.fork(sw)
	return x.runs[sw]
}

// fork notes that it matters to a packet what sw runs.
func (x *explorer) fork(sw int32) {
	if len(x.runs[sw]) > 1 {
		x.mixture.forked[sw] = true
	}
}

// alike reports whether both firmwares do the same with a packet, whatever the registers hold.
func (x *explorer) alike(f int, fs *flowSpace, state, dead int32) bool {
	if e := x.expand(f, fs, state, dead, blanks[0]); e.compared {
		return e.alike
	}
	other := *x.expand(f, fs, state, dead, blanks[1])
	e := x.expand(f, fs, state, dead, blanks[0])
	e.compared = true
	same := func(a, b alternative) bool { return a.leads(&b) }
	if e.regs || other.regs || !slices.EqualFunc(e.alts, other.alts, same) {
		return false
	}
	e.alike = true
	for i := range e.alts {
		e.alts[i].runs = -1
	}
	return true
}

// mixture is the search of one scene for what is wrong with some subset.
//
// With a switch that may run either firmware, all packets are explored that any subset has; each
// packet for itself settles what the switches on its way run. What it comes to is so in a subset.
// But what several packets do together, a cycle of channels or what they write to registers for
// others, may need a switch to run both. Such a finding is believed only when no switch is left at
// which it matters what it runs. Until then the switches are settled, one after the other and both
// ways, as long as there is a finding that is not proven yet.
type mixture struct {
	forked []bool // per switch: packets have found it to matter which of its firmwares it runs
	looks  int
	// What is proven. worst is a subset with the worst of the cycles, and pairs has one in which a
	// pair of bad is not connected, or loops, where what other packets write has a part in it. A
	// subset is as explorer.runs.
	cycles cycles
	worst  [][]int32
	bad    []badPair
	pairs  map[badPair][][]int32
}

// cycles are bits of what is found in a scene, the worse the higher: the graph has a cycle, the
// extended one too, packets can wait for each other only.
type cycles uint8

const (
	cyclic cycles = 1 << iota
	extended
	deadlocks
)

// maxLooks bounds how often a scene is explored, chosen by us.
const maxLooks = 1 << 13

// mix explores the scene for every subset.
func (x *explorer) mix() (*tally, error) {
	y := &x.mixture
	*y = mixture{forked: y.forked, pairs: map[badPair][][]int32{}}
	all := slices.Repeat([][]int32{blanks[:]}, len(x.runs))
	top, err := x.look(all)
	if err != nil {
		return nil, err
	}
	sum, bad := x.found, slices.Clone(x.bad)
	for fw := range blanks { // what one of them does by itself needs no search
		if err == nil && y.open(top) {
			_, err = x.look(slices.Repeat([][]int32{blanks[fw : fw+1]}, len(all)))
		}
	}
	if err == nil {
		err = x.settleSwitches(top)
	}
	if err != nil {
		return nil, err
	}
	sum.cyclic, sum.extended = y.cycles&cyclic != 0, y.cycles&(cyclic|extended) == cyclic
	if y.cycles&deadlocks == 0 {
		sum.stuck = 0
	}
	if x.crowded() {
		bad = slices.DeleteFunc(slices.Clone(y.bad), func(p badPair) bool {
			return !p.loops && y.pairs[badPair{p.flow, p.source, true}] != nil
		})
		sum.unconnected, sum.livelocks = len(bad), len(y.bad)-len(bad)
	}
	x.runs, x.bad = all, bad
	return &sum, x.settle() // anew, as a search for a counterexample goes on from here
}

// crowded reports whether what a packet meets depends on what others do.
func (x *explorer) crowded() bool { return x.m.stateful && x.m.regs == Shared }

// look is what is found where the switches may run these.
type look struct {
	cycles cycles
	bad    []badPair // where what other packets write has a part in it; one that loops is there twice
	runs   [][]int32
	settle int // the switch to settle next, -1 if there is none
}

// look explores the scene. Findings that hold in a subset are noted as proven.
func (x *explorer) look(runs [][]int32) (l look, err error) {
	y := &x.mixture
	if y.looks++; y.looks > maxLooks {
		return l, fmt.Errorf("%w: with %s dead the mixture takes more than %d explorations: "+
			"ask for fewer faults, or for a smaller fabric", ErrConfig, x.names(x.scene.set), maxLooks)
	}
	x.runs = runs
	clear(y.forked)
	if err := x.whole(); err != nil {
		return l, err
	}
	l = look{runs: runs, settle: slices.Index(y.forked, true)}
	for i, found := range []bool{x.found.cyclic, x.found.cyclic && !x.found.extended, x.found.stuck > 0} {
		if found {
			l.cycles |= cyclic << i
		}
	}
	if x.crowded() {
		for _, p := range x.bad {
			l.bad = append(l.bad, badPair{p.flow, p.source, false})
			if p.loops {
				l.bad = append(l.bad, p)
			}
		}
	}
	if l.settle < 0 {
		x.prove(l)
		return l, nil
	}
	if x.found.cyclic { // rather one on a shortest circle of channels
		for _, c := range shortestCircle(x.waiting(x.found.stuck == 0, x.graph.rings())) {
			if sw := x.m.owner(c / int32(x.m.vcs)); y.forked[sw] {
				l.settle = sw
			}
		}
	}
	return l, nil
}

// prove notes what is found where nothing is left to be settled.
func (x *explorer) prove(l look) {
	y := &x.mixture
	if l.cycles > y.cycles {
		y.worst = l.runs
	}
	y.cycles |= l.cycles
	for _, p := range l.bad {
		if y.pairs[p] == nil {
			y.pairs[p] = l.runs
			y.bad = append(y.bad, p)
		}
	}
}

// open reports whether a finding of l is not proven yet, nor has been by l.
func (y *mixture) open(l look) bool {
	return l.settle >= 0 && (l.cycles&^y.cycles != 0 ||
		slices.ContainsFunc(l.bad, func(p badPair) bool { return y.pairs[p] == nil }))
}

// settleSwitches settles the switch that l says, both ways, and then others, while findings of l
// are open.
func (x *explorer) settleSwitches(l look) error {
	for fw := range blanks {
		if !x.mixture.open(l) {
			return nil
		}
		runs := slices.Clone(l.runs)
		runs[l.settle] = blanks[fw : fw+1]
		next, err := x.look(runs)
		if err == nil {
			err = x.settleSwitches(next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// where has the switches run what they do where a pair is not connected. It is for the search for a
// counterexample, once the scene has been explored.
func (x *explorer) where(p badPair) error {
	runs, crowded := x.mixture.pairs[p]
	if !crowded {
		return nil // its packet settles it
	}
	x.runs = runs
	return x.settle()
}

// fewest explores the scene once more, for a subset with a deadlock of which no switch can be left
// out.
func (x *explorer) fewest(fixed bool) error {
	if !x.m.mixed() {
		return nil
	}
	x.runs = slices.Clone(x.mixture.worst)
	for sw, runs := range x.mixture.worst {
		x.runs[sw] = blanks[:1]
		if len(runs) > 1 || runs[0] == blanks[0] {
			continue
		}
		if err := x.whole(); err != nil {
			return err
		}
		if !x.found.deadlocks(fixed) {
			x.runs[sw] = runs
		}
	}
	return x.whole()
}

// routing is what a switch runs that has done this with a packet, empty where it may run either.
func (x *explorer) routing(k nodeKey, sw int32, a *alternative) string {
	if a.runs >= 0 {
		return x.m.names[a.runs]
	}
	if value, known := x.memory.get(k.memory, sw); known {
		return x.m.names[x.blank(value)]
	}
	return ""
}

// assign says in a counterexample what the switches run.
func (x *explorer) assign(c *Counterexample) {
	if c == nil || !x.m.mixed() {
		return
	}
	c.Routings = map[string]string{}
	second := x.m.names[1]
	for _, s := range c.Path {
		if s.Routing == second {
			c.Routings[s.Switch] = second
		}
	}
	for sw, runs := range x.runs {
		if len(runs) == 1 && runs[0] == blanks[1] {
			c.Routings[x.m.g.Switches[sw].Name] = second
		}
	}
}
