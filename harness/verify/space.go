package verify

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// space is what one worker knows: the states that packets can be in, numbered, and what the
// firmware answered in them. It is kept from one fault set to the next and emptied when it grows
// too large.
type space struct {
	m     *model
	flows []flowSpace

	fields  interner[weft.Fields]
	deads   interner[switching.PortSet]
	values  interner[registers] // the registers of one switch
	rules   interner[string]
	outs    interner[string] // sets of channels, as text
	waits   []wait
	waitIDs map[[2]int32]int32
	entries int
	limit   int // model.kept, but for tests

	still   []switching.Still // per switch
	sent    int               // which of packets is asked with
	src     int               // which of a flow's sources it is of
	turn    int               // counts what was asked with others of both
	wrong   error             // the firmware looks at one of them, which it says it does not
	classes bool              // an answer has had candidates of several classes
	record  bool              // keep what is asked, for a check of symmetry
	asked   []asking
	inexact
}

// asking is what the firmware was asked: the state of a packet of a flow, and of the switch that it
// is at.
type asking struct {
	flow, sw            int32
	in                  weft.PortID
	vc                  weft.VC
	fields, dead, value int32
}

// maxRegisters bounds what one switch may declare: one vector per value of a digit is 64 at most.
const maxRegisters = 64

// registers are those of a switch, and last which firmware it runs: what no packet can change, and
// of a mixture no packet knows before it has been there.
type registers [maxRegisters + 1]uint64

// inexact says what of a firmware's answers could only be sampled.
type inexact struct {
	draws, queues, now, packet bool
}

// wait is what a packet that came by a channel waits for: any of these channels.
type wait struct {
	channel int32
	outs    []int32
	one     []int32 // of outs, those for which one free place is enough
}

// flowSpace is the part of a space that belongs to one flow.
type flowSpace struct {
	states []state
	ids    map[uint64]int32
	starts [][]start // per source; several, where it has several addresses to choose among
	kept   []expansion
	more   map[moreKey]int32
	size   int // its part of space.entries
}

// state is a packet at a switch: where it came in, and its fields.
type state struct {
	sw     int32
	in     weft.PortID
	vc     weft.VC
	fields int32
	plain  [2]int32 // its expansion with no port dead and registers zero, by each firmware; -1 until asked
}

type moreKey struct{ state, dead, value int32 }

// expansion is all that can happen to a packet in one state with these dead ports and registers.
type expansion struct {
	alts []alternative
	regs bool // it depends on the registers, or changes them: what is written to one is the others' values too
	// alike, of the first firmware of a mixture: the second does the same. It is not known while
	// compared is not set.
	alike, compared bool
}

// alternative is one answer of the firmware. An answer that depends on random draws or queues has
// several.
type alternative struct {
	edges []edge
	rule  int32
	bad   badness
	turn  switching.Turn
	write int32 // the registers after it, as values number; -1: as they were
	wait  int32 // what it waits for; -1: nothing
	runs  int32 // the firmware whose answer it is; -1: of either
}

// edge is one candidate.
type edge struct {
	to  int32 // state; -1 delivered
	out int32 // the channel taken; -1 when it leads to a NIC
	// model.turn of channel in and channel out, -1 when it came from a NIC; when it leads to one,
	// the fields: see handed
	pair int32
	vc   weft.VC
	two  bool // it asks for more than one free place
	last bool // it is of the last class that the answer has
}

// badness is how a packet can end wrongly.
type badness uint8

const (
	good        badness = iota
	discarded           // by a rule
	stuck               // every candidate is a dead port
	misnamed            // a candidate is no port or VC of the switch
	misdelivery         // to another NIC
	undeclared          // writes a register that the switch does not have
)

func newSpace(m *model) *space {
	s := &space{m: m, limit: m.kept, still: make([]switching.Still, len(m.g.Switches))}
	for i := range s.still {
		s.still[i].At = m.g.Place(weft.SwitchID(i))
		s.still[i].Free, s.still[i].Channels = 2, m.vcs
	}
	s.clear()
	return s
}

// clear forgets everything. Numbers given out before mean nothing afterwards.
func (s *space) clear() {
	s.flows = make([]flowSpace, len(s.m.flows))
	s.fields, s.deads, s.values = interner[weft.Fields]{}, interner[switching.PortSet]{}, interner[registers]{}
	s.rules, s.outs = interner[string]{}, interner[string]{}
	s.deads.id(switching.PortSet{})
	for i := range s.m.runs {
		s.values.id(registers{maxRegisters: uint64(i)})
	}
	s.waits, s.waitIDs, s.entries, s.classes = nil, map[[2]int32]int32{}, 0, false
}

// start is the flow's space, with the states its packets begin in.
func (s *space) start(f int) *flowSpace {
	fs := &s.flows[f]
	if fs.starts == nil {
		fl := &s.m.flows[f]
		if fs.ids == nil {
			fs.ids, fs.more = map[uint64]int32{}, map[moreKey]int32{}
		}
		for _, src := range fl.srcs {
			sw, p := s.m.g.SwitchOf(src)
			var of []start
			for i := range s.m.runs {
				for _, h := range s.m.headers(&s.m.runs[i], src, fl.dst) {
					at := start{s.state(fs, int(sw), p, h.VC, h.Fields), int32(i)}
					if !slices.Contains(of, at) {
						of = append(of, at)
					}
				}
			}
			fs.starts = append(fs.starts, s.either(of))
		}
	}
	return fs
}

func (s *space) state(fs *flowSpace, sw int, in weft.PortID, vc weft.VC, fields weft.Fields) int32 {
	return s.stateWith(fs, sw, in, vc, s.fields.id(fields))
}

// stateWith is state with the number of the fields.
func (s *space) stateWith(fs *flowSpace, sw int, in weft.PortID, vc weft.VC, f int32) int32 {
	key := uint64(sw)<<48 | uint64(in)<<40 | uint64(vc)<<32 | uint64(uint32(f))
	id, ok := fs.ids[key]
	if !ok {
		id = int32(len(fs.states))
		fs.states = append(fs.states, state{sw: int32(sw), in: in, vc: vc, fields: f, plain: [2]int32{-1, -1}})
		fs.ids[key] = id
		fs.size++
		s.entries++
	}
	return id
}

// release forgets a flow, which is then explored anew, once too much is kept: a fabric of thousands
// of ports would not fit otherwise.
func (s *space) release(f int) {
	if s.entries > s.limit {
		s.entries -= s.flows[f].size
		s.flows[f] = flowSpace{}
	}
}

// expand is what can happen in a state with these dead ports and registers. What has nothing to do
// with the registers is the same expansion for all of them.
func (s *space) expand(f int, fs *flowSpace, id, dead, value int32) *expansion {
	blank := s.blank(value)
	if value != blank {
		if e := s.expand(f, fs, id, dead, blank); !e.regs {
			return e
		}
	}
	if dead == 0 && value == blank {
		if at := fs.states[id].plain[blank]; at >= 0 {
			return &fs.kept[at]
		}
	} else if at, ok := fs.more[moreKey{id, dead, value}]; ok {
		return &fs.kept[at]
	}
	e := s.ask(f, fs, id, dead, value)
	at := int32(len(fs.kept))
	fs.kept = append(fs.kept, e)
	fs.size += e.size()
	s.entries += e.size()
	if dead == 0 && value == blank {
		fs.states[id].plain[blank] = at
	} else {
		fs.more[moreKey{id, dead, value}] = at
	}
	return &fs.kept[at]
}

// size is what an expansion counts for in what is kept: about one for 32 bytes, the map's included.
func (e *expansion) size() int {
	n := 4
	for i := range e.alts {
		n += 1 + len(e.alts[i].edges)/2
	}
	return n
}

// ask asks the firmware, again with other draws and queues when it looks at them.
func (s *space) ask(f int, fs *flowSpace, id, dead, value int32) (e expansion) {
	st := fs.states[id]
	if s.record {
		s.asked = append(s.asked, asking{int32(f), st.sw, st.in, st.vc, st.fields, dead, value})
	}
	sw := &s.still[st.sw]
	sw.Dead = s.deads.of(dead)
	regs := s.values.of(value)
	sw.Registers = s.m.runs[regs[maxRegisters]].registers(regs[:], st.sw)
	sw.Asked, sw.Random, sw.Queued = switching.Asked{}, 0, nil
	e.alts = append(e.alts, s.once(f, fs, id, value))
	asked := sw.Asked
	if s.m.merged {
		s.otherwise(f, fs, id, value, &e.alts[0])
	} else {
		for s.sent = range packets {
			s.packet = e.add(s.once(f, fs, id, value)) || s.packet
		}
		s.sent = 0
	}
	if asked.Draw {
		s.draws = true
		for _, r := range draws(sw.At.Ports()) {
			sw.Random = r
			e.add(s.once(f, fs, id, value))
		}
		sw.Random = 0
	}
	if asked.Queues {
		s.inexact.queues = true
		for _, q := range loads(sw.At.Ports(), s.m.vcs) {
			sw.Queued = q
			e.add(s.once(f, fs, id, value))
		}
		sw.Queued = nil
	}
	s.now = s.now || asked.Now
	e.regs = sw.Asked.Register || slices.ContainsFunc(e.alts, func(a alternative) bool { return a.write >= 0 })
	return e
}

// otherwise asks a firmware that is DestinationBased what it was asked before, each
// time with another of the flow's sources and of packets. first is the answer that it gave.
func (s *space) otherwise(f int, fs *flowSpace, id, value int32, first *alternative) {
	srcs := s.m.flows[f].srcs
	s.turn++
	s.src, s.sent = s.turn%len(srcs), s.turn%len(packets)
	a := s.once(f, fs, id, value)
	if s.wrong == nil && !a.same(first) {
		st := &fs.states[id]
		s.wrong = fmt.Errorf("at %s, for a packet to %s that comes in by %v %v, it decides "+
			"by rule %q if it is from %s (%d bytes, %d hops), by rule %q if it is from %s (%d bytes, %d hops)",
			s.m.g.Switches[st.sw].Name, s.m.g.NICs[s.m.flows[f].dst].Name, st.in, st.vc,
			s.rules.of(first.rule), s.m.g.NICs[srcs[0]].Name, packets[0].Size, packets[0].Hops,
			s.rules.of(a.rule), s.m.g.NICs[srcs[s.src]].Name, packets[s.sent].Size, packets[s.sent].Hops)
	}
	s.src, s.sent = 0, 0
}

// packets are those that a firmware is asked with which does not say that it looks at none of this:
// as all that is explored, small, old, far in its flow, and from afar.
var packets = [...]weft.Header{
	{Size: 256},
	{Size: 1},
	{Size: 256, Injected: 1 << 40, Generation: 1},
	{Size: 256, Seq: 1001},
	{Size: 256, Hops: 5, Reroutes: 3},
}

// add adds an alternative, and reports that there was none like it.
func (e *expansion) add(a alternative) bool {
	if slices.ContainsFunc(e.alts, func(b alternative) bool { return a.same(&b) }) {
		return false
	}
	e.alts = append(e.alts, a)
	return true
}

func (a *alternative) same(b *alternative) bool { return a.rule == b.rule && a.leads(b) }

// leads reports whether a packet goes on by a as by b, whatever the rule.
func (a *alternative) leads(b *alternative) bool {
	return a.bad == b.bad && a.write == b.write && slices.Equal(a.edges, b.edges)
}

// draws are the random values a firmware is asked with: every residue and every leading part that a
// choice among so many can depend on.
func draws(n int) (d []uint64) {
	for i := range uint64(n) {
		d = append(d, i, i*(^uint64(0)/uint64(n))+1)
	}
	return append(d, ^uint64(0))
}

// loads are the queues a firmware is asked with: all full, and each port's full or empty alone.
func loads(ports, vcs int) (l []map[switching.Output]int) {
	fill := func(keep func(p int) bool) {
		q := map[switching.Output]int{}
		for p := range ports {
			for vc := range vcs {
				if keep(p) {
					q[switching.Output{Port: weft.PortID(p), VC: weft.VC(vc)}] = 2
				}
			}
		}
		l = append(l, q)
	}
	fill(func(int) bool { return true })
	for p := range ports {
		fill(func(q int) bool { return p == q })
		fill(func(q int) bool { return p != q })
	}
	return l
}

// once asks the firmware once.
func (s *space) once(f int, fs *flowSpace, id, value int32) alternative {
	st, fl := fs.states[id], &s.m.flows[f]
	sw := &s.still[st.sw]
	runs := s.blank(value)
	r := &s.m.runs[runs]
	d := s.m.route(&r.fw, sw, f, s.src, st.in, st.vc, s.fields.of(st.fields), s.sent)
	a := alternative{rule: s.rules.id(d.Rule), turn: d.Turn, write: -1, wait: -1, runs: runs}
	if d.Write.Do && (d.Write.Index < 0 || d.Write.Index >= r.declared[st.sw]) {
		a.bad = undeclared
		return a
	}
	if d.Write.Do {
		v := s.values.of(value)
		v[d.Write.Index] = d.Write.Value
		a.write = s.values.id(v)
	}
	if len(d.Candidates) == 0 {
		a.bad = discarded
		return a
	}
	in := s.m.into(int(st.sw), st.in, st.vc)
	var outs, one []int32
	a.bad = stuck
	accepted := false
	last := uint8(0)
	a.edges = make([]edge, 0, len(d.Candidates))
	for _, c := range d.Candidates {
		switch {
		case int(c.Port) >= sw.At.Ports() || int(c.VC) >= s.m.vcs:
			a.bad = misnamed
			return a
		case !sw.PortUp(c.Port):
			continue
		}
		if a.bad == stuck {
			a.bad, last = good, c.Class
		}
		s.classes = s.classes || c.Class != last
		last = max(last, c.Class)
		to := s.m.peer(int(st.sw), c.Port)
		if to.kind == weft.KindNIC {
			accepted = true
			if weft.NICID(to.node) != fl.dst {
				a.bad = misdelivery
			}
			a.edges = append(a.edges, edge{to: -1, out: -1, pair: s.fields.id(c.Fields), vc: c.VC, last: true})
			continue
		}
		out := s.m.channel(int(st.sw), c.Port, c.VC)
		next := edge{to: s.state(fs, int(to.node), to.port, c.VC, c.Fields), out: out, pair: -1, vc: c.VC, two: c.Need > 1}
		if in >= 0 {
			next.pair = s.m.turn(int(st.sw), st.in, st.vc, c.Port, c.VC)
		}
		a.edges = append(a.edges, next)
		outs = append(outs, out)
		if !next.two {
			one = append(one, out)
		}
	}
	for i, live := 0, 0; i < len(d.Candidates); i++ {
		if c := &d.Candidates[i]; sw.PortUp(c.Port) {
			a.edges[live].last = a.edges[live].last || c.Class == last
			live++
		}
	}
	if in >= 0 && !accepted && a.bad == good {
		a.wait = s.wait(in, outs, one)
	}
	return a
}

// handed is in which VC and with which fields a packet goes to its NIC by an edge that delivers it.
func (s *space) handed(e edge) (weft.VC, weft.Fields) {
	return e.vc, s.fields.of(e.pair)
}

// wait is the number of waiting in a channel for these; for those of them in one, one free place is
// enough.
func (s *space) wait(channel int32, outs, one []int32) int32 {
	slices.Sort(outs)
	outs = slices.Compact(outs)
	slices.Sort(one)
	one = slices.Compact(one)
	var text []byte
	for _, o := range outs {
		text = append(text, byte(o), byte(o>>8), byte(o>>16), byte(o>>24))
	}
	if len(one) == len(outs) {
		one = outs
	} else {
		for _, o := range one {
			text = append(text, byte(o), byte(o>>8), byte(o>>16), byte(o>>24))
		}
		text = append(text, byte(len(one))) // and no list of fours
	}
	key := [2]int32{channel, s.outs.id(string(text))}
	id, ok := s.waitIDs[key]
	if !ok {
		id = int32(len(s.waits))
		s.waits = append(s.waits, wait{channel, outs, one})
		s.waitIDs[key] = id
		s.entries += 4 + len(outs)/4
	}
	return id
}

// interner numbers values from 0.
type interner[T comparable] struct {
	ids  map[T]int32
	all  []T
	last T
	at   int32
}

func (i *interner[T]) id(v T) int32 {
	if i.ids == nil {
		i.ids = map[T]int32{}
	} else if v == i.last && len(i.all) > 0 {
		return i.at
	}
	id, ok := i.ids[v]
	if !ok {
		id = int32(len(i.all))
		i.all = append(i.all, v)
		i.ids[v] = id
	}
	i.last, i.at = v, id
	return id
}

func (i *interner[T]) of(id int32) T { return i.all[id] }
