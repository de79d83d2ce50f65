package verify

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// maxTried bounds the pairs of a set whose paths are worked out.
const maxTried = 256

// shortest is the shortest path of a pair that is not connected, of the first so many of them, that
// ends in something bad; or one to a cycle and round it when nothing else is wrong.
func (x *explorer) shortest() (best *Counterexample, err error) {
	tried := slices.Clone(x.bad[:min(maxTried, len(x.bad))])
	for _, try := range tried {
		fl := &x.m.flows[try.flow]
		if err := x.where(try); err != nil {
			return nil, err
		}
		c := x.search(int(try.flow), int(try.source), try.loops)
		if c == nil {
			continue
		}
		x.assign(c)
		c.From, c.To = fl.srcs[try.source], fl.dst
		c.Src, c.Dst = x.m.g.NICs[c.From].Name, x.m.g.NICs[c.To].Name
		if best == nil || len(c.Path) < len(best.Path) {
			best = c
		}
	}
	return best, nil
}

// trail is a node that a search has come to, and how.
type trail struct {
	node   nodeKey
	before int32 // in the search's list; -1 at a source
	moment int
	alt    alternative
	edge   int // of alt; -1: only time passed
	value  int32
}

// search goes breadth first from one source until it finds a bad end; if there is none, and there
// may be loops, until it comes back to its own way.
func (x *explorer) search(f, source int, loops bool) *Counterexample {
	fs := x.prepare(f)
	var list []trail
	at := map[nodeKey]int32{}
	for _, moment := range x.scene.starts(x.m.when) {
		for _, start := range fs.starts[source] {
			if memory, runs := x.begin(fs, start); runs {
				k := nodeKey{start.state, memory, moment}
				at[k] = int32(len(list))
				list = append(list, trail{node: k, before: -1})
			}
		}
	}
	var edges [][]int32 // per node of the list: where its steps lead
	for i := 0; i < len(list); i++ {
		k := list[i].node
		var found *Counterexample
		edges = append(edges, nil)
		come := func(t trail) {
			n, ok := at[t.node]
			if !ok {
				n = int32(len(list))
				at[t.node] = n
				list = append(list, t)
			}
			edges[i] = append(edges[i], n)
		}
		x.steps(f, fs, k, func(a *alternative, value, memory int32, moment int) {
			if x.hasDied(fs, k, moment) {
				return
			}
			if a.bad != good {
				if found == nil {
					path := x.pathTo(fs, list, int32(i))
					last := x.step(fs, k, *a, -1, moment, value)
					found = &Counterexample{What: Unconnected, Path: append(path, last), Ends: x.ending(a), Again: -1}
				}
				return
			}
			for e, edge := range a.edges {
				if edge.to < 0 {
					continue
				}
				next := nodeKey{state: edge.to, memory: x.future.matters(x, memory, edge.to)}
				if x.m.dated() {
					next.moment = int32(moment)
				}
				come(trail{node: next, before: int32(i), moment: moment, alt: *a, edge: e, value: value})
			}
		})
		if found != nil {
			return found
		}
		if x.m.when == Arriving {
			for b := range x.scene.set {
				later := k
				later.moment |= 1 << b
				if _, down := x.scene.dead(fs.states[k.state].sw, int(later.moment)); later != k && !down &&
					!x.hasDied(fs, later, int(later.moment)) {
					come(trail{node: later, before: int32(i), edge: -1})
				}
			}
		}
	}
	if !loops {
		return nil
	}
	return x.cycle(fs, list, edges)
}

// cycle finds a shortest way to a node that can be come to again, and round. nil: there is no
// cycle.
func (x *explorer) cycle(fs *flowSpace, list []trail, edges [][]int32) *Counterexample {
	ends := deadEnds(edges)
	for start := range list {
		if ends[start] {
			continue
		}
		// Breadth first back to start.
		before := map[int32]int32{}
		todo := []int32{int32(start)}
		for len(todo) > 0 {
			n := todo[0]
			todo = todo[1:]
			for _, next := range edges[n] {
				if ends[next] {
					continue
				}
				if next == int32(start) {
					return x.round(fs, list, int32(start), n, before)
				}
				if _, ok := before[next]; !ok {
					before[next] = n
					todo = append(todo, next)
				}
			}
		}
	}
	return nil
}

// deadEnds marks the nodes from which no cycle can be come to.
func deadEnds(edges [][]int32) []bool {
	ends, left, into := make([]bool, len(edges)), make([]int, len(edges)), make([][]int32, len(edges))
	var todo []int32
	for n, to := range edges {
		left[n] = len(to)
		for _, t := range to {
			into[t] = append(into[t], int32(n))
		}
		if len(to) == 0 {
			todo = append(todo, int32(n))
		}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		ends[n] = true
		for _, from := range into[n] {
			if left[from]--; left[from] == 0 {
				todo = append(todo, from)
			}
		}
	}
	return ends
}

func (x *explorer) round(fs *flowSpace, list []trail, start, last int32, before map[int32]int32) *Counterexample {
	path := x.pathTo(fs, list, start)
	again := len(path)
	loop := []int32{start}
	for n := last; n != start; n = before[n] {
		loop = slices.Insert(loop, 0, n)
	}
	from := start
	for _, n := range loop {
		if s, ok := x.between(fs, list, from, list[n].node); ok {
			path = append(path, s)
		}
		from = n
	}
	return &Counterexample{What: Livelock, Path: path, Again: again, Ends: "comes back to where it was: livelock"}
}

// between is the step from one node of a search to another.
func (x *explorer) between(fs *flowSpace, list []trail, from int32, to nodeKey) (s Step, ok bool) {
	k := list[from].node
	f := x.flowOf(fs)
	x.steps(f, fs, k, func(a *alternative, value, memory int32, moment int) {
		if x.hasDied(fs, k, moment) {
			return
		}
		for e, edge := range a.edges {
			next := nodeKey{state: edge.to, memory: x.future.matters(x, memory, edge.to)}
			if x.m.dated() {
				next.moment = int32(moment)
			}
			if !ok && edge.to >= 0 && next == to {
				s, ok = x.step(fs, k, *a, e, moment, value), true
			}
		}
	})
	return s, ok
}

func (x *explorer) flowOf(fs *flowSpace) int {
	for f := range x.flows {
		if &x.flows[f] == fs {
			return f
		}
	}
	panic("verify: BUG: a flow that is none")
}

// pathTo is the steps to a node of a search.
func (x *explorer) pathTo(fs *flowSpace, list []trail, n int32) (path []Step) {
	for ; list[n].before >= 0; n = list[n].before {
		t := list[n]
		if t.edge < 0 {
			continue
		}
		path = append(path, x.step(fs, list[t.before].node, t.alt, t.edge, t.moment, t.value))
	}
	slices.Reverse(path)
	return path
}

// step is a decision in words. edge is the candidate taken, -1 when it ends here.
func (x *explorer) step(fs *flowSpace, k nodeKey, a alternative, edge, moment int, value int32) Step {
	st := fs.states[k.state]
	g := x.m.g
	s := Step{
		Switch: g.Switches[st.sw].Name, ID: weft.SwitchID(st.sw), In: x.neighbour(int(st.sw), st.in), InPort: st.in,
		VC:     st.vc,
		Fields: x.fields.of(st.fields), Rule: x.rules.of(a.rule), Ways: len(a.edges), Port: weft.NoPort,
	}
	if x.m.when != Before && moment != anyMoment {
		for i, e := range x.scene.set {
			if moment>>i&1 == 1 {
				s.Dead = append(s.Dead, e.Name(g))
			}
		}
	}
	if value != noValue {
		regs := x.values.of(value)
		s.Regs = slices.Clone(regs[:x.m.runs[x.blank(value)].declared[st.sw]])
	}
	if x.m.mixed() {
		s.Routing = x.routing(k, st.sw, &a)
	}
	s.After = s.Fields
	if edge < 0 {
		return s
	}
	e := a.edges[edge]
	if e.to < 0 {
		return s
	}
	next := fs.states[e.to]
	s.Out, s.Port, s.OutVC, s.After = g.Switches[next.sw].Name, x.m.port(e.out), next.vc, x.fields.of(next.fields)
	return s
}

func (x *explorer) neighbour(sw int, p weft.PortID) string {
	to := x.m.peer(sw, p)
	if to.kind == weft.KindNIC {
		return x.m.g.NICs[to.node].Name
	}
	return x.m.g.Switches[to.node].Name
}
