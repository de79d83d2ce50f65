package ledger

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// truth is where all packets are.
type truth struct {
	injected, delivered, discarded, queued, crashed uint64
	held                                            uint64               // inside processes that run
	dead                                            uint64               // inside those that are gone
	wires                                           map[sessionOf]uint64 // may still arrive
	lost                                            map[sessionOf]uint64 // cannot
}

func (h *history) truth() (t truth) {
	t.lost, t.wires = map[sessionOf]uint64{}, map[sessionOf]uint64{}
	for _, p := range h.all() {
		c := &p.c
		t.injected += c.NICs.Injected
		t.delivered += c.NICs.Delivered
		t.discarded += c.NICs.Wrong + c.Switches.Discarded
		t.queued += c.Switches.LostQueue
		t.crashed += c.Switches.LostCrash
		if p.over {
			t.dead += uint64(p.holds())
		} else {
			t.held += uint64(p.holds())
		}
	}
	for k, n := range h.lost {
		t.lost[k] += n
	}
	for i := range h.wires {
		from, _ := h.endsOf(i)
		for _, f := range h.wires[i].frames {
			if f.n > 0 {
				t.wires[sessionOf{from, f.from, f.to}] += uint64(f.n)
			}
		}
		for k, n := range h.doomed(i) {
			t.lost[k] += n
			t.wires[k] -= n
		}
	}
	for _, x := range h.transits {
		t.wires[sessionOf{weft.End{Node: x.node, Port: weft.NoPort}, x.from, x.to}] += uint64(x.n)
	}
	if all := t.delivered + t.discarded + t.queued + t.crashed + t.held + t.dead + sum(t.wires) +
		sum(t.lost); all != t.injected {
		panic("the model has lost a packet itself")
	}
	return t
}

func sum(all map[sessionOf]uint64) (n uint64) {
	for _, x := range all {
		n += x
	}
	return n
}

// all are all processes there ever were.
func (h *history) all() []*proc {
	list := slices.Clone(h.dead)
	for _, p := range h.procs {
		if !p.over {
			list = append(list, p)
		}
	}
	return list
}

// zone is what is true of incarnations that may have done more than they have told, the wires at
// their ends included.
type zone struct {
	ended    uint64 // packets that ended, or are, there, and no answer has told so
	injected uint64 // packets injected there that no answer has told of
}

// zoneOf is that of the incarnations that in says are in it. What was heard is by the answers that
// the ledger has taken.
func (h *history) zoneOf(t *truth, in func(Incarnation) bool) (z zone) {
	for _, p := range h.all() {
		if !in(p.inc) {
			continue
		}
		var known Answer
		if a := h.heard[p.inc]; a != nil {
			known = *a
		}
		z.ended += p.c.Ended() - known.Counters.Ended() + uint64(p.holds())
		z.injected += p.c.NICs.Injected - known.Counters.NICs.Injected
		for _, k := range known.Wire {
			z.ended -= k.Wire[0] + k.Wire[1]
		}
	}
	for _, all := range []map[sessionOf]uint64{t.lost, t.wires} {
		for k, n := range all {
			if in(k.from) || in(k.to) {
				z.ended += n
			}
		}
	}
	return z
}

// never checks what the ledger says while packets move: it never says more than is true. Injected,
// delivered, discarded and lost are at most what they are; of a link, direction by direction. What
// is written off is at most what has ended, or is, in and around hosts that count as failed without
// having told. A host is alive again only when it was heard since. Every loss is on one incident or
// unattributed.
func (h *history) never() error {
	s, t := h.l.Balance(), h.truth()
	atMost := func(what string, said, is uint64) {
		if said > is {
			h.fail("the ledger says %d %s, and there are %d: %+v", said, what, is, s)
		}
	}
	atMost("injected", s.Injected, t.injected)
	atMost("delivered", s.Delivered, t.delivered)
	atMost("discarded", s.Discarded, t.discarded)
	atMost("lost in queues", s.LostQueued, t.queued)
	handed := uint64(0)
	links := make([][2]uint64, len(h.model.links))
	for k, n := range t.lost {
		if k.end.Port == weft.NoPort {
			handed += n
			continue
		}
		l, d := h.linkOf(k.end)
		links[l][d] += n
	}
	atMost("lost in crashes", s.LostCrash-s.WrittenOff, t.crashed+handed)
	for _, k := range h.l.Links() {
		for d := range k.Wire {
			atMost("lost on a link", k.Wire[d], links[k.Link][d])
		}
	}
	z := h.zoneOf(&t, h.failed())
	atMost("written off", s.WrittenOff, z.ended)
	atMost("injected without telling", s.Unheard, z.injected)
	for _, x := range h.l.Hosts() {
		if a, said := h.heard[x.Incarnation], h.silent[x.Incarnation]; x.Status == Alive && said > 0 &&
			(a == nil || a.Asked < said) {
			h.fail("host %d counts as alive, and was not heard since it was said not to answer", x.Host)
		}
	}
	h.attributed(&s)
	h.watch(&s)
	return h.err
}

// failed says which incarnations count as failed, or are put away.
func (h *history) failed() func(n Incarnation) bool {
	return func(n Incarnation) bool {
		x := h.l.incarnation(n)
		return x == nil || x.Status == Failed || x.Status == Ended
	}
}

// attributed checks that no loss is on no incident, or on two, and that those of links are on the
// latest that acts there.
func (h *history) attributed(s *Balance) {
	state := h.l.State()
	all := h.l.Unattributed().Sum()
	onLinks := h.l.Unattributed().Wire + h.l.Unattributed().Queued
	for _, f := range state.Forgotten {
		all += f.Lost
	}
	if onLinks != h.costs[0] {
		h.fail("%d packets lost on links are unattributed, expected %d", onLinks, h.costs[0])
	}
	for _, in := range h.l.Incidents(0) {
		all += in.Lost.Sum()
		if n := in.Lost.Wire + in.Lost.Queued; n != h.costs[in.ID] {
			h.fail("incident %d (%s) has cost %d packets on links, expected %d", in.ID, in.Kind, n, h.costs[in.ID])
		}
	}
	if all != s.Lost {
		h.fail("%d packets are lost, and incidents and what is unattributed come to %d", s.Lost, all)
	}
}

// watch counts what the ledger had to do.
func (h *history) watch(s *Balance) {
	for what, is := range map[int]bool{
		inDoubt: s.Waiting.Doubt > 0, writtenOff: s.WrittenOff > 0, unheardInjected: s.Unheard > 0,
		folded: len(h.l.State().Folded) > 0,
	} {
		if is {
			h.counts[what]++
		}
	}
	if s.WrittenOff < h.was.WrittenOff {
		h.counts[reconciled]++
	}
	h.was = *s
	for i, m := range h.l.makeUp() {
		if m.group != i {
			h.counts[twoUnheard]++
			break
		}
	}
}

// quiesce lets everything come to rest and compares the ledger with the truth. With all, the leader
// asks every host that it reaches; else only those that it takes for alive.
func (h *history) quiesce(all bool) {
	if h.flush(); all {
		for _, p := range h.procs {
			if h.reach(p.host) == p {
				h.query(p.host)
			}
		}
	}
	h.hearAll()
	for _, p := range h.procs { // whoever does not answer is noticed
		if c := h.l.current(p.host); c != nil && c.Status == Alive && h.reach(p.host) == nil {
			if p.over {
				h.step(HostFailed{Host: p.host})
			} else {
				h.step(HostSuspect{Host: p.host})
			}
		}
	}
	for range 2 { // links come to rest once all know how they are to be
		h.hearAll()
		h.syncAll()
		h.flush()
		for _, p := range h.procs {
			c := h.l.current(p.host)
			if h.reach(p.host) == p && (all || c == nil || c.Status == Alive || c.Incarnation != p.inc) {
				h.query(p.host)
			}
		}
	}
	h.hearAll()
	if h.err == nil {
		h.equal()
	}
}

// well ends all that is wrong: faults are repaired, hosts go on or are made anew, nodes that are on
// their way are taken. Then nothing is in doubt, and after a while the ledger has put away all
// incarnations that are gone.
func (h *history) well() {
	for len(h.faults) > 0 {
		h.repair(len(h.faults) - 1)
	}
	for _, p := range h.procs {
		p.frozen, p.cutOff = false, false
	}
	h.quiesce(true)
	for i := range h.procs {
		if p := h.procs[i]; p.over {
			h.anew(p.host)
		}
	}
	for i := len(h.transits) - 1; i >= 0; i-- {
		if to := h.byIncarnation(h.transits[i].to); to != nil {
			h.arrive(to, i, true)
		}
	}
	for range 2 {
		if h.err == nil {
			h.quiesce(true)
		}
		h.now += foldAfter
		for range h.l.State().Hosts { // one that is put away may have kept another
			h.step(Tick{})
		}
	}
	if h.err != nil {
		return
	}
	if s := h.l.Balance(); len(s.Uncertain) > 0 || s.Waiting.Doubt+s.Waiting.Suspect+s.Short > 0 {
		h.fail("every host answers and no fault is in force, and yet: %+v", s)
	}
	for _, x := range h.l.State().Hosts {
		if x.Gone {
			h.fail("incarnation %d of host %d is gone for good, and the ledger still has it", x.Incarnation, x.ID)
		}
	}
}

// hearAll has the ledger take all answers that are on their way.
func (h *history) hearAll() {
	for len(h.answers) > 0 && h.err == nil {
		a := h.answers[0]
		h.answers = h.answers[1:]
		h.hear(a)
	}
}

// equal compares the ledger with the truth at a quiescent point. Whatever hosts that are heard have
// counted is exact, and so is what passed between them. Of the others what is made up is exact in
// all: packets that ended there without being told, less those injected there without being told.
// If every host is heard and none ever failed, everything is equal.
func (h *history) equal() {
	s, t, l := h.l.Balance(), h.truth(), h.l
	same := func(what string, said, is int64) {
		if said != is {
			h.fail("at a quiescent point the ledger says %d %s, and there are %d: %+v", said, what, is, s)
		}
	}
	known := Counters{}
	unsure := map[Incarnation]bool{}
	for _, p := range h.all() {
		if a := h.heard[p.inc]; a != nil {
			known.Add(&a.Counters)
		}
		x := l.incarnation(p.inc)
		unsure[p.inc] = x == nil || x.Status != Alive
	}
	same("delivered", int64(s.Delivered), int64(known.NICs.Delivered))
	same("discarded", int64(s.Discarded), int64(known.NICs.Wrong+known.Switches.Discarded))
	same("lost in queues", int64(s.LostQueued), int64(known.Switches.LostQueue))
	same("injected", int64(s.Injected-s.Unheard), int64(known.NICs.Injected))

	in := func(n Incarnation) bool { return unsure[n] }
	z := h.zoneOf(&t, in)
	made := int64(l.state.Gone.WrittenOff) - int64(l.state.Gone.Unheard)
	for i, m := range l.makeUp() {
		made += m.held
		if x := &l.state.Hosts[i]; m.held < 0 && x.uncertain() &&
			!slices.ContainsFunc(h.nodes, func(n weft.Node) bool { return !n.IsSwitch() }) {
			h.fail("incarnation %d has no NIC and has injected", x.Incarnation)
		}
	}
	made += h.lostAround(in)
	same("packets that ended around hosts that are not heard, less those injected there", made,
		int64(z.ended)-int64(z.injected))
	h.between(&t, in)
	if !s.Balanced {
		h.fail("at a quiescent point it is not balanced: %+v", s)
	}
	if len(h.dead) > 0 || slices.Contains(mapValues(unsure), true) {
		h.counts[quiescentMadeUp]++
		return
	}
	h.counts[quiescentExact]++
	same("injected", int64(s.Injected), int64(t.injected))
	same("delivered", int64(s.Delivered), int64(t.delivered))
	same("discarded", int64(s.Discarded), int64(t.discarded))
	same("lost or on wires", int64(s.Lost+s.Waiting.Wires), int64(sum(t.lost)+sum(t.wires)+t.queued+t.crashed))
	same("in switches and queues", int64(s.Waiting.Switches+s.Waiting.Queues), int64(t.held))
}

func mapValues(m map[Incarnation]bool) (list []bool) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// lostAround is what the ledger says is lost, or on the wires, of the packets between hosts that
// are not heard and others; of sessions that are put away too.
func (h *history) lostAround(in func(Incarnation) bool) (n int64) {
	l := h.l
	for i := range l.state.Sessions {
		s := &l.state.Sessions[i]
		if !in(s.Sides[0].Incarnation) && !in(s.Sides[1].Incarnation) {
			continue
		}
		for d := range s.Sides {
			n += int64(s.Lost[d])
			to := l.incarnation(s.Sides[1-d].Incarnation)
			if !to.uncertain() {
				wire, _ := onWire(&s.Sides[d].Flow, &s.Sides[1-d].Flow)
				missing, _ := s.missing(d)
				n += int64(min(wire, missing))
			}
		}
	}
	n += int64(l.state.Gone.HandedOver)
	for _, p := range l.state.Retired {
		for _, k := range p.Wire {
			n += int64(k.Wire[0] + k.Wire[1])
		}
	}
	for inc, a := range h.heard { // but for what they have told themselves
		if l.incarnation(inc) == nil {
			for _, k := range a.Wire {
				n -= int64(k.Wire[0] + k.Wire[1])
			}
		}
	}
	return n
}

// between checks the sessions of which both sides are heard: what is lost or on the wires is so. On
// a link that is up both ways nothing is left that might still come.
func (h *history) between(t *truth, in func(Incarnation) bool) {
	l := h.l
	for i := range l.state.Sessions {
		s := &l.state.Sessions[i]
		if in(s.Sides[0].Incarnation) || in(s.Sides[1].Incarnation) {
			continue
		}
		for d := range s.Sides {
			end := weft.End{Node: s.Channel.Node, Port: weft.NoPort}
			if s.Channel.Node.Kind == 0 {
				k := h.model.links[s.Channel.Link]
				end = []weft.End{k.A, k.B}[d]
			}
			k := sessionOf{end, s.Sides[d].Incarnation, s.Sides[1-d].Incarnation}
			wire, _ := onWire(&s.Sides[d].Flow, &s.Sides[1-d].Flow)
			missing, _ := s.missing(d)
			wire = min(wire, missing)
			if s.Lost[d]+wire != t.lost[k]+t.wires[k] {
				h.fail("between incarnations %d and %d, end %v: %d lost and %d on the wire, expected %d and %d",
					k.from, k.to, end, s.Lost[d], wire, t.lost[k], t.wires[k])
			}
			x, y := &s.Sides[0].Flow, &s.Sides[1].Flow
			c := s.Channel
			cut := c.Node.Kind == 0 && (h.wires[2*int(c.Link)].cut || h.wires[2*int(c.Link)+1].cut)
			if up := !cut && x.State == link.Up && y.State == link.Up && x.Peer == y.Mine && y.Peer == x.Mine; up &&
				s.Lost[d] != t.lost[k] {
				h.fail("between incarnations %d and %d, end %v: %d lost, expected %d", k.from, k.to, end, s.Lost[d],
					t.lost[k])
			}
		}
	}
}
