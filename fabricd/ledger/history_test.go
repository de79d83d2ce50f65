package ledger

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/weft-fabric/weft"
)

// A history is a script of steps, three bytes each: what happens, and to whom. Whatever a script
// says can be done, so that one with steps left out is a history too.
type step [3]byte

// The kinds of step.
const (
	doInject = iota
	doForward
	doSend
	doDeliver
	doLose
	doDiscard
	doRush // packets move here and there
	doTime // hellos, silence
	doCut
	doRepair
	doCrash
	doAsk
	doHear
	doLoseAnswer
	doFreeze
	doCutOff
	doThaw
	doKill
	doSuspect
	doFail
	doAnew
	doMove
	doTake
	doEndHost
	doSave
	doNewLeader
	doOldLeader
	doQuiesce
	kinds
)

// weights are how often each kind is drawn, of their sum; names are what the count of each is
// called.
var weights = [kinds]int{
	doInject: 12, doForward: 20, doSend: 20, doDeliver: 25, doLose: 5, doDiscard: 4, doRush: 60, doTime: 6, doCut: 3,
	doRepair: 8,
	doCrash:  2, doAsk: 25, doHear: 25, doLoseAnswer: 3, doFreeze: 3, doCutOff: 3, doThaw: 12, doKill: 3, doSuspect: 5,
	doFail: 6,
	doAnew: 10, doMove: 5, doTake: 10, doEndHost: 1, doSave: 2, doNewLeader: 1, doOldLeader: 1, doQuiesce: 2,
}

var names = [kinds]string{
	"inject", "forward", "send", "deliver", "lose a frame", "discard", "packets rush", "time passes", "cut", "repair",
	"crash a switch", "ask", "answer comes",
	"answer is lost", "freeze a host", "cut a host off", "host goes on", "kill a host", "host is suspect", "host fails",
	"host comes back anew",
	"move a node", "node is taken", "host ends in order", "keep a checkpoint", "another leader",
	"another leader, older checkpoint", "quiescent point",
}

// script draws a history.
func script(seed uint64, steps int) []step {
	r := rand.New(rand.NewPCG(seed, 1))
	var deck []byte
	for k, n := range weights {
		deck = append(deck, slices.Repeat([]byte{byte(k)}, n)...)
	}
	list := make([]step, steps)
	for i := range list {
		list[i] = step{deck[r.IntN(len(deck))], byte(r.IntN(256)), byte(r.IntN(256))}
	}
	return list
}

// history is a model with a leader and a ledger, and what the leader knows.
type history struct {
	*model
	l       *Ledger
	now     weft.Time
	moments []asking  // one for each step
	asks    *asking   // of a question that comes late; nil: it is asked now
	answers []*Answer // on their way
	faults  []activeFault
	heard   map[Incarnation]*Answer   // the latest that this ledger has taken
	silent  map[Incarnation]weft.Time // since when it is said not to answer
	costs   map[int]uint64            // per incident, packets lost on links while it was the latest there
	// pending are those of costs[0] that a fault noticed late may have.
	pending map[weft.LinkID]uint64
	save    *saved
	forget  []Order // to be done once a checkpoint is kept
	counts  *[counted]uint64
	was     Balance
	stepped bool // the ledger, since it was checked
	err     error
}

// What is counted beside the steps.
const (
	quiescentExact = kinds + iota // quiescent points at which all is equal to the truth
	quiescentMadeUp
	inDoubt
	writtenOff
	reconciled
	unheardInjected
	twoUnheard // neighbours that can only be added up
	folded
	backAsWas
	counted
)

var others = [...]string{
	"quiescent point, all hosts known", "quiescent point, some made up", "packets in doubt", "packets written off",
	"written off, and put right",
	"injected without telling", "neighbours both unheard", "incarnations folded", "host comes back as it was",
}

// asking is a moment at which a question may be asked: whoever has epochs up to known is known
// then.
type asking struct {
	at    weft.Time
	known weft.Epoch
}

// saved is a checkpoint with what the leader knew.
type saved struct {
	data   []byte
	heard  map[Incarnation]*Answer
	silent map[Incarnation]weft.Time
	costs  map[int]uint64
	faults []activeFault

	pending map[weft.LinkID]uint64
}

// activeFault is a fault that the leader has ordered.
type activeFault struct {
	incident int
	wires    []int       // that are cut
	sw       weft.Node   // that has crashed; zero: none has
	nodes    []weft.Node // that moves
}

// newHistory makes a fabric of 2 to 8 hosts, which seed draws.
func newHistory(seed uint64, counts *[counted]uint64) *history {
	r := rand.New(rand.NewPCG(seed, 2))
	hosts, switches, nics := 2+min(r.IntN(7), r.IntN(7)), 2+r.IntN(5), 1+r.IntN(4)
	var links []Link
	ports := map[weft.Node]weft.PortID{}
	port := func(n weft.Node) weft.End { ports[n]++; return weft.End{Node: n, Port: ports[n] - 1} }
	for i := 1; i < switches; i++ {
		links = append(links, Link{port(weft.SwitchID(r.IntN(i)).Node()), port(weft.SwitchID(i).Node())})
	}
	for range r.IntN(switches) {
		if a, b := r.IntN(switches), r.IntN(switches); a != b {
			links = append(links, Link{port(weft.SwitchID(a).Node()), port(weft.SwitchID(b).Node())})
		}
	}
	for i := range nics {
		links = append(links, Link{port(weft.SwitchID(r.IntN(switches)).Node()), port(weft.NICID(i).Node())})
	}
	requeue := r.IntN(2) == 0
	w := newModel(links, hosts)
	runs := make([][]weft.Node, hosts)
	for _, n := range w.nodes {
		i := r.IntN(hosts)
		runs[i] = append(runs[i], n)
	}
	return begin(w, runs, requeue, counts)
}

// begin has hosts run these nodes, and the links come up.
func begin(w *model, runs [][]weft.Node, requeue bool, counts *[counted]uint64) *history {
	h := &history{
		model: w, l: New(w.links), now: 1, heard: map[Incarnation]*Answer{}, silent: map[Incarnation]weft.Time{},
		costs: map[int]uint64{}, pending: map[weft.LinkID]uint64{}, counts: counts,
	}
	h.requeue = requeue
	for i := range runs {
		p := h.start(HostID(i+1), runs[i])
		h.step(HostStarted{p.host, p.inc, runs[i]})
	}
	for _, p := range h.procs {
		h.sync(p)
	}
	h.flush()
	return h
}

// play does the steps of a script and returns what the ledger got wrong.
func (h *history) play(list []step) error {
	for i, s := range list {
		h.stepped = false
		if h.do(s); h.err == nil && h.stepped {
			h.err = h.never()
		}
		if h.err != nil {
			return fmt.Errorf("after step %d (%s): %w", i, names[int(s[0])%kinds], h.err)
		}
	}
	h.do(step{doQuiesce, 1, 0})
	h.well()
	return h.err
}

// step has the ledger take an event, and does what it orders.
func (h *history) step(ev Event) {
	before, last := h.l.Links(), h.l.Last()
	switch e := ev.(type) {
	case HostSuspect:
		h.silence(e.Host)
	case HostFailed:
		h.silence(e.Host)
	}
	orders := slices.Clone(h.l.Step(h.now, ev))
	f, ordered := ev.(FaultBegan)
	for _, in := range h.l.Incidents(last) {
		if !ordered || f.Late { // what was lost there before is its own
			h.attributePending(&in)
		}
	}
	h.attribute(before)
	h.stepped = true
	for _, o := range orders {
		switch o.Kind {
		case Query:
			h.query(o.Host)
		case Forget:
			h.forget = append(h.forget, o)
		default:
			h.fail("the ledger refuses: %s", o.Why)
		}
	}
}

// silence notes that a host is said not to answer.
func (h *history) silence(id HostID) {
	if c := h.l.current(id); c != nil && (c.Status == Alive || c.Status == Suspect) {
		h.silent[c.Incarnation] = h.now
	}
}

func (h *history) fail(format string, args ...any) {
	if h.err == nil {
		h.err = fmt.Errorf(format, args...)
	}
}

// reach is who answers for a host; nil: nobody does.
func (h *history) reach(id HostID) *proc {
	if id == 0 {
		return nil
	}
	if p := h.procs[id-1]; p != nil && !p.over && !p.frozen && !p.cutOff {
		return p
	}
	return nil
}

// query has a host told what it is to do, and its answer sent.
func (h *history) query(id HostID) {
	if p := h.reach(id); p != nil {
		h.sync(p)
		asked := h.now
		if h.asks != nil {
			asked, h.known = h.asks.at, h.asks.known
		}
		h.answers = append(h.answers, h.answer(p, asked))
	}
}

// sync tells a process what the leader wants of its nodes.
func (h *history) sync(p *proc) {
	for n, x := range p.nodes {
		switch crashed := slices.ContainsFunc(h.faults, func(f activeFault) bool { return f.sw == n }); {
		case h.at[n] != p: // it runs elsewhere now
			h.crashNode2(p, n)
		case crashed && !x.down:
			h.crashNode(p, n, true)
		case !crashed && x.down:
			x.down = false
		}
	}
	for _, e := range slices.SortedFunc(maps.Keys(p.ends),
		func(a, b weft.End) int { return EndLost{End: a}.Compare(EndLost{End: b}) }) {
		if want := h.carrier(e); want != p.ends[e].carrier || want {
			h.signal(p, e, want)
		}
	}
}

// crashNode2 ends a node that another process runs: what it holds is lost.
func (h *history) crashNode2(p *proc, n weft.Node) {
	if all := uint64(h.leave(p, n)); all > 0 {
		if n.IsSwitch() {
			p.crash[weft.SwitchID(n.Index)] += all
		}
		p.c.Switches.LostCrash += all
	}
}

// carrier reports whether an end is to have signal.
func (h *history) carrier(e weft.End) bool {
	i, _ := h.linkOf(e)
	if h.wires[2*i].cut && h.wires[2*i+1].cut {
		return false
	}
	for _, e := range []weft.End{h.links[i].A, h.links[i].B} {
		p := h.at[e.Node]
		if p == nil || slices.ContainsFunc(h.faults, func(f activeFault) bool { return f.sw == e.Node }) {
			return false
		}
		if c := h.l.current(p.host); c == nil || c.Status == Failed || c.Status == Ended {
			return false
		}
	}
	return true
}

// attributePending notes that an incident, which is noticed late, has what was lost where it acts
// and no incident has.
func (h *history) attributePending(in *Incident) {
	for k, n := range h.pending {
		if h.onLink(in, k) {
			h.costs[in.ID], h.costs[0] = h.costs[in.ID]+n, h.costs[0]-n
			delete(h.pending, k)
		}
	}
}

// onLink reports whether an incident acts on a link.
func (h *history) onLink(in *Incident, k weft.LinkID) bool {
	on := func(n weft.Node) bool { return in.Host != 0 && h.l.placed(n) == in.Host }
	return slices.Contains(in.Links, k) || on(h.links[k].A.Node) || on(h.links[k].B.Node)
}

// attribute notes on which incident losses of links became known, by its own rule: the latest open
// one that acts there.
func (h *history) attribute(before []LinkBalance) {
	was := map[weft.LinkID]uint64{}
	for _, k := range before {
		was[k.Link] = k.Wire[0] + k.Wire[1] + k.Queued
	}
	s := h.l.State()
	for _, k := range h.l.Links() {
		more := k.Wire[0] + k.Wire[1] + k.Queued - was[k.Link]
		if more == 0 {
			continue
		}
		owner := 0
		for i := range s.Incidents {
			in := &s.Incidents[i]
			if in.Open && h.onLink(in, k.Link) {
				owner = in.ID
			}
		}
		if h.costs[owner] += more; owner == 0 {
			h.pending[k.Link] += more
		}
	}
}

// flush lets the links come to rest: what can arrive does, and ends that are not heard give up.
func (h *history) flush() {
	for range 3 {
		h.each(func(p *proc, e weft.End, x *end) { x.hello(); h.transmit(p, e, 0) })
		for moved := true; moved; {
			moved = false
			for i := range h.wires {
				for h.deliver(i) {
					moved = true
				}
			}
			h.each(func(p *proc, e weft.End, x *end) {
				if x.Owes() {
					h.transmit(p, e, 0)
					moved = true
				}
			})
		}
	}
}

// each calls do with the ends of all processes that run, in order.
func (h *history) each(do func(p *proc, e weft.End, x *end)) {
	for _, p := range h.procs {
		if p == nil || p.over || p.frozen {
			continue
		}
		for _, k := range h.links {
			for _, e := range []weft.End{k.A, k.B} {
				if x := p.ends[e]; x != nil {
					do(p, e, x)
				}
			}
		}
	}
}
