package verify

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// orbits are the destinations of a tree of which one stands for the others: those that differ in
// the first digit, which says by which down port the highest switches reach them. Where these
// subtrees are moved on by any number, links stay links, and a firmware that goes through the down
// ports in a circle does the same, moved on.
//
// That it does is not believed. When a destination has been explored, the firmware is asked for the
// others what it was asked for this one, moved on, and each answer is compared. What would be asked
// next follows from the answers, so that the other destination is explored by this. Where an answer
// differs, the destination is explored by itself. Of a firmware that says
// [switching.Firmware.Cyclic], a sample of the states is compared in large trees.
type orbits struct {
	turns []*renumbering // by how far; the first is nil
	first []int32        // per destination: the one that is explored for it
	turn  []int32        // per destination: which of turns takes that one there
	every int            // of so many states one is compared
}

// errCyclic is that the firmware says that it is cyclic, which is not so.
var errCyclic = errors.New("the firmware says that it is cyclic, which is not so")

// Where there are more NICs than mostCompared, one in sampledStates states is compared. Both are
// chosen by us: comparing all of 11,664 destinations takes minutes, of a sample a tenth of what
// exploring takes.
const (
	mostCompared  = 256
	sampledStates = 256
)

// newOrbits finds the orbits, nil: there are none, or it is not wanted.
func newOrbits(r *run, turns []*renumbering) *orbits {
	if r.NoSymmetry || turns == nil {
		return nil
	}
	m := r.model
	s := &orbits{turns: slices.Clone(turns), every: 1}
	s.turns[0] = nil
	t := m.g.Place(0).Tree
	oneRadix := !slices.ContainsFunc(t.Radix[1:], func(radix int) bool { return radix != t.K })
	if m.runs[0].fw.Cyclic && oneRadix && len(m.g.NICs) > mostCompared {
		s.every = sampledStates
	}
	s.first, s.turn = slices.Repeat([]int32{-1}, len(m.g.NICs)), make([]int32, len(m.g.NICs))
	for d := range s.first {
		for by, to := 0, int32(d); s.first[to] < 0; by, to = by+1, turns[1].nics[to] {
			s.first[to], s.turn[to] = int32(d), int32(by)
		}
	}
	return s
}

// newTurns are the renumberings of a tree that move the subtrees below its highest switches on, by
// how far; the first moves nothing and is nil. nil: there are none.
func newTurns(m *model, o *mortals) []*renumbering {
	if !m.merged || o.oneByOne || o.parallel || len(m.g.Switches) == 0 {
		return nil
	}
	t := m.g.Place(0).Tree
	if t == nil || t.Ports != nil || len(m.g.Switches[0].Digits) == 0 {
		return nil
	}
	n, perms, values := subtreeDigit(m.g)
	perms[len(perms)-1] = moved(values)
	one, ok := n.renumber(perms)
	if !ok || values < 2 || !o.keeps(m, &one) {
		return nil
	}
	turns := []*renumbering{nil, &one}
	for len(turns) < values {
		turns = append(turns, one.after(turns[len(turns)-1]))
	}
	return turns
}

// subtreeDigit is how the switches of a tree are numbered, with permutations that change nothing.
// The last is that of the first digit as subtree, which has so many values.
func subtreeDigit(g *topology.Graph) (n *numbering, perms [][]int, values int) {
	n = newNumbering(g)
	for i := range g.Switches[0].Digits {
		most := 0
		for _, sw := range g.Switches {
			most = max(most, sw.Digits[i])
			if i == 0 && sw.Tier > 0 {
				values = max(values, sw.Digits[0]+1)
			}
		}
		n.sizes = append(n.sizes, most+1)
	}
	n.which = func(digit int, copied bool) int {
		if digit == 0 && !copied {
			return len(n.sizes)
		}
		return digit
	}
	for _, size := range append(slices.Clone(n.sizes), values) {
		perms = append(perms, identity(size))
	}
	return n, perms, values
}

// moved moves n values on by one, the last to the first.
func moved(n int) []int {
	p := identity(n)
	for i := range p {
		p[i] = (i + 1) % n
	}
	return p
}

// after is what first and then r make.
func (r *renumbering) after(first *renumbering) *renumbering {
	both := &renumbering{switches: slices.Clone(first.switches), nics: slices.Clone(first.nics)}
	for sw, to := range both.switches {
		ports := slices.Clone(first.ports[sw])
		for p := range ports {
			ports[p] = r.ports[to][ports[p]]
		}
		both.ports, both.switches[sw] = append(both.ports, ports), r.switches[to]
	}
	for d, to := range both.nics {
		both.nics[d] = r.nics[to]
	}
	return both
}

// keeps reports whether a renumbering takes what can be dead to what can be dead, and channels to
// channels of the same number.
func (o *mortals) keeps(m *model, r *renumbering) bool {
	for sw, to := range r.switches {
		if o.can[sw] != o.can[to] || portsOf(r.ports[sw], o.ports[sw]) != o.ports[to] {
			return false
		}
		for p, q := range r.ports[sw] {
			for vc := range weft.VC(m.vcs) {
				at := [2]int32{m.channel(sw, weft.PortID(p), vc), m.channel(int(to), q, vc)}
				if m.number != nil && m.number[at[0]] != m.number[at[1]] {
					return false
				}
			}
		}
	}
	return true
}

// portsOf is what some ports of a switch become.
func portsOf(ports []weft.PortID, s switching.PortSet) (to switching.PortSet) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			to.Add(ports[64*i+bits.TrailingZeros64(word)])
		}
	}
	return to
}

// size is how many destinations the one that is explored stands for.
func (s *orbits) size() int { return len(s.turns) }

// String says what was done.
func (s *orbits) String() string {
	how := "every decision of the others compared"
	if s.every > 1 {
		how = fmt.Sprintf("the decisions of the others compared in one of %d states, as the firmware says that it is cyclic",
			s.every)
	}
	return fmt.Sprintf("the first digit of destinations moved on: one of %d explored, %s", s.size(), how)
}

// mirrors reports whether the firmware does for a destination what it has done for the one that was
// walked to, moved on.
func (w *lazyWalk) mirrors(s *orbits, from, to int) bool {
	r := s.turns[s.turn[to]]
	by := chain{r}
	old, now := &w.m.flows[from], &w.m.flows[to]
	fs := &w.flows[from]
	for i, of := range fs.starts {
		src := old.srcs[i]
		if w.stood && !w.siblings.explores(src, old.dst) {
			continue
		}
		if (i+to)%s.every == 0 && !w.startsAlike(by, fs, of, by.nic(src), now.dst) {
			return false
		}
	}
	for i := (from + to) % s.every; i < len(fs.states); i += s.every {
		if w.lookedAt[i] == nil || !w.mirrored(by, to, fs.states[i], w.lookedAt[i]) {
			return false
		}
	}
	return !w.stood || w.sameInOthers(from, to, r)
}

// startsAlike reports whether packets of a pair start in the states that some others become.
func (w *lazyWalk) startsAlike(by chain, fs *flowSpace, of []start, src, dst weft.NICID) bool {
	sw, p := w.m.g.SwitchOf(src)
	met := make([]bool, len(of))
	for _, h := range w.m.headers(&w.m.runs[0], src, dst) {
		id := w.fields.id(h.Fields)
		i := slices.IndexFunc(of, func(at start) bool {
			st := &fs.states[at.state]
			to, ports := by.at(st.sw, w.ports)
			return to == int32(sw) && ports[st.in] == p && st.vc == h.VC && st.fields == id
		})
		if i < 0 {
			return false
		}
		met[i] = true
	}
	return !slices.Contains(met, false)
}

// mirrored asks what a guess has asked in a state of the destination that was walked to, moved on
// and for another destination, and reports whether all answers are the same, moved on.
func (w *lazyWalk) mirrored(by chain, to int, st state, s *guess) bool {
	sw, ports := by.at(st.sw, w.ports)
	here := renumbers(ports)
	st.sw, st.in = sw, ports[st.in]
	v := w.view(st.sw, st.in)
	v.Asked = switching.Asked{}
	for i := range s.questions {
		q := &s.questions[i]
		w.turn++
		// The packet is lost where that one is: ports lead to what has become of what those lead to.
		if !here {
			if d := w.route(to, &st, q.dead, q.up, q.strict, w.turn); !q.same(v, &d) {
				return false
			}
			continue
		}
		d := w.route(to, &st, portsOf(ports, q.dead), portsOf(ports, q.up), q.strict, w.turn)
		same := d.Rule == q.rule && v.open == portsOf(ports, q.open) && samePorts(ports, q.asked, v.asked) &&
			sameOffers(ports, q.offered, v.offered) && sameCandidates(ports, q.candidates, d.Candidates)
		if !same {
			return false
		}
	}
	w.now = w.now || v.Asked.Now
	return !v.Asked.Register && !v.Asked.Queues && !v.Asked.Draw
}

// renumbers reports whether ports of a switch get other numbers.
func renumbers(ports []weft.PortID) bool {
	for p, q := range ports {
		if int(q) != p {
			return true
		}
	}
	return false
}

// samePorts reports whether some ports become others, in order: what is asked next depends on it.
func samePorts(to, from, others []weft.PortID) bool {
	return slices.EqualFunc(from, others, func(p, q weft.PortID) bool { return to[p] == q })
}

// sameOffers reports whether some ports become others, in any order.
func sameOffers(to, from, others []weft.PortID) bool {
	var a, b switching.PortSet
	for _, p := range from {
		a.Add(to[p])
	}
	for _, p := range others {
		b.Add(p)
	}
	return a == b
}

// sameCandidates reports whether some candidates become others, in any order.
func sameCandidates(to []weft.PortID, from, others []switching.Candidate) bool {
	for i, c := range from {
		if int(c.Port) < len(to) {
			c.Port = to[c.Port]
		}
		if len(from) != len(others) || others[i] != c && !slices.Contains(others, c) {
			return false
		}
	}
	return len(from) == len(others)
}

// closeUnder adds what edges become where the subtrees are moved on.
func (g *waitGraph) closeUnder(s *orbits) {
	m := g.m
	one := s.turns[1]
	image := func(c int32) int32 {
		port := c / int32(m.vcs)
		sw := m.owner(port)
		return m.channel(int(one.switches[sw]), one.ports[sw][port-m.first[sw]], weft.VC(c%int32(m.vcs)))
	}
	images := make([]int32, m.channels)
	for c := range images {
		images[c] = image(int32(c))
	}
	seen := make(map[[2]int32]bool, len(g.edges))
	for _, e := range g.edges {
		seen[e] = true
	}
	for i := 0; i < len(g.edges); i++ {
		e := [2]int32{images[g.edges[i][0]], images[g.edges[i][1]]}
		if !seen[e] {
			seen[e] = true
			g.edges = append(g.edges, e)
		}
	}
}
