package verify

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// unknownView is a switch of which it is open what most of its links are: the firmware finds a link
// up when it asks for the first time, and the view notes that it has asked.
type unknownView struct {
	switching.Still                   // Dead: the ports that are taken to be dead
	links           switching.PortSet // ports that lead to switches
	can             switching.PortSet // of these: whose link can be dead, which is not so of the one the packet came by
	known           switching.PortSet // of these: taken to be up
	asked           []weft.PortID     // in order: taken to be up since the firmware has asked
	offered         []weft.PortID     // asked for by Offer and not found dead
	open            switching.PortSet // of these: not known
	none            switching.PortSet // ports that lead nowhere
	strict          bool              // Offer is PortUp
}

// PortUp implements [switching.View]. A firmware calls it for all ports of a switch in a row.
func (v *unknownView) PortUp(p weft.PortID) bool {
	if p >= weft.MaxPorts {
		return false
	}
	word, bit := p/64, uint64(1)<<(p%64)
	switch {
	case (v.Dead[word]|v.none[word])&bit != 0:
		return false
	case v.can[word]&^v.known[word]&bit != 0:
		v.known[word] |= bit
		v.asked = append(v.asked, p)
	}
	return true
}

// FirstUp implements [switching.Searcher].
func (v *unknownView) FirstUp(from, end, but weft.PortID) weft.PortID {
	for end = min(end, weft.MaxPorts); from < end; from = (from/64 + 1) * 64 {
		word := from / 64
		up := ^(v.Dead[word] | v.none[word]) &^ (1<<(from%64) - 1)
		if but/64 == word {
			up &^= 1 << (but % 64)
		}
		if p := 64*word + weft.PortID(bits.TrailingZeros64(up)); up != 0 && p < end {
			v.PortUp(p)
			return p
		}
	}
	return weft.NoPort
}

// Offer implements [switching.Offerer].
func (v *unknownView) Offer(p weft.PortID) bool {
	if v.strict {
		return v.PortUp(p)
	}
	if !v.Still.PortUp(p) {
		return false
	}
	v.offered = append(v.offered, p)
	if v.can.Has(p) && !v.known.Has(p) {
		v.open.Add(p)
	}
	return true
}

// outcome is one thing that a decision can come to: what must be so of the links of the switch, and
// where the packet goes then.
type outcome struct {
	facts []fact // sorted
	to    int32  // a state, later its class; or delivered or lost
	out   int32  // the channel taken, -1: none
	by    int32  // where states are folded: the renumbering that takes what is there to the state
	from  int32  // the channel that the packet came by, where channels are not numbered
	two   bool   // see edge
	falls bool   // the channel's number is not above that of the one the packet came by

	vector *vectorUse // nil: it uses none
	header uint64     // where states are folded: the vector in the header, as numbered at this switch
	owner  int32      // and the tier of the switches that it is of
}

// What an outcome leads to beside a state.
const (
	delivered = -1
	lost      = -2 // discarded, to another NIC, or it waits for dead ports alone
)

// fact is what is known of a link: twice its number, and 1 more if it is dead.
type fact int32

func (f fact) dead() bool { return f&1 == 1 }

// Why the exploration of all sets at once gives up. The sets are then explored one by one.
var (
	errReads    = errors.New("the firmware reads registers, queues or random numbers")
	errOutcomes = errors.New("a decision depends on too many ports at once")
	errNodes    = errors.New("packets can know too much")
	errClaim    = errors.New("the firmware says that only the destination matters, which is not so")
)

// gaveUp reports whether an error says that all sets cannot be explored at once.
func gaveUp(err error) bool {
	return slices.ContainsFunc([]error{
		errReads, errOutcomes, errNodes, errClaim, errMemory, errTooLittle, errOthers,
	},
		func(why error) bool { return errors.Is(err, why) })
}

// maxOutcomes bounds what one decision can come to, chosen by us.
const maxOutcomes = 1 << 15

// asker asks the firmware with links unknown.
type asker struct {
	*space
	most     int // faults
	faults   *mortals
	views    []unknownView
	outcomes []outcome             // of the state that was asked about last
	choices  bool                  // a decision has left a choice
	lies     bool                  // the firmware looks at more than the destination
	other    []switching.Candidate // see decide
	facts    []fact                // of the outcomes
	leaves   []leaf
	pkt      weft.Header // that is asked about
	guesses  guesses
	fold     *fold     // nil: no state stands for others
	moves    [][]uint8 // renumberings that states were folded by
	moveIDs  map[string]int32
	unfit    bool             // the fields of a packet cannot be renumbered
	unlike   *unlike          // nil: what was asked with ports renumbered was answered alike
	looked   *guess           // how the state was asked that was asked about last; nil: that was not noted
	vectors  bool             // the firmware says that registers are vectors
	vectorOf map[[2]int32]int // per switch and destination
	writes   bool             // a decision has written a register
}

func newAsker(m *model, most int, faults *mortals) *asker {
	a := &asker{
		space: newSpace(m), most: most, faults: faults, views: make([]unknownView, len(m.g.Switches)),
		vectorOf: map[[2]int32]int{},
	}
	for s := range a.views {
		v := &a.views[s]
		v.Still = a.still[s]
		v.Registers = make([]uint64, m.runs[0].declared[s])
		for p := range weft.PortID(weft.MaxPorts) {
			switch {
			case !v.Still.PortUp(p):
				v.none.Add(p)
			case m.peer(s, p).kind == weft.KindSwitch:
				v.links.Add(p)
			}
		}
	}
	return a
}

// look asks the firmware about a packet in a state, whatever is dead.
func (a *asker) look(f int, st *state) error {
	v := a.view(st.sw, st.in)
	v.Asked, a.writes = switching.Asked{}, false
	if err := a.tree(f, st); err != nil {
		return err
	}
	if v.Asked.Queues || v.Asked.Draw || (v.Asked.Register || a.writes) && !a.registersAsVectors(f, st) {
		return errReads
	}
	if a.lies {
		return errClaim
	}
	a.now = a.now || v.Asked.Now
	return nil
}

// view is what a packet that came in by a port sees of a switch.
func (a *asker) view(sw int32, in weft.PortID) *unknownView {
	v := &a.views[sw]
	if v.can = a.faults.ports[sw]; a.faults.when == Before {
		v.can.Remove(in)
	}
	return v
}

// list lists the outcomes of a packet in the state that was looked at.
func (a *asker) list(fs *flowSpace, st state) {
	a.outcomes, a.facts = a.outcomes[:0], a.facts[:0]
	for i := range a.leaves {
		l := &a.leaves[i]
		leads := a.leads(fs, &st, l)
		switch {
		case l.vector && a.faults.when == Flapping:
			a.outcomes = append(a.outcomes, a.withVector(&st, l, leads))
		case a.faults.kind == Links && a.faults.when != Flapping:
			a.outcomes = append(a.outcomes, a.withFacts(&st, l, leads))
		default:
			a.faults.says(a.m, &st, l.dead, l.up, func(facts []fact) {
				o := leads
				o.facts = facts
				a.facts = append(a.facts, facts...)
				a.outcomes = append(a.outcomes, o)
			})
		}
	}
}

// leaf is where a packet goes, with the ports that must be dead and up.
type leaf struct {
	port     weft.PortID // [weft.NoPort]: it is lost
	vc       weft.VC
	two      bool // see edge
	fields   int32
	dead, up switching.PortSet
	vector   bool // by a vector, see vectorUse: where it is lost, all of dead are dead or tried
	again    bool // the switch has come back since the packet was there
}

// fork adds the outcomes with these ports dead and these up: one where all else that the firmware
// asks about is up, and for each port that it asks about those where it is the first dead one. A
// question of which the answer changes nothing has not been asked.
func (a *asker) fork(f int, st *state, dead, up switching.PortSet, strict bool) error {
	if len(a.leaves) > maxOutcomes {
		return errOutcomes
	}
	v := &a.views[st.sw]
	d := a.decide(f, st, dead, up, strict)
	if v.open != (switching.PortSet{}) && !v.offersAll(d.Candidates) {
		return a.fork(f, st, dead, up, true) // it does not offer what it asked to offer
	}
	from := len(a.leaves)
	asked, open, all := slices.Clone(v.asked), v.open, v.known
	some := a.add(f, st, d.Candidates, dead, all)
	if none := dead.Union(&open); open != (switching.PortSet{}) && !some && a.faults.causes(a.m, st.sw, none) <= a.most {
		if err := a.fork(f, st, none, all, strict); err != nil {
			return err
		}
	}
	for _, p := range slices.Backward(asked) {
		mid := len(a.leaves)
		all.Remove(p)
		if one := with(dead, p); a.faults.causes(a.m, st.sw, one) <= a.most {
			if err := a.fork(f, st, one, all, strict); err != nil {
				return err
			}
			if !sameBut(a.leaves[from:mid], a.leaves[mid:], p) {
				continue
			}
		}
		a.leaves = a.leaves[:mid] // no more can be dead, or it is all the same
		for i := range a.leaves[from:] {
			a.leaves[from+i].up.Remove(p)
		}
	}
	return nil
}

// sameBut reports whether outcomes with a port up are those with it dead.
func sameBut(up, dead []leaf, p weft.PortID) bool {
	if len(up) != len(dead) {
		return false
	}
	for i := range up {
		u, d := up[i], dead[i]
		u.up.Remove(p)
		d.dead.Remove(p)
		if u != d {
			return false
		}
	}
	return true
}

func with(s switching.PortSet, p weft.PortID) switching.PortSet {
	s.Add(p)
	return s
}

// decide asks the firmware, and once more with another source and packet: it says that only the
// destination matters. The candidates are those of the first answer.
func (a *asker) decide(f int, st *state, dead, up switching.PortSet, strict bool) switching.Decision {
	a.turn++
	other := a.route(f, st, dead, up, strict, a.turn)
	a.other = append(a.other[:0], other.Candidates...)
	d := a.route(f, st, dead, up, strict, 0)
	a.lies = a.lies || d.Rule != other.Rule || !slices.Equal(d.Candidates, a.other)
	a.guesses.note(&a.views[st.sw], dead, up, strict, &d)
	return d
}

// route asks the firmware about one of the packets of a flow, which differ by source and more.
func (a *asker) route(f int, st *state, dead, up switching.PortSet, strict bool, turn int) switching.Decision {
	v := &a.views[st.sw]
	v.Dead, v.strict = dead, strict
	v.known, v.open, v.asked, v.offered = up, switching.PortSet{}, v.asked[:0], v.offered[:0]
	fl := &a.m.flows[f]
	a.pkt = packets[turn%len(packets)]
	a.pkt.Src, a.pkt.Dst, a.pkt.VC, a.pkt.Fields = fl.srcs[turn%len(fl.srcs)], fl.dst, st.vc, a.fields.of(st.fields)
	d := a.m.decided(&a.m.runs[0].fw, v, st.in, &a.pkt)
	a.writes = a.writes || d.Write.Do
	return d
}

// offersAll reports whether the candidates are at the ports that the firmware asked to offer, at
// all of them and at no others, and it asked of none of these otherwise.
func (v *unknownView) offersAll(candidates []switching.Candidate) bool {
	var at, offered switching.PortSet
	for i := range candidates {
		c := &candidates[i]
		if !v.links.Has(c.Port) || int(c.VC) >= v.VCs() {
			return false
		}
		at.Add(c.Port)
	}
	for _, p := range v.offered {
		offered.Add(p)
		if v.open.Has(p) && v.known.Has(p) {
			return false
		}
	}
	return at == offered
}

// add adds the leaves of a decision, and reports whether one of its candidates is up for certain.
func (a *asker) add(f int, st *state, candidates []switching.Candidate, dead, up switching.PortSet) (some bool) {
	v := &a.views[st.sw]
	var open switching.PortSet // ports of candidates that need not be up
	live := 0
	for i := range candidates {
		c := &candidates[i]
		switch {
		case int(c.Port) >= v.At.Ports() || !v.Still.PortUp(c.Port):
			continue
		case v.can.Has(c.Port) && !up.Has(c.Port):
			open.Add(c.Port)
		default:
			some = true
		}
		live++
	}
	a.choices = a.choices || live > 1
	if a.bad(f, st, candidates) {
		a.emit(st, leaf{port: weft.NoPort, dead: dead, up: up})
		return true
	}
	if !some && v.open == (switching.PortSet{}) {
		a.emit(st, leaf{port: weft.NoPort, dead: dead.Union(&open), up: up}) // it waits for dead ports alone
	}
	for i := range candidates {
		c := &candidates[i]
		if !v.Still.PortUp(c.Port) {
			continue
		}
		l := leaf{port: c.Port, vc: c.VC, two: c.Need > 1, fields: a.fields.id(c.Fields), dead: dead, up: up}
		if open.Has(c.Port) {
			l.up.Add(c.Port)
		}
		a.emit(st, l)
	}
	return some
}

// bad reports whether a decision loses the packet: by a discard, to what is no output, or to
// another NIC.
func (a *asker) bad(f int, st *state, candidates []switching.Candidate) bool {
	v := &a.views[st.sw]
	for i := range candidates {
		c := &candidates[i]
		if int(c.Port) >= v.At.Ports() || int(c.VC) >= a.m.vcs {
			return true
		}
		to := a.m.peer(int(st.sw), c.Port)
		if to.kind == weft.KindNIC && weft.NICID(to.node) != a.m.flows[f].dst && v.Still.PortUp(c.Port) {
			return true
		}
	}
	return len(candidates) == 0
}

// emit adds a leaf.
func (a *asker) emit(st *state, l leaf) {
	if a.faults.causes(a.m, st.sw, l.dead) <= a.most {
		a.leaves = append(a.leaves, l)
	}
}

// leads is the outcome of a leaf, without facts.
func (a *asker) leads(fs *flowSpace, st *state, l *leaf) outcome {
	in := a.m.into(int(st.sw), st.in, st.vc)
	o := outcome{to: delivered, out: -1, from: in, two: l.two}
	if l.vector {
		o.vector = a.vectorUse(st, l)
	}
	if l.port == weft.NoPort {
		o.to = lost
		return o
	}
	if to := a.m.peer(int(st.sw), l.port); to.kind == weft.KindSwitch {
		o.out = a.m.channel(int(st.sw), l.port, l.vc)
		if a.fold != nil {
			f := a.fields.of(l.fields)
			o.header, o.owner = f.Misroute, int32(owner(f, a.fold.lower(st.sw, l.port)))
			o.to, o.by = a.folded(fs, state{sw: int32(to.node), in: to.port, vc: l.vc, fields: l.fields})
		} else {
			o.to = a.stateWith(fs, int(to.node), to.port, l.vc, l.fields)
		}
		o.falls = a.m.number != nil && in >= 0 && a.m.number[in] >= a.m.number[o.out]
	}
	return o
}

// withFacts is an outcome of a leaf, with what the leaf needs as facts.
func (a *asker) withFacts(st *state, l *leaf, o outcome) outcome {
	from := len(a.facts)
	for i := range l.up {
		for word := l.up[i] | l.dead[i]; word != 0; word &= word - 1 {
			p := weft.PortID(64*i + bits.TrailingZeros64(word))
			is := fact(a.m.peer(int(st.sw), p).link) << 1
			if l.dead.Has(p) {
				is |= 1
			}
			a.facts = append(a.facts, is)
		}
	}
	o.facts = a.facts[from:]
	if !slices.IsSorted(o.facts) {
		slices.Sort(o.facts)
	}
	return o
}

// key is the outcomes as text: states with the same need not be told apart.
func (a *asker) key(sw int32, text []byte) []byte {
	text = binary.AppendVarint(text[:0], int64(sw))
	for i := range a.outcomes {
		o := &a.outcomes[i]
		text = binary.AppendVarint(text, int64(o.to))
		text = binary.AppendVarint(text, int64(o.out))
		if a.m.number == nil {
			text = binary.AppendVarint(text, int64(o.from))
		}
		flags := int64(len(o.facts)) << 2
		if o.falls {
			flags |= 1
		}
		if o.two {
			flags |= 2
		}
		text = binary.AppendVarint(text, flags)
		for _, is := range o.facts {
			text = binary.AppendVarint(text, int64(is))
		}
	}
	return text
}
