package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Counterexample is the smallest case found in which something is wrong.
type Counterexample struct {
	What   string   `json:"what"`   // unconnected, livelock, deadlock, numbering
	Faults []string `json:"faults"` // links and switches
	Src    string   `json:"src,omitempty"`
	Dst    string   `json:"dst,omitempty"`
	Ends   string   `json:"ends"` // how it ends, in words
	Path   []Step   `json:"path,omitempty"`
	// Again is the step of the path that a livelock comes back to, -1 for none.
	Again int `json:"again"`
	// Others: registers hold what other packets have written, and without that nothing goes wrong with these faults.
	Others bool `json:"others,omitempty"`
	// Channels wait for each other in a deadlock, each for the next and the last for the first.
	Channels []string `json:"channels,omitempty"`

	Dead     Dead `json:"-"`
	From, To weft.NICID
}

// Step is one decision on the way of a packet.
type Step struct {
	Switch string        `json:"switch"`
	In     string        `json:"in"` // the neighbour it came from
	InPort weft.PortID   `json:"in_port"`
	VC     weft.VC       `json:"vc"`
	Fields weft.Fields   `json:"fields"`
	Dead   []string      `json:"dead,omitempty"` // faults in force at this moment, when faults move
	Regs   []uint64      `json:"registers,omitempty"` // as the rule found them; empty if it has nothing to do with them
	Rule   string        `json:"rule"`
	Out    string        `json:"out,omitempty"` // the neighbour it goes to; empty when it ends here
	Port   weft.PortID   `json:"out_port"`
	OutVC  weft.VC       `json:"out_vc"`
	After  weft.Fields   `json:"fields_after"`
	Ways   int           `json:"ways"` // how many candidates there were
	ID     weft.SwitchID `json:"-"`
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

// maxTried bounds the pairs of a set whose paths are worked out.
const maxTried = 256

// shortest is the shortest path of a pair that is not connected, of the first so many of them, that ends in something bad; or one to a
// cycle and round it when nothing else is wrong.
func (x *explorer) shortest() (best *Counterexample) {
	tried := slices.Clone(x.bad[:min(maxTried, len(x.bad))])
	for _, try := range tried {
		fl := &x.m.flows[try.flow]
		c := x.search(int(try.flow), int(try.source), try.loops)
		if c == nil {
			continue
		}
		c.From, c.To = fl.srcs[try.source], fl.dst
		c.Src, c.Dst = x.m.g.NICs[c.From].Name, x.m.g.NICs[c.To].Name
		if best == nil || len(c.Path) < len(best.Path) {
			best = c
		}
	}
	return best
}

// search goes breadth first from one source until it finds a bad end; if there is none, and there may be loops, until it comes
// back to its own way.
func (x *explorer) search(f, source int, loops bool) *Counterexample {
	fs := x.start(f)
	x.future.forget()
	var list []trail
	at := map[nodeKey]int32{}
	for i, moment := range x.scene.starts(x.m.when) {
		list = append(list, trail{node: nodeKey{state: fs.starts[source], moment: moment}, before: -1})
		at[list[i].node] = int32(i)
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
				if _, down := x.scene.dead(fs.states[k.state].sw, int(later.moment)); later != k && !down && !x.hasDied(fs, later, int(later.moment)) {
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

// cycle finds a shortest way to a node that can be come to again, and round. nil: there is no cycle.
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
		Switch: g.Switches[st.sw].Name, ID: weft.SwitchID(st.sw), In: x.neighbour(int(st.sw), st.in), InPort: st.in, VC: st.vc,
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
		place := g.Place(weft.SwitchID(st.sw))
		regs := x.values.of(value)
		s.Regs = slices.Clone(regs[:min(maxRegisters, len(x.m.fw.(switching.Stateful).Registers(place)))])
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

// deadlock names channels that wait for each other in a circle.
func (x *explorer) deadlock(fixed bool) *Counterexample {
	in := make([]bool, x.m.channels)
	stuck := x.graph.stuck(x.waits)
	if fixed {
		stuck = nil
		for c := range in {
			stuck = append(stuck, int32(c))
		}
	}
	for _, c := range stuck {
		in[c] = true
	}
	wants := make([][]int32, x.m.channels)
	for _, e := range x.graph.edges {
		if in[e[0]] && in[e[1]] {
			wants[e[0]] = append(wants[e[0]], e[1])
		}
	}
	var best []int32
	for _, start := range stuck {
		before := map[int32]int32{}
		todo := []int32{start}
	search:
		for len(todo) > 0 {
			c := todo[0]
			todo = todo[1:]
			for _, next := range wants[c] {
				if next == start {
					round := []int32{c}
					for c != start {
						c = before[c]
						round = append(round, c)
					}
					slices.Reverse(round)
					if best == nil || len(round) < len(best) {
						best = round
					}
					break search
				}
				if _, ok := before[next]; !ok {
					before[next] = c
					todo = append(todo, next)
				}
			}
		}
	}
	if best == nil {
		return nil
	}
	c := &Counterexample{What: Deadlock, Again: -1}
	for _, ch := range best {
		c.Channels = append(c.Channels, x.m.channelName(ch))
	}
	c.Ends = fmt.Sprintf("%d channels can hold only packets that wait for one another; in %d of them each waits for the next", len(stuck), len(best))
	if fixed {
		c.Ends = fmt.Sprintf("packets that keep to one output can wait for one another in %d channels", len(best))
	}
	return c
}

// numbering names a hop that does not raise the channel number.
func (x *explorer) numbering() *Counterexample {
	for _, e := range x.graph.edges {
		if a, b := x.m.number[e[0]], x.m.number[e[1]]; a >= b {
			return &Counterexample{
				What: Numbering, Again: -1, Channels: []string{x.m.channelName(e[0]), x.m.channelName(e[1])},
				Ends: fmt.Sprintf("a packet goes from a channel numbered %d to one numbered %d", a, b),
			}
		}
	}
	return nil
}

// String prints the counterexample for people.
func (c *Counterexample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s with %s dead", c.What, orNothing(c.Faults))
	if c.Src != "" {
		fmt.Fprintf(&b, ", %s to %s", c.Src, c.Dst)
	}
	b.WriteString(":\n")
	for i, s := range c.Path {
		mark := "   "
		if i == c.Again {
			mark = ">> "
		}
		fmt.Fprintf(&b, "%s%2d  %s from %s %v%s  (%s)", mark, i+1, s.Switch, s.In, s.VC, fieldsText(s.Fields), s.Rule)
		if len(s.Dead) > 0 {
			fmt.Fprintf(&b, " [dead: %s]", strings.Join(s.Dead, ", "))
		}
		for j, r := range s.Regs {
			if r != 0 {
				fmt.Fprintf(&b, " [register %d: %b]", j, r)
			}
		}
		if s.Out != "" {
			fmt.Fprintf(&b, " -> %s %v%s", s.Out, s.OutVC, fieldsText(s.After))
			if s.Ways > 1 {
				fmt.Fprintf(&b, ", one of %d", s.Ways)
			}
		}
		b.WriteByte('\n')
	}
	if c.Others {
		b.WriteString("    the registers hold what other packets have written\n")
	}
	for _, ch := range c.Channels {
		fmt.Fprintf(&b, "    %s\n", ch)
	}
	fmt.Fprintf(&b, "    %s\n", c.Ends)
	return b.String()
}

func fieldsText(f weft.Fields) (text string) {
	if f.PortField != weft.PortFieldNone {
		text += fmt.Sprintf(" port field %d", f.PortField)
	}
	if f.Misroute != 0 {
		text += fmt.Sprintf(" vector %b", f.Misroute)
	}
	return text
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
