package verify

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
)

// explorer walks the states of one scene after the other.
type explorer struct {
	*space
	scene   scene
	memory  memories
	traffic traffic
	nodes   nodes
	graph   waitGraph
	found   tally // of the scene
	bad     []badPair
	future  future
	path    []frame
	judged  bool               // the packets that are walked are of a pair that is there
	parts   *subnet.Components // what live links join in the scene; nil where the firmware does not know what is dead
	fair    bool               // of searches for a counterexample: no link dies that a packet has just come by
	runs    [][]int32          // per switch: the firmwares that it may run, as the blank registers of each
	mixture mixture

	subfunction Subfunction
	keep        Keep // not nil while the subfunction is walked
	lastOnly    bool // walk the last class of candidates only
	legal       nodes
	extended    waitGraph
}

func newExplorer(m *model, sub Subfunction) *explorer {
	x := &explorer{space: newSpace(m), subfunction: sub}
	x.memory.clear()
	x.graph.init(m)
	x.runs = slices.Repeat([][]int32{blanks[:len(m.runs)]}, len(m.g.Switches))
	x.mixture.forked = make([]bool, len(m.g.Switches))
	return x
}

// badPair is a pair that is not connected: a flow and which of its sources.
type badPair struct {
	flow, source int32
	loops        bool
}

// Bounds of what one worker keeps between fault sets, and of what it holds for one flow of one set.
const (
	maxKept  = 1 << 22
	maxNodes = 1 << 24
)

// tally is what was found in one scene.
type tally struct {
	pairs       int // of NICs that are there
	unconnected int // for which some choice ends in a discard or never
	livelocks   int // of these, with a cycle
	hops        int // most switches crossed by a packet that every choice delivers
	discards    map[string]int
	states      int
	cyclic      bool // the channel dependency graph has a cycle
	rings       int  // bubble rings in it
	escape      bool // candidates are of several classes
	extended    bool // it is cyclic, and the extended one is not
	connected   bool // the last class of candidates by itself delivers every packet, wherever it is
	stuck       int  // most channels that can wait for each other only, at one moment
	falling     bool // a hop does not raise the firmware's channel number
	duato       verdict
}

// deadlocks reports whether packets can wait for one another for ever; with a fixed choice, each
// for the output that it has chosen.
func (t *tally) deadlocks(fixed bool) bool {
	return t.cyclic && (t.stuck > 0 || fixed && (t.escape || !t.extended))
}

// verdict is yes, no, or that the question has no answer.
type verdict uint8

const (
	unasked verdict = iota
	holds
	fails
)

// run explores one set.
func (x *explorer) run(set []Element) (*tally, error) {
	if err := x.adopt(set); err != nil {
		return nil, err
	}
	if x.entries > x.m.kept {
		x.space.clear()
		x.memory.clear()
	} else if len(x.memory.all) > x.m.kept/16 {
		x.memory.clear()
	}
	x.scene.setTo(x.space, set)
	if x.m.mixed() {
		return x.mix()
	}
	return &x.found, x.whole()
}

// whole explores the scene.
func (x *explorer) whole() error {
	set := x.scene.set
	x.found, x.bad = tally{discards: map[string]int{}}, x.bad[:0]
	x.graph.begin(len(x.scene.moments))
	if err := x.settle(); err != nil {
		return err
	}
	var keep Keep
	if x.subfunction != nil {
		var ok bool
		if keep, ok = x.subfunction(x.m.g, set); ok {
			x.found.duato = holds
			x.beginExtended()
		}
	}
	for f := range x.m.flows {
		if err := x.flow(f); err != nil {
			return err
		}
		if x.found.duato == holds {
			if err := x.restricted(f, keep); err != nil {
				return err
			}
		}
		x.release(f)
	}
	if x.found.duato == holds && x.extended.extended(x.graph.rings()) {
		x.found.duato = fails
	}
	x.found.cyclic = x.graph.falling && x.graph.cyclic()
	x.found.falling = x.m.number != nil && x.graph.falling
	if x.found.cyclic {
		r := x.graph.rings()
		worst, _ := x.graph.stuck(x.waits, r)
		x.found.stuck, x.found.rings = len(worst), r.n
		return x.extend(r)
	}
	return nil
}

type frame struct{ node, next int32 }

// flow walks all packets of a flow, depth first: those of pairs that are there, and then those of
// NICs whose switch is in the set. These are not judged, but what they write and wait for is met by
// others.
func (x *explorer) flow(f int) error {
	fl := &x.m.flows[f]
	fs := x.prepare(f)
	x.nodes.clear()
	x.judged = true
	for i := range fl.srcs {
		if x.there(fl, i) {
			if err := x.judge(f, fs, i); err != nil {
				return err
			}
		}
	}
	x.judged = false
	for i := range fl.srcs {
		if !x.there(fl, i) {
			if _, _, err := x.from(f, fs, i); err != nil {
				return err
			}
		}
	}
	x.found.states += len(x.nodes.all)
	return nil
}

// prepare begins a flow in the scene, and works out what its packets need not know. It leaves other
// nodes in x.nodes.
func (x *explorer) prepare(f int) *flowSpace {
	fs := x.start(f)
	x.future.forget()
	if len(x.traffic.loud) > 0 {
		x.reachable(f, fs, true)
		x.future.work(x, fs)
	}
	return fs
}

// there reports whether no switch of a pair's NICs is in the set, and, where the routing knows it,
// whether anything joins them.
func (x *explorer) there(fl *flow, source int) bool {
	from, _ := x.m.g.SwitchOf(fl.srcs[source])
	to, _ := x.m.g.SwitchOf(fl.dst)
	return !x.scene.gone[from] && !x.scene.gone[to] && (x.parts == nil || x.parts.Joined(fl.srcs[source], fl.dst))
}

// judge counts what becomes of the packets of a pair.
func (x *explorer) judge(f int, fs *flowSpace, source int) error {
	bad, loops, err := x.from(f, fs, source)
	x.found.pairs++
	if bad {
		x.found.unconnected++
		x.bad = append(x.bad, badPair{int32(f), int32(source), loops})
	}
	if loops {
		x.found.livelocks++
	}
	return err
}

// from walks the packets of one source, at every moment at which they can set out.
func (x *explorer) from(f int, fs *flowSpace, source int) (bad, loops bool, err error) {
	for _, moment := range x.scene.starts(x.m.when) {
		for _, start := range fs.starts[source] {
			memory, runs := x.begin(fs, start)
			if _, down := x.scene.dead(fs.states[start.state].sw, int(moment)); down || !runs {
				continue
			}
			n := x.nodes.id(nodeKey{start.state, memory, moment})
			if err := x.walk(f, fs, n); err != nil {
				return bad, loops, err
			}
			at := &x.nodes.all[n]
			bad, loops = bad || at.bad, loops || at.loops
			if x.judged && !at.bad {
				x.found.hops = max(x.found.hops, int(at.hops))
			}
		}
	}
	return bad, loops, nil
}

// restricted walks the subfunction from every state that packets of a flow can be in, which flow
// has found.
func (x *explorer) restricted(f int, keep Keep) error {
	if sw, _ := x.m.g.SwitchOf(x.m.flows[f].dst); x.scene.gone[sw] {
		return nil
	}
	x.swap()
	x.keep = keep
	defer func() {
		x.swap()
		x.keep = nil
	}()
	fs := x.start(f)
	x.nodes.clear()
	for _, at := range x.legal.all {
		n := x.nodes.id(at.nodeKey)
		if err := x.walk(f, fs, n); err != nil {
			return err
		}
		if x.nodes.all[n].bad {
			x.found.duato = fails
			return nil
		}
	}
	return nil
}

// walk visits all that can be reached from a node and judges it.
func (x *explorer) walk(f int, fs *flowSpace, root int32) error {
	all := &x.nodes
	if all.all[root].color == 2 {
		return nil
	}
	x.path = append(x.path[:0], x.enter(f, fs, root))
	for len(x.path) > 0 {
		if len(all.all) > maxNodes {
			return fmt.Errorf("more than %d states for packets to %s with %s dead: ask for fewer faults, or for registers "+
				"that a packet has to itself",
				maxNodes, x.m.g.NICs[x.m.flows[f].dst].Name, x.names(x.scene.set))
		}
		top := &x.path[len(x.path)-1]
		at := &all.all[top.node]
		if top.next == at.to {
			at.color = 2
			x.path = x.path[:len(x.path)-1]
			if len(x.path) > 0 {
				x.join(&x.path[len(x.path)-1], at)
			}
			continue
		}
		s := all.succ[top.next]
		switch next := &all.all[s.node]; next.color {
		case 0:
			x.path = append(x.path, x.enter(f, fs, s.node))
		case 1: // it has been here before: a cycle
			at.bad, at.loops = true, true
			top.next++
		default:
			x.join(top, next)
		}
	}
	return nil
}

// join gives what is known of a successor to the node of a frame, and goes on to the next.
func (x *explorer) join(top *frame, done *node) {
	at := &x.nodes.all[top.node]
	at.bad = at.bad || done.bad
	at.loops = at.loops || done.loops
	at.hops = max(at.hops, done.hops+x.nodes.succ[top.next].hop)
	top.next++
}

// enter makes the successors of a node.
func (x *explorer) enter(f int, fs *flowSpace, n int32) frame {
	from := int32(len(x.nodes.succ))
	x.nodes.all[n].color = 1
	x.nodes.all[n].from = from
	k := x.nodes.all[n].nodeKey
	bad, hops := false, int32(0)
	sub := x.keep != nil && !x.lastOnly
	x.steps(f, fs, k, func(a *alternative, _, memory int32, moment int) {
		sw := fs.states[k.state].sw
		if a.bad != good {
			bad = true
			if x.judged && !sub && !x.lastOnly {
				x.found.discards[x.ending(a)]++
			}
			return
		}
		if a.wait >= 0 {
			x.waitAt(moment, a.wait)
		}
		left := 0
		for _, e := range a.edges {
			if sub && e.out >= 0 && !x.keep(weft.SwitchID(sw), x.m.port(e.out), e.vc) || x.lastOnly && !e.last {
				continue
			}
			left++
			if e.to < 0 {
				hops = max(hops, 1)
				continue
			}
			from := nobody
			if e.pair >= 0 {
				st := &fs.states[k.state]
				from = x.m.into(int(sw), st.in, st.vc)
				x.graph.add(e.pair, from, e.out, e.two)
			}
			x.graph.enters(from, e.out, e.two)
			next := nodeKey{state: e.to, memory: x.future.matters(x, memory, e.to)}
			if x.m.dated() {
				next.moment = int32(moment)
			}
			x.nodes.succ = append(x.nodes.succ, successor{x.nodes.id(next), 1})
		}
		bad = bad || left == 0
	})
	if x.m.when == Arriving { // or one more fault comes before the packet goes on
		for i := range x.scene.set {
			if k.moment>>i&1 == 0 {
				later := k
				later.moment |= 1 << i
				if _, down := x.scene.dead(fs.states[k.state].sw, int(later.moment)); !down {
					x.nodes.succ = append(x.nodes.succ, successor{x.nodes.id(later), 0})
				}
			}
		}
	}
	at := &x.nodes.all[n]
	at.to = int32(len(x.nodes.succ))
	at.bad = at.bad || bad
	at.hops = max(at.hops, hops)
	return frame{n, from}
}
