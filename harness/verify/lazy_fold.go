package verify

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// fold takes packets of a tree for others that differ by how ports are numbered alone, for firmware
// that says [switching.Firmware.Symmetric]. In a switch <w,l> the digits below l say which subtree
// it is in, those from l on which copy of the subtree's root; every digit may be renumbered in each
// of the two meanings alone, the same for all switches. One destination stands for all, and of the
// packets to it one for all that a renumbering which keeps the destination takes to it.
//
// A renumbering is one number for each slot: what the value becomes. The values of digit i as
// subtree have the slots from sub[i] on, those as copy the slots from copies[i] on.
type fold struct {
	m           *model
	tiers       int
	sub, copies []int32
	sizes       []int32   // of the values that begin at a slot; 0: none begins there
	switchAt    [][]int32 // per tier: the switch with some digits, see mixed
	begins      []int32   // per slot: where its digit begins
	coords      [][]int32 // per link between switches: its slots
	upper       []int     // per link: the tier of its upper end
	linkAt      [][]int32 // per tier of the upper end: the link with some coordinates
	places      [][]int32 // per switch: its slots
	above       []int32   // per link: which of its ends is the upper one
	label       []uint8   // per slot, of the state that is ordered
	colour      []uint64  // per slot
	more        []uint64
	values      []uint8
	rng         *rand.Rand
}

// What the value of a slot is to a state. Values of other labels are not taken for each other.
const (
	ofDestination = 1 << iota // comes first: a digit of the destination, which is 0, stays so
	ofSwitch
	ofArrival
	ofVector
	ofPortField
)

// newFold is nil where the links are not those of a whole tree.
func newFold(m *model) *fold {
	if len(m.g.Switches) == 0 || m.g.Place(0).Tree == nil || m.g.Place(0).Tree.Ports != nil {
		return nil
	}
	t := m.g.Place(0).Tree
	q := &fold{m: m, tiers: t.N, rng: rand.New(weft.Stream(1, weft.StreamFaultSets, 0, 0))}
	if q.tiers < 2 || q.tiers > maxTiers {
		return nil
	}
	add := func(at *[]int32, size int) {
		*at = append(*at, int32(len(q.sizes)))
		q.begins = append(q.begins, slices.Repeat([]int32{int32(len(q.sizes))}, size)...)
		q.sizes = append(append(q.sizes, int32(size)), make([]int32, size-1)...)
	}
	for i := range q.tiers {
		add(&q.sub, t.Radix[i])
	}
	for i := range q.tiers - 1 {
		most := 0
		for _, sw := range m.g.Switches {
			if int(sw.Tier) <= i {
				most = max(most, sw.Digits[i]+1)
			}
		}
		add(&q.copies, most)
	}
	q.label, q.values = make([]uint8, len(q.sizes)), make([]uint8, len(q.sizes))
	q.colour, q.more = make([]uint64, len(q.sizes)), make([]uint64, len(q.sizes))
	if slices.Max(q.sizes) > 256 || !q.whole() {
		return nil
	}
	return q
}

// whole notes the switches and links by their digits, and reports whether all are there.
func (q *fold) whole() bool {
	q.switchAt, q.linkAt = make([][]int32, q.tiers), make([][]int32, q.tiers-1)
	for t := range q.tiers {
		q.switchAt[t] = slices.Repeat([]int32{-1}, q.count(t, t))
		if t < q.tiers-1 {
			q.linkAt[t] = slices.Repeat([]int32{-1}, q.count(t, t+1))
		}
	}
	for id, sw := range q.m.g.Switches {
		at := make([]int32, 0, len(sw.Digits))
		for i, d := range sw.Digits {
			at = append(at, q.digit(int(sw.Tier), i)+int32(d))
		}
		q.places = append(q.places, at)
		if q.switchAt[sw.Tier][q.mixed(int(sw.Tier), nil, sw.Digits)] != -1 {
			return false
		}
		q.switchAt[sw.Tier][q.mixed(int(sw.Tier), nil, sw.Digits)] = int32(id)
	}
	for t := range q.switchAt {
		if slices.Contains(q.switchAt[t], -1) {
			return false
		}
	}
	links := len(q.m.g.Links)
	q.coords, q.upper, q.above = make([][]int32, links), make([]int, links), make([]int32, links)
	for id, sw := range q.m.g.Switches {
		t := q.m.g.Place(weft.SwitchID(id)).Tree
		for p := range weft.PortID(q.m.ports(id)) {
			to := q.m.peer(id, p)
			switch j := int32(t.DownIndex(p)); {
			case j < 0:
			case t.Leaf():
				if to.kind != weft.KindNIC || int32(to.node) != q.nic(sw.Digits, j, nil) {
					return false
				}
			default:
				below := slices.Clone(sw.Digits)
				below[t.Tier] = int(j)
				child := q.switchAt[t.Tier+1][q.mixed(int(t.Tier)+1, nil, below)]
				up := q.m.g.Place(weft.SwitchID(child)).Tree.Up(sw.Digits[t.Tier])
				if to.kind != weft.KindSwitch || int32(to.node) != child || to.port != up {
					return false
				}
				var at []int32
				for i := range int(t.Tier) {
					at = append(at, q.sub[i]+int32(sw.Digits[i]))
				}
				at = append(at, q.sub[t.Tier]+j)
				for i := int(t.Tier); i < q.tiers-1; i++ {
					at = append(at, q.copies[i]+int32(sw.Digits[i]))
				}
				q.coords[to.link], q.upper[to.link], q.above[to.link] = at, int(t.Tier), 1-side(q.m, to)
				q.linkAt[t.Tier][q.place(at, nil)] = int32(to.link)
			}
		}
	}
	for t := range q.linkAt {
		if slices.Contains(q.linkAt[t], -1) {
			return false
		}
	}
	return true
}

// count is how many things there are whose digits below one are subtrees and whose digits from
// another on are copies.
func (q *fold) count(copies, subtrees int) int {
	n := 1
	for i := range subtrees {
		n *= int(q.sizes[q.sub[i]])
	}
	for i := copies; i < q.tiers-1; i++ {
		n *= int(q.sizes[q.copies[i]])
	}
	return n
}

// place is the number made of slots, renumbered by p if that is not nil.
func (q *fold) place(at []int32, p []uint8) (n int) {
	for _, slot := range at {
		value := slot - q.begins[slot]
		if p != nil {
			value = int32(p[slot])
		}
		n = n*int(q.sizes[q.begins[slot]]) + int(value)
	}
	return n
}

// digit is where the values of a digit of a switch of a tier begin.
func (q *fold) digit(tier, i int) int32 {
	if i < tier {
		return q.sub[i]
	}
	return q.copies[i]
}

// mixed is the number made of the digits of a switch, renumbered by p if that is not nil.
func (q *fold) mixed(tier int, p []uint8, digits []int) (n int) {
	for i, d := range digits {
		from := q.digit(tier, i)
		if p != nil {
			d = int(p[from+int32(d)])
		}
		n = n*int(q.sizes[from]) + d
	}
	return n
}

// nic is the NIC at a down port of a leaf, renumbered by p if that is not nil.
func (q *fold) nic(leaf []int, down int32, p []uint8) int32 {
	n := int32(q.mixed(q.tiers-1, p, leaf))
	if p != nil {
		down = int32(p[q.sub[q.tiers-1]+down])
	}
	return n*q.sizes[q.sub[q.tiers-1]] + down
}

// image is what becomes of a switch.
func (q *fold) image(p []uint8, sw int32) int32 {
	s := &q.m.g.Switches[sw]
	return q.switchAt[s.Tier][q.mixed(int(s.Tier), p, s.Digits)]
}

// ports is where the values of a port of a switch begin, and which of them it is.
func (q *fold) ports(sw int32, port weft.PortID) (from, value int32) {
	t := q.m.g.Place(weft.SwitchID(sw)).Tree
	if j := t.DownIndex(port); j >= 0 {
		return q.sub[t.Tier], int32(j)
	}
	return q.copies[t.Tier-1], int32(t.UpIndex(port))
}

// port is what becomes of a port of a switch.
func (q *fold) port(p []uint8, sw int32, port weft.PortID) weft.PortID {
	if int(port) >= q.m.ports(int(sw)) {
		return port
	}
	from, value := q.ports(sw, port)
	t := q.m.g.Place(weft.SwitchID(sw)).Tree
	if t.DownIndex(port) >= 0 {
		return t.DownAt(int(p[from+value]))
	}
	return t.Up(int(p[from+value]))
}

// lower is the tier of the lower end of the link of a port, 0 if a NIC is there: a port field is
// one of the down ports of that switch.
func (q *fold) lower(sw int32, port weft.PortID) int {
	tier := int(q.m.g.Switches[sw].Tier)
	switch {
	case q.m.peer(int(sw), port).kind != weft.KindSwitch:
		return 0
	case q.m.g.Place(weft.SwitchID(sw)).Tree.DownIndex(port) >= 0:
		return tier + 1
	}
	return tier
}

// owner is the tier of the switches of whose up ports the vector in a packet's header is, on a link
// whose lower end is in a tier: that one or, where the port field says by which down port of the
// lower end the packet came, the next one.
func owner(f weft.Fields, lower int) int {
	if f.PortField >= 0 {
		return lower + 1
	}
	return lower
}

// vector is where the values begin that bits of the vector in a packet's header stand for, on a
// link whose lower end is in a tier. -1: there is no such tier.
func (q *fold) vector(f weft.Fields, lower int) int32 {
	if owner(f, lower) >= q.tiers {
		return -1
	}
	return q.copies[owner(f, lower)-1]
}

// fields is what becomes of the fields of a packet on a link whose lower end is in a tier. ok is
// false where it is not known.
func (q *fold) fields(p []uint8, f weft.Fields, lower int) (_ weft.Fields, ok bool) {
	if lower == 0 {
		return f, f.Misroute == 0 && f.PortField < 0
	}
	from := q.vector(f, lower)
	if f.Misroute != 0 && (from < 0 || f.Misroute>>uint(q.sizes[from]) != 0) {
		return f, false
	}
	to := uint64(0)
	for v := f.Misroute; v != 0; v &= v - 1 {
		to |= 1 << p[from+int32(bits.TrailingZeros64(v))]
	}
	if f.Misroute = to; f.PortField >= 0 {
		if int32(f.PortField) >= q.sizes[q.sub[lower]] {
			return f, false
		}
		f.PortField = int16(p[q.sub[lower]+int32(f.PortField)])
	}
	return f, true
}

// state is what becomes of a state.
func (q *fold) state(p []uint8, st state, fields *interner[weft.Fields]) (_ state, ok bool) {
	f, ok := q.fields(p, fields.of(st.fields), q.lower(st.sw, st.in))
	st.fields = fields.id(f)
	st.sw, st.in = q.image(p, st.sw), q.port(p, st.sw, st.in)
	return st, ok
}

// labels sets the labels of a state.
func (q *fold) labels(st *state, f weft.Fields) {
	clear(q.label)
	for i := range q.sub {
		q.label[q.sub[i]] |= ofDestination
	}
	s := &q.m.g.Switches[st.sw]
	for i, d := range s.Digits {
		q.label[q.digit(int(s.Tier), i)+int32(d)] |= ofSwitch
	}
	from, value := q.ports(st.sw, st.in)
	q.label[from+value] |= ofArrival
	lower := q.lower(st.sw, st.in)
	if lower == 0 {
		return
	}
	from = q.vector(f, lower)
	for v := f.Misroute; v != 0 && from >= 0; v &= v - 1 {
		if b := int32(bits.TrailingZeros64(v)); b < q.sizes[from] {
			q.label[from+b] |= ofVector
		}
	}
	if b := int32(f.PortField); b >= 0 && b < q.sizes[q.sub[lower]] {
		q.label[q.sub[lower]+b] |= ofPortField
	}
}

// order is the renumbering that takes a state whose labels are set, and facts, to those which stand
// for them: values in the order of their labels, and then of what the facts say of them. Where that
// leaves several alike, one of these is told apart, and then what is said of the others says which
// are. Two that are the same but for the numbering may come to differ where the facts say the same
// of values that are not alike; they are then explored apart.
func (q *fold) order(facts []fact) []uint8 {
	for slot, is := range q.label {
		q.colour[slot] = uint64(is)
	}
	q.refine(facts, 3)
	for at := q.alike(facts); at >= 0; at = q.alike(facts) {
		q.colour[at] = weft.Scatter(q.colour[at])
		q.refine(facts, 2)
	}
	p := make([]uint8, len(q.sizes))
	for begins, size := range q.sizes {
		if size == 0 {
			continue
		}
		values := q.values[:size]
		for v := range values {
			values[v] = uint8(v)
		}
		slices.SortFunc(values, func(a, b uint8) int {
			x, y := int(a)+begins, int(b)+begins
			return cmp.Or(q.rank(x)-q.rank(y), cmp.Compare(q.colour[x], q.colour[y]), int(a)-int(b))
		})
		for to, v := range values {
			p[begins+int(v)] = uint8(to)
		}
	}
	return p
}

// refine tells values apart by what facts say of them, and of the other values that are in the same
// facts.
func (q *fold) refine(facts []fact, rounds int) {
	for range min(len(facts), rounds) {
		clear(q.more)
		for _, is := range facts {
			kind, tier, at := q.slots(int32(is >> 1))
			sum := uint64(is&1) | uint64(kind)<<1 | uint64(tier)<<4
			for _, slot := range at {
				sum = weft.Scatter(sum ^ q.colour[slot])
			}
			for i, slot := range at {
				q.more[slot] += weft.Scatter(sum + uint64(i))
			}
		}
		for slot, more := range q.more {
			if more != 0 {
				q.colour[slot] = weft.Scatter(q.colour[slot] ^ more)
			}
		}
	}
}

// alike is the first value of the first of several that facts are about and that are not told
// apart, -1: there are none. The first is that with the least colour, which does not depend on how
// they are numbered.
func (q *fold) alike(facts []fact) (first int) {
	first = -1
	for begins, size := range q.sizes {
		for a := begins; a < begins+int(size); a++ {
			if q.more[a] == 0 || first >= 0 && q.colour[a] >= q.colour[first] {
				continue
			}
			for b := a + 1; b < begins+int(size); b++ {
				if q.colour[a] == q.colour[b] && q.label[a] == q.label[b] {
					first = a
					break
				}
			}
		}
		if first >= 0 {
			break
		}
	}
	return first
}

// rank orders labels: the destination's digit first, and what is nothing last.
func (q *fold) rank(slot int) int { return -int(bits.Reverse8(q.label[slot])) }

// shuffled is a renumbering at random, of the destination too.
func (q *fold) shuffled() []uint8 {
	p := make([]uint8, len(q.sizes))
	for begins, size := range q.sizes {
		for i, v := range q.rng.Perm(int(size)) {
			p[begins+i] = uint8(v)
		}
	}
	return p
}

// imagesPerQuestion is how many renumberings of a question a firmware is asked, drawn at random,
// chosen by us: some million calls.
const imagesPerQuestion = 64

// believed reports whether the firmware, asked what a guess has asked with everything renumbered,
// answers the same, renumbered.
func (a *asker) believed(q *fold, f int, st *state, s *guess) bool {
	vector := slices.ContainsFunc(a.leaves, func(l leaf) bool { return l.vector })
	dst := q.m.flows[f].dst
	leaf, at := q.m.g.SwitchOf(dst)
	for i := range s.questions {
		ask := &s.questions[i]
		for image := range imagesPerQuestion {
			p := q.shuffled()
			to, ok := q.state(p, *st, &a.fields)
			if !ok {
				return false
			}
			now := int(q.nic(q.m.g.Switches[leaf].Digits, int32(at), p))
			a.turn++
			a.view(to.sw, to.in)
			d := a.route(now, &to, q.portSet(p, st.sw, ask.dead), q.portSet(p, st.sw, ask.up), ask.strict, a.turn)
			same := d.Rule == ask.rule && len(d.Candidates) == len(ask.candidates) &&
				a.bad(now, &to, d.Candidates) == ask.bad
			for _, c := range ask.candidates {
				if int(c.Port) < q.m.ports(int(st.sw)) {
					if q.m.peer(int(st.sw), c.Port).kind == weft.KindSwitch {
						if c.Fields, ok = q.fields(p, c.Fields, q.lower(st.sw, c.Port)); !ok {
							return false
						}
					}
					c.Port = q.port(p, st.sw, c.Port)
				}
				same = same && slices.Contains(d.Candidates, c)
			}
			if !same {
				u := &unlike{m: q.m, asked: [2]posed{
					{f, *st, a.fields.of(st.fields), ask.dead}, {now, to, a.fields.of(to.fields), a.views[to.sw].Dead},
				}}
				for port := range weft.PortID(q.m.ports(int(st.sw))) {
					u.ports = append(u.ports, q.port(p, st.sw, port))
				}
				a.unlike = u
				return false
			}
			if vector && i == 0 && image < imagesPerVector/8 && !a.vectorAt(now, &to, imagesPerVector) {
				return false
			}
		}
	}
	return true
}

// portSet is what becomes of some ports of a switch.
func (q *fold) portSet(p []uint8, sw int32, s switching.PortSet) (to switching.PortSet) {
	for port := range weft.PortID(q.m.ports(int(sw))) {
		if s.Has(port) {
			to.Add(q.port(p, sw, port))
		}
	}
	return to
}
