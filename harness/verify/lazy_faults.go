package verify

import (
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// mortals says what can be dead while all sets are explored at once, and what an answer of a port
// says about it. Facts are about items: links, then switches, then suspicions. A link that leads to
// a switch which can be dead has a suspicion at that end: it is found dead, and the switch may be
// the cause.
type mortals struct {
	kind     Kind
	when     When
	oneByOne bool
	here     int // most that can be dead at one decision
	links    int32
	switches int32
	can      []bool     // per switch: it can be dead
	ends     [][2]int32 // per link: the switches that can be dead at its ends, -1: none
	ports    []switching.PortSet
	mortal   []switching.PortSet // per switch: the ports that lead to switches which can be dead
	parallel bool                // several links lead from a switch to another
	about    [][]int32           // per switch: the item, and those of the suspicions of it
}

func newMortals(m *model, s *Sets, oneByOne bool) *mortals {
	o := &mortals{kind: s.Kind, when: m.when, oneByOne: oneByOne, here: s.largest(), can: make([]bool, len(m.g.Switches))}
	if m.most > 0 {
		o.here = min(o.here, m.most)
	}
	if o.when == Repaired { // to packets that leave nothing behind, what was repaired is nothing
		o.when = Before
	}
	o.links, o.switches = int32(len(m.g.Links)), int32(len(m.g.Switches))
	for _, e := range s.elements {
		if e.Switch {
			o.can[e.ID] = true
		}
	}
	o.ends = slices.Repeat([][2]int32{{-1, -1}}, len(m.g.Links))
	o.ports, o.mortal = make([]switching.PortSet, len(m.g.Switches)), make([]switching.PortSet, len(m.g.Switches))
	o.about = make([][]int32, len(m.g.Switches))
	for sw := range o.about {
		o.about[sw] = append(o.about[sw], o.links+int32(sw))
	}
	beside := make([]int32, len(m.g.Switches)) // per switch: to which one a link led last, plus 1
	for sw := range m.g.Switches {
		for p := range weft.PortID(m.ports(sw)) {
			to := m.peer(sw, p)
			if to.kind != weft.KindSwitch {
				continue
			}
			o.parallel = o.parallel || beside[to.node] == int32(sw)+1
			beside[to.node] = int32(sw) + 1
			if o.can[to.node] {
				o.mortal[sw].Add(p)
			}
			if o.can[to.node] {
				side := side(m, to)
				o.ends[to.link][side] = int32(to.node)
				o.about[to.node] = append(o.about[to.node], o.links+o.switches+2*int32(to.link)+side)
			}
			if o.kind != Switches || o.can[to.node] || o.oneByOne && o.can[sw] {
				o.ports[sw].Add(p)
			}
		}
	}
	return o
}

// side is which end of its link a port leads to.
func side(m *model, to *peer) int32 {
	if end := m.g.Links[to.link].A; end.Node.IsSwitch() && end.Node.Index == to.node && end.Port == to.port {
		return 0
	}
	return 1
}

// items is how many items there are.
func (o *mortals) items() int32 {
	if o.kind == Links {
		return o.links
	}
	return o.links + o.switches + 2*o.links
}

// open reports whether it can be open what the cause of a dead port is.
func (o *mortals) open() bool { return o.kind == Any && o.when != Flapping }

// element is what an item is, of links and switches.
func (o *mortals) element(item int32) Element {
	if item >= o.links {
		return Element{Switch: true, ID: uint32(item - o.links)}
	}
	return Element{ID: uint32(item)}
}

// item is the number of a link or a switch.
func (o *mortals) item(e Element) int32 {
	if e.Switch {
		return o.links + int32(e.ID)
	}
	return int32(e.ID)
}

// suspect is the switch of a suspicion.
func (o *mortals) suspect(is fact) int32 {
	i := int32(is>>1) - o.links - o.switches
	return o.ends[i/2][i&1]
}

// causes is the fewest faults that have these ports of a switch dead.
func (o *mortals) causes(m *model, sw int32, dead switching.PortSet) (n int) {
	if o.kind == Links {
		return dead.Len()
	}
	if o.oneByOne && o.can[sw] {
		return 1
	}
	var seen [weft.MaxPorts]uint32
	for p := range weft.PortID(m.ports(int(sw))) {
		if !dead.Has(p) {
			continue
		}
		to := m.peer(int(sw), p)
		if o.can[to.node] && slices.Contains(seen[:n], to.node+1) {
			continue
		}
		if seen[n] = 0; o.can[to.node] {
			seen[n] = to.node + 1
		}
		n++
	}
	return n
}

// says calls do with the facts that a switch has with some ports dead and some up: once for every
// set of causes, where these are not left open. The facts are sorted.
func (o *mortals) says(m *model, st *state, dead, up switching.PortSet, do func(facts []fact)) {
	var facts []fact
	if o.when != Flapping {
		for p := range weft.PortID(m.ports(int(st.sw))) {
			if to := m.peer(int(st.sw), p); up.Has(p) {
				if o.kind != Switches {
					facts = append(facts, fact(to.link)<<1)
				}
				if o.can[to.node] {
					facts = append(facts, fact(o.links+int32(to.node))<<1)
				}
			}
		}
	}
	o.blame(m, st, dead, facts, -1, do)
	if o.oneByOne && o.can[st.sw] {
		o.blame(m, st, dead, facts, o.links+st.sw, do)
	}
}

// blame adds a cause for every dead port, in all ways that there are. own is the item of the switch
// itself where its ports are dead because they come up one by one, -1: they are not.
func (o *mortals) blame(m *model, st *state, dead switching.PortSet, facts []fact, own int32, do func(facts []fact)) {
	var doubtful [][2]int32 // the link, and the switch
	if own >= 0 {
		in := switching.PortSet{}
		if dead.Has(st.in) {
			in.Add(st.in)
		}
		dead = in
		facts = append(facts, fact(own)<<1|1)
	}
	for p := range weft.PortID(m.ports(int(st.sw))) {
		if !dead.Has(p) {
			continue
		}
		to := m.peer(int(st.sw), p)
		link, sw := int32(to.link), o.links+int32(to.node)
		switch can := o.can[to.node]; {
		case o.kind == Switches && !can:
			return
		case o.kind == Switches:
			facts = append(facts, fact(sw)<<1|1)
		case can && o.open():
			facts = append(facts, fact(link)<<1|1, fact(o.links+o.switches+2*link+side(m, to))<<1|1)
		case can:
			doubtful = append(doubtful, [2]int32{link, sw})
		default:
			facts = append(facts, fact(link)<<1|1)
		}
	}
	for mask := range 1 << len(doubtful) {
		list := slices.Clone(facts)
		for i, either := range doubtful {
			list = append(list, fact(either[mask>>i&1])<<1|1)
		}
		slices.Sort(list)
		list = slices.Compact(list)
		if n := len(list); o.agree(list) && (o.when != Flapping || n-min(1, int(own)+1) <= o.here) {
			do(list)
		}
	}
}

// agree reports whether no item is both up and dead in a list that is sorted: parallel links lead
// to the same switch.
func (o *mortals) agree(facts []fact) bool {
	for i := 1; i < len(facts); i++ {
		if facts[i]>>1 == facts[i-1]>>1 {
			return false
		}
	}
	return true
}

// learn sets merged to what is known and what an outcome adds, and counts the faults that this
// takes more. ok is false where the two contradict each other.
//
// The cause of a dead port stays open while nothing is asked about the switch: then all ports that
// lead there are dead for one fault. Once that switch is found alive, it is the links.
func (o *mortals) learn(merged, known []fact, out *outcome) (_ []fact, more int32, ok bool) {
	switches, marks := fact(o.links)<<1, fact(o.links+o.switches)<<1
	merged = merged[:0]
	i, links := 0, 0
	var fresh []fact // links that are newly known to be dead
	for ; links < len(out.facts) && out.facts[links] < switches; links++ {
		is := out.facts[links]
		for i < len(known) && known[i]|1 < is|1 {
			merged = append(merged, known[i])
			i++
		}
		switch {
		case i < len(known) && known[i]|1 == is|1:
			if known[i] != is {
				return merged, 0, false
			}
			i++
		case is.dead():
			fresh = append(fresh, is)
		}
		merged = append(merged, is)
	}
	for i < len(known) && known[i] < switches {
		merged = append(merged, known[i])
		i++
	}
	alive := len(merged)
	said := links
	for said < len(out.facts) && out.facts[said] < marks {
		said++
	}
	for j := links; i < len(known) && known[i] < marks || j < said; {
		switch {
		case j == said || i < len(known) && known[i] < out.facts[j]:
			merged = append(merged, known[i])
			i++
		case i == len(known) || known[i] > out.facts[j]:
			merged = append(merged, out.facts[j])
			j++
		default:
			merged = append(merged, known[i])
			i, j = i+1, j+1
		}
	}
	lives, found := merged[alive:], out.facts[links:said]
	more = int32(len(fresh))
	from := len(merged)
	for _, mark := range known[i:] {
		if !slices.Contains(found, o.alive(mark)) {
			merged = append(merged, mark)
		}
	}
	for _, mark := range out.facts[said:] {
		if slices.Contains(fresh, o.link(mark)) && !slices.Contains(lives, o.alive(mark)) {
			merged = append(merged, mark)
		}
	}
	slices.Sort(merged[from:])
	// Each switch under suspicion costs one in place of its links.
	more += o.spared(known[i:]) - o.spared(merged[from:])
	return merged, more, true
}

// alive is the fact that the suspect of a suspicion is alive.
func (o *mortals) alive(mark fact) fact { return fact(o.links+o.suspect(mark)) << 1 }

// link is the fact that the link of a suspicion is dead.
func (o *mortals) link(mark fact) fact {
	return fact((int32(mark>>1)-o.links-o.switches)/2)<<1 | 1
}

// spared is how many faults suspicions spare.
func (o *mortals) spared(marks []fact) (n int32) {
	for i, mark := range marks {
		suspect := o.suspect(mark)
		if slices.ContainsFunc(marks[:i], func(is fact) bool { return o.suspect(is) == suspect }) {
			n++
		}
	}
	return n
}

// dead is what is dead where a packet goes by an edge at the least cost, and then round a cycle if
// it has a livelock.
func (w *lazyWalk) dead(edge int32, loops bool) (list []Element) {
	var path []int32
	for at := edge; at >= 0; at = w.nodes[w.edges[at].node].from {
		path = append(path, at)
	}
	slices.Reverse(path)
	seen := map[int32]bool{}
	for at := w.edges[edge].to; loops && !seen[at]; {
		seen[at] = true
		n := &w.nodes[at]
		for i := n.first; i < n.last; i++ {
			if e := &w.edges[i]; e.cost == 0 && e.to >= 0 && w.nodes[e.to].loops == 0 {
				path = append(path, i)
				at = e.to
				break
			}
		}
	}
	return w.deadAlong(path)
}

// deadAlong is what is dead where a packet goes by some edges, from where it starts.
func (w *lazyWalk) deadAlong(path []int32) []Element {
	var known []fact
	var by []uint8 // where states are folded: what the names at the source have become
	if w.fold != nil {
		by = w.fold.none()
	}
	for _, at := range path {
		e := &w.edges[at]
		n := &w.nodes[e.node]
		o := &w.classes[n.class].outcomes[e.outcome]
		w.learn(known, o)
		known = append(known[:0], w.merged...)
		if w.faults.when != Before {
			known = slices.DeleteFunc(known, func(is fact) bool { return !is.dead() })
		}
		if w.fold != nil && o.to >= 0 {
			w.learn(w.known[n.known], o)
			_, step := w.remembers(o, n.cost+e.cost)
			known, by = w.fold.facts(step, known), w.fold.then(by, step)
		}
	}
	if w.fold != nil {
		known = w.fold.facts(w.fold.inverse(by), known)
	}
	if w.vectors {
		known = slices.DeleteFunc(known, func(is fact) bool { return is >= w.faults.bits() })
	}
	if w.groups != nil {
		known = slices.DeleteFunc(known, func(is fact) bool { return int32(is>>1) >= w.groups.base })
	}
	return w.faults.fewest(known)
}

// fewest is the fewest faults that make what is known true.
func (o *mortals) fewest(known []fact) (list []Element) {
	marks := fact(o.links+o.switches) << 1
	for _, is := range known {
		if is.dead() && is < marks {
			list = append(list, o.element(int32(is>>1)))
		}
	}
	for i, mark := range known {
		if mark < marks {
			continue
		}
		sw := Element{Switch: true, ID: uint32(o.suspect(mark))}
		for _, other := range known[i+1:] {
			if o.suspect(other) == int32(sw.ID) {
				list = slices.DeleteFunc(list, func(e Element) bool {
					return e == o.element(int32(o.link(mark)>>1)) || e == o.element(int32(o.link(other)>>1))
				})
				if !slices.Contains(list, sw) {
					list = append(list, sw)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Element) int { return int(o.item(a) - o.item(b)) })
	return list
}

// split parts facts, which are sorted, into those about links and switches, and suspicions.
func (o *mortals) split(facts []fact) (plain, marks []fact) {
	i, _ := slices.BinarySearch(facts, fact(o.links+o.switches)<<1)
	return facts[:i], facts[i:]
}

// joins writes, for an outcome that is described, which switches the links are at that have got a
// number by it, those from one number on, and which switch is under suspicion for which link.
func (w *lazyWalk) joins(plain, marks []fact, numbers *numbers, from int32, write func(n int32)) {
	o := w.faults
	number := func(item int32) int32 {
		if w.fixed[item>>6]>>(item&63)&1 == 1 {
			return item<<1 | 1
		}
		id, ok := numbers.get(item)
		if !ok {
			id = numbers.add(item)
		}
		return id << 1
	}
	for _, is := range plain {
		link := int32(is >> 1)
		if id, ok := numbers.get(link); link >= o.links || !ok || id < from {
			continue
		}
		var ends [2]int32
		for i, sw := range o.ends[link] {
			if ends[i] = -1; sw >= 0 {
				ends[i] = number(o.links + sw)
			}
		}
		write(min(ends[0], ends[1]))
		write(max(ends[0], ends[1]))
	}
	for _, mark := range marks {
		write(number(int32(o.link(mark) >> 1)))
		write(number(o.links + o.suspect(mark)))
	}
}
