package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// symmetryCheck holds a firmware to its word that renumbered ports are the same to it. For every
// question that it is asked while fault sets are explored, and for every image of one, it compares
// the answer with the answers to the images by each generator of the group. As the images are asked
// too, that is for the whole group: the firmware does in a set that was not explored what it does,
// renumbered, in the one of its orbit that was.
//
// What becomes of a packet's fields and of registers nobody has to say: packets start with what
// their sources give them, registers with zero, and what an answer makes of either becomes what the
// answer to the image makes of it. It must be one and the same whatever the way there.
//
// All workers share one.
type symmetryCheck struct {
	m    *model
	gens []renumbering

	mu     sync.Mutex // guards the rest
	fields interner[weft.Fields]
	deads  interner[switching.PortSet]
	values interner[registers]

	states  []checkedState
	ids     map[checkedState]int32
	images  [][]int32            // per generator: the image of each state, -1 while it is not known
	deadTo  []map[[2]int32]int32 // per generator: of a switch and its dead ports, what these become
	valueTo []map[[2]int32]int32 // per generator: of a switch and its registers' values
	asked   map[question]struct{}
	todo    []question
	here    []switching.Still // per switch, of the question
	there   []switching.Still // and of its image
	first   []switching.Candidate
	list    []variant
	most    int   // questions; maxQuestions, but for tests
	err     error // what is not symmetric
}

// checkedState is a packet at a switch.
type checkedState struct {
	flow, sw int32
	in       weft.PortID
	vc       weft.VC
	fields   int32
}

// question is a state of a packet, and which ports are dead and what the registers hold where it
// is.
type question struct{ state, dead, value int32 }

// maxQuestions bounds the memory of a check, chosen by us: half a gigabyte.
const maxQuestions = 1 << 24

var errQuestions = errors.New("it takes too many questions")

func newSymmetryCheck(m *model, y *symmetry, most int) *symmetryCheck {
	c := &symmetryCheck{
		m: m, gens: y.generators, ids: map[checkedState]int32{}, asked: map[question]struct{}{},
		most: cmp.Or(most, maxQuestions),
	}
	c.deads.id(switching.PortSet{})
	for i := range m.runs {
		c.values.id(registers{maxRegisters: uint64(i)})
	}
	c.here = make([]switching.Still, len(m.g.Switches))
	for i := range c.here {
		c.here[i].At = m.g.Place(weft.SwitchID(i))
		c.here[i].Free, c.here[i].Channels = 2, m.vcs
	}
	c.there = slices.Clone(c.here)
	for range c.gens {
		c.images = append(c.images, nil)
		c.deadTo, c.valueTo = append(c.deadTo, map[[2]int32]int32{}), append(c.valueTo, map[[2]int32]int32{})
	}
	return c
}

// begin notes where packets start. The error tells that sources are not alike.
func (c *symmetryCheck) begin() error {
	for i := range c.m.runs {
		if err := c.beginWith(&c.m.runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// beginWith is begin where switches run r.
func (c *symmetryCheck) beginWith(r *running) error {
	for g := range c.gens {
		gen := &c.gens[g]
		for sw, to := range gen.switches {
			if r.declared[sw] != r.declared[to] {
				return fmt.Errorf("%s has %d registers, %s has %d", c.m.g.Switches[sw].Name, r.declared[sw],
					c.m.g.Switches[to].Name, r.declared[to])
			}
		}
		for f := range c.m.flows {
			for _, src := range c.m.flows[f].srcs {
				dst := c.m.flows[f].dst
				to, toDst := weft.NICID(gen.nics[src]), weft.NICID(gen.nics[dst])
				from, images := c.starts(r, f, src, dst), c.starts(r, c.flowOf(to, toDst), to, toDst)
				same := len(from) == len(images)
				for i := 0; same && i < len(from); i++ {
					same = c.states[from[i]].vc == c.states[images[i]].vc && c.become(g, from[i], images[i], true)
				}
				if !same {
					return fmt.Errorf("packets from %s to %s start otherwise than those from %s to %s (%s)", c.m.g.NICs[src].Name,
						c.m.g.NICs[dst].Name, c.m.g.NICs[to].Name, c.m.g.NICs[toDst].Name, gen.name)
				}
			}
		}
	}
	return nil
}

// starts are the states that a source's packets start in.
func (c *symmetryCheck) starts(r *running, f int, src, dst weft.NICID) (list []int32) {
	sw, p := c.m.g.SwitchOf(src)
	for _, h := range c.m.headers(r, src, dst) {
		list = append(list, c.state(checkedState{int32(f), int32(sw), p, h.VC, c.fields.id(h.Fields)}))
	}
	return list
}

// flowOf is the flow of the packets of a pair.
func (c *symmetryCheck) flowOf(src, dst weft.NICID) int {
	if c.m.merged {
		return int(dst)
	}
	at := int(dst)*(len(c.m.g.NICs)-1) + int(src)
	if src > dst {
		at--
	}
	return at
}

func (c *symmetryCheck) state(s checkedState) int32 {
	id, ok := c.ids[s]
	if !ok {
		id = int32(len(c.states))
		c.states = append(c.states, s)
		c.ids[s] = id
		for g := range c.images {
			c.images[g] = append(c.images[g], -1)
		}
	}
	return id
}

// become notes, if asked to, that a state becomes another by a generator. It reports whether that
// may be.
func (c *symmetryCheck) become(g int, state, image int32, note bool) bool {
	if was := c.images[g][state]; was >= 0 {
		return was == image
	}
	if note {
		c.images[g][state] = image
	}
	return true
}

// check checks what a worker has asked since it called last. It returns what is not symmetric,
// which ends all checks.
func (c *symmetryCheck) check(s *space, ended func() bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range s.asked {
		c.ask(question{
			c.state(checkedState{a.flow, a.sw, a.in, a.vc, c.fields.id(s.fields.of(a.fields))}),
			c.deads.id(s.deads.of(a.dead)), c.values.id(s.values.of(a.value)),
		})
	}
	s.asked = s.asked[:0]
	for n := 0; n < len(c.todo) && c.err == nil; n++ {
		if n%1024 == 0 && ended() {
			break
		}
		if c.err = c.compare(c.todo[n]); c.err == nil && len(c.asked) > c.most {
			c.err = errQuestions
		}
	}
	c.todo = c.todo[:0]
	return c.err
}

func (c *symmetryCheck) ask(q question) {
	if _, ok := c.asked[q]; !ok {
		c.asked[q] = struct{}{}
		c.todo = append(c.todo, q)
	}
}

// compare compares the answer to a question with those to its images, which are asked in their
// turn.
func (c *symmetryCheck) compare(q question) error {
	s := c.states[q.state]
	here := c.at(c.here, q)
	first := c.route(here, q, 0)
	c.first = append(c.first[:0], first.Candidates...) // they are in storage that the next answer uses
	first.Candidates = c.first
	for g := range c.gens {
		to := c.images[g][q.state]
		value, ok := c.valueTo[g][[2]int32{s.sw, q.value}]
		if int(q.value) < len(c.m.runs) { // blank
			value, ok = q.value, true
		}
		if to < 0 || !ok {
			panic("verify: BUG: a question is asked before the one that led to it")
		}
		image := question{to, c.deadImage(g, s.sw, q.dead), value}
		if err := c.same(g, q, image, first); err != nil {
			return err
		}
		c.ask(image)
	}
	return nil
}

// deadImage is what dead ports of a switch become.
func (c *symmetryCheck) deadImage(g int, sw, dead int32) int32 {
	key := [2]int32{sw, dead}
	to, ok := c.deadTo[g][key]
	if !ok {
		var ports switching.PortSet
		set := c.deads.of(dead)
		for p, image := range c.gens[g].ports[sw] {
			if set.Has(weft.PortID(p)) {
				ports.Add(image)
			}
		}
		to = c.deads.id(ports)
		c.deadTo[g][key] = to
	}
	return to
}

// same compares the answers to a question, the first of which is given, and to its image, in all
// the ways in which space asks.
func (c *symmetryCheck) same(g int, q, image question, first switching.Decision) error {
	here, there := &c.here[c.states[q.state].sw], c.at(c.there, image)
	to := c.route(there, image, 0)
	if here.Asked.Draw || there.Asked.Draw {
		return c.sameDrawn(g, q, image)
	}
	if !c.match(g, q, image, first, to, true) {
		return c.differs(g, q, image, 0)
	}
	for _, v := range c.variants(g, here, there, false)[1:] {
		here.Queued, there.Queued = v.queued, v.image
		if !c.match(g, q, image, c.route(here, q, v.sent), c.route(there, image, v.sent), true) {
			return c.differs(g, q, image, v.sent)
		}
	}
	here.Queued = nil
	return nil
}

// variant is one way of asking.
type variant struct {
	sent          int // which of packets
	draw          uint64
	queued, image map[switching.Output]int
}

// variants are all ways in which a question, and its image, are to be asked, the plain one first.
func (c *symmetryCheck) variants(g int, here, there *switching.Still, drawn bool) []variant {
	list := c.list[:0]
	for i := range packets {
		if list = append(list, variant{sent: i}); c.m.merged {
			break
		}
	}
	if here.Asked.Queues || there.Asked.Queues {
		ports := c.gens[g].ports[here.At.Switch]
		for _, load := range loads(len(ports), c.m.vcs) {
			image := make(map[switching.Output]int, len(load))
			for out, n := range load {
				image[switching.Output{Port: ports[out.Port], VC: out.VC}] = n
			}
			list = append(list, variant{queued: load, image: image})
		}
	}
	if drawn {
		for _, n := range draws(here.At.Ports()) {
			list = append(list, variant{draw: n})
		}
	}
	c.list = list
	return list
}

// sameDrawn compares answers that draws make, whichever draw makes which.
func (c *symmetryCheck) sameDrawn(g int, q, image question) error {
	here, there := &c.here[c.states[q.state].sw], &c.there[c.states[image.state].sw]
	defer func() { here.Queued, here.Random = nil, 0 }()
	variants := c.variants(g, here, there, true)
	images := make([]switching.Decision, len(variants))
	for i, v := range variants {
		there.Queued, there.Random = v.image, v.draw
		images[i] = c.route(there, image, v.sent)
		images[i].Candidates = slices.Clone(images[i].Candidates) // they are in storage that the next answer uses
	}
	met := make([]bool, len(images))
	for _, v := range variants {
		here.Queued, here.Random = v.queued, v.draw
		d := c.route(here, q, v.sent)
		found := false
		for i := range images {
			if c.match(g, q, image, d, images[i], false) {
				if !found {
					c.match(g, q, image, d, images[i], true)
				}
				found, met[i] = true, true
			}
		}
		if !found {
			return c.differs(g, q, image, v.sent)
		}
	}
	if slices.Contains(met, false) {
		return c.differs(g, q, image, 0)
	}
	return nil
}

// at is the switch of a question, as it is then.
func (c *symmetryCheck) at(of []switching.Still, q question) *switching.Still {
	v := &of[c.states[q.state].sw]
	regs := c.values.of(q.value)
	v.Dead, v.Registers = c.deads.of(q.dead), c.runs(q).registers(regs[:], c.states[q.state].sw)
	v.Asked, v.Random, v.Queued = switching.Asked{}, 0, nil
	return v
}

// runs is the firmware that is asked.
func (c *symmetryCheck) runs(q question) *running {
	return &c.m.runs[c.values.of(q.value)[maxRegisters]]
}

func (c *symmetryCheck) route(v *switching.Still, q question, sent int) switching.Decision {
	s := &c.states[q.state]
	return c.m.route(&c.runs(q).fw, v, int(s.flow), 0, s.in, s.vc, c.fields.of(s.fields), sent)
}

// match reports whether an answer is another one, renumbered. If asked to, it notes what becomes of
// what.
func (c *symmetryCheck) match(g int, q, image question, d, to switching.Decision, note bool) bool {
	if d.Rule != to.Rule || d.Turn != to.Turn || d.Notify != to.Notify || d.Write.Do != to.Write.Do {
		return false
	}
	s, t := &c.states[q.state], &c.states[image.state]
	here, there := &c.here[s.sw], &c.there[t.sw]
	if d.Write.Do && !c.writes(g, q, image, d.Write, to.Write, note) {
		return false
	}
	left := 0
	for i := range to.Candidates {
		if c.taken(there, &to.Candidates[i]) {
			left++
		}
	}
	for i := range d.Candidates {
		if !c.taken(here, &d.Candidates[i]) {
			continue
		}
		if left--; left < 0 || !slices.ContainsFunc(to.Candidates, func(o switching.Candidate) bool {
			return c.taken(there, &o) && c.leads(g, *s, *t, &d.Candidates[i], &o, note)
		}) {
			return false
		}
	}
	return left == 0
}

// taken reports whether a candidate is more than the name of a dead port.
func (c *symmetryCheck) taken(v *switching.Still, to *switching.Candidate) bool {
	return int(to.Port) >= v.At.Ports() || int(to.VC) >= c.m.vcs || v.PortUp(to.Port)
}

// leads reports whether a candidate of an answer is another one, renumbered.
func (c *symmetryCheck) leads(g int, s, t checkedState, a, b *switching.Candidate, note bool) bool {
	m := c.m
	if a.VC != b.VC || a.Class != b.Class || a.Need != b.Need {
		return false
	}
	if int(a.Port) >= m.ports(int(s.sw)) || int(a.VC) >= m.vcs {
		return a.Port == b.Port // a finding, wherever it is
	}
	if b.Port != c.gens[g].ports[s.sw][a.Port] {
		return false
	}
	to, image := m.peer(int(s.sw), a.Port), m.peer(int(t.sw), b.Port)
	if to.kind != weft.KindSwitch {
		return true // what the fields are no more matters to nobody
	}
	if m.number != nil {
		if in, out := m.into(int(s.sw), s.in, s.vc), m.channel(int(s.sw), a.Port, a.VC); in >= 0 &&
			(m.number[in] < m.number[out]) != (m.number[m.into(int(t.sw), t.in, t.vc)] < m.number[m.channel(int(t.sw), b.Port,
				b.VC)]) {
			return false
		}
	}
	next := c.state(checkedState{s.flow, int32(to.node), to.port, a.VC, c.fields.id(a.Fields)})
	return c.become(g, next, c.state(checkedState{t.flow, int32(image.node), image.port, b.VC, c.fields.id(b.Fields)}),
		note)
}

// writes reports whether what is written to a register may become what is written to the image's.
func (c *symmetryCheck) writes(g int, q, image question, a, b switching.RegisterWrite, note bool) bool {
	s, t := &c.states[q.state], &c.states[image.state]
	after := func(sw int32, value int32, w switching.RegisterWrite) (int32, bool) {
		if w.Index < 0 || w.Index >= c.runs(q).declared[sw] {
			return 0, false
		}
		v := c.values.of(value)
		v[w.Index] = w.Value
		return c.values.id(v), true
	}
	to, ok := after(s.sw, q.value, a)
	toImage, okImage := after(t.sw, image.value, b)
	if !ok || !okImage {
		return ok == okImage
	}
	if blank := int32(len(c.m.runs)); to < blank || toImage < blank {
		return to == toImage
	}
	key := [2]int32{s.sw, to}
	if was, known := c.valueTo[g][key]; known {
		return was == toImage
	}
	if note {
		c.valueTo[g][key] = toImage
	}
	return true
}

// differs says how an answer is not that to the image, renumbered.
func (c *symmetryCheck) differs(g int, q, image question, sent int) error {
	a, b := c.answer(c.here, q, sent), c.answer(c.there, image, sent)
	return fmt.Errorf("%s; with %s, %s", a, c.gens[g].name, b)
}

// answer is a question and the answer to it, in words.
func (c *symmetryCheck) answer(of []switching.Still, q question, sent int) string {
	v, s, g := c.at(of, q), &c.states[q.state], c.m.g
	var b strings.Builder
	with := func(f weft.Fields) {
		if text := f.Text(func(id weft.SwitchID) string { return g.Switches[id].Name }); text != "" {
			fmt.Fprintf(&b, " (%s)", text)
		}
	}
	fmt.Fprintf(&b, "at %s, a packet for %s that comes in by %v %v", v.At.Name, g.NICs[c.m.flows[s.flow].dst].Name, s.in,
		s.vc)
	with(c.fields.of(s.fields))
	dead := ", dead:"
	for p := range v.At.Ports() {
		if v.Dead.Has(weft.PortID(p)) {
			fmt.Fprintf(&b, "%s %v", dead, weft.PortID(p))
			dead = ""
		}
	}
	for i := range c.runs(q).declared[s.sw] {
		if v.Registers[i] != 0 {
			fmt.Fprintf(&b, ", register %d: %#b", i, v.Registers[i])
		}
	}
	d := c.route(v, q, sent)
	fmt.Fprintf(&b, ": rule %q", d.Rule)
	for _, to := range d.Candidates {
		fmt.Fprintf(&b, ", out by %v %v", to.Port, to.VC)
		with(to.Fields)
	}
	if d.Write.Do {
		fmt.Fprintf(&b, ", writes %#b to register %d", d.Write.Value, d.Write.Index)
	}
	return b.String()
}
