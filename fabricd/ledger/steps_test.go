package ledger

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/weft-fabric/weft"
)

// do does one step, to whom its numbers say.
func (h *history) do(s step) {
	a, b := int(s[1]), int(s[2])
	h.moments = append(h.moments, asking{h.now, weft.Epoch(1000 * len(h.owners))})
	h.now += 10 * weft.Millisecond
	kind := int(s[0]) % kinds
	var done bool
	switch {
	case kind <= doTime:
		done = h.packets(kind, a, b)
	case kind <= doLoseAnswer:
		done = h.leads(kind, a, b)
	case kind <= doEndHost:
		done = h.hosts(kind, a, b)
	default:
		done = h.leaders(kind, a, b)
	}
	if done {
		h.counts[kind]++
	}
}

// packets has packets move.
func (h *history) packets(kind, a, b int) bool {
	switch kind {
	case doDeliver, doLose:
		i, ok := h.some(a, len(h.wires), func(i int) bool { return len(h.wires[i].frames) > 0 })
		if !ok || kind == doDeliver {
			return ok && h.deliver(i)
		}
		w := &h.wires[i]
		from, _ := h.endsOf(i)
		h.drop(from, &w.frames[0], w.frames[0].n)
		w.frames = w.frames[1:]
		return true
	case doRush:
		r := rand.New(rand.NewPCG(uint64(a), uint64(b)))
		for range 12 {
			h.packets([]int{doInject, doForward, doForward, doSend, doSend, doDeliver, doDeliver, doDeliver}[r.IntN(8)],
				r.IntN(256), r.IntN(256))
		}
		return true
	case doTime:
		h.now += weft.Time(b) * weft.Second / 16
		h.each(func(p *proc, e weft.End, x *end) {
			if x.hello(); a%8 == 0 && x.giveUp() { // it has not been heard for long
				h.loseQueue(p, e)
			}
			h.transmit(p, e, 0)
		})
		h.step(Tick{})
		return true
	case doSend:
		i, ok := h.some(a, 2*len(h.links), func(i int) bool {
			e, _ := h.endsOf(i)
			p := h.at[e.Node]
			return p != nil && !p.frozen && (p.ends[e].Owes() || p.ends[e].out > 0)
		})
		if ok {
			e, _ := h.endsOf(i)
			h.transmit(h.at[e.Node], e, 1+b%3)
		}
		return ok
	}
	i, ok := h.some(a, len(h.nodes), func(i int) bool {
		n := h.nodes[i]
		p := h.at[n]
		return p != nil && !p.frozen && !p.nodes[n].down && (p.nodes[n].held > 0 || kind == doInject) &&
			(kind == doForward || n.IsSwitch() == (kind == doDiscard))
	})
	if !ok {
		return false
	}
	n := h.nodes[i]
	p := h.at[n]
	x := p.nodes[n]
	switch {
	case kind == doInject:
		x.held += 1 + b%3
		p.c.NICs.Injected += uint64(1 + b%3)
	case kind == doDiscard:
		x.held--
		p.c.Switches.Discarded++
		p.rules++
	case !n.IsSwitch() && b%3 == 0: // it is for this NIC, or by mistake not
		x.held--
		if p.c.NICs.Delivered++; b%16 == 0 {
			p.c.NICs.Delivered--
			p.c.NICs.Wrong++
			p.rules++
		}
	default: // to an output
		i, ok := h.some(b, 2*len(h.links), func(i int) bool {
			e, _ := h.endsOf(i)
			return e.Node == n && p.ends[e].Credits(0) > p.ends[e].out
		})
		if !ok {
			return false
		}
		e, _ := h.endsOf(i)
		move := min(x.held, 1+b%2)
		x.held -= move
		p.ends[e].out += move
	}
	return true
}

// some is the a-th of n numbers that are right, in a circle.
func (h *history) some(a, n int, right func(i int) bool) (int, bool) {
	for i := range n {
		if i = (a + i) % n; right(i) {
			return i, true
		}
	}
	return 0, false
}

// leads has the leader order faults, and ask.
func (h *history) leads(kind, a, b int) bool {
	switch kind {
	case doCut:
		id := a % len(h.links)
		f := activeFault{wires: []int{2 * id, 2*id + 1}[b%2:]}
		if b%4 == 1 {
			f.wires = []int{2 * id}
		}
		for _, i := range f.wires {
			h.wires[i].cut = true
			from, _ := h.endsOf(i)
			for _, x := range h.wires[i].frames {
				h.drop(from, &x, x.n)
			}
			h.wires[i].frames = nil
		}
		h.step(FaultBegan{Kind: "cut", Target: "link", Links: []weft.LinkID{weft.LinkID(id)}, Late: b%8 > 5})
		f.incident = h.l.Last()
		h.faults = append(h.faults, f)
	case doRepair:
		if len(h.faults) == 0 {
			return false
		}
		h.repair(a % len(h.faults))
	case doCrash:
		n := h.nodes[a%len(h.nodes)]
		if !n.IsSwitch() || slices.ContainsFunc(h.faults, func(f activeFault) bool { return f.sw == n }) {
			return false
		}
		f := activeFault{sw: n}
		var links []weft.LinkID
		for i, k := range h.links {
			if k.A.Node == n || k.B.Node == n {
				links = append(links, weft.LinkID(i))
			}
		}
		h.step(FaultBegan{Kind: "crash", Target: "switch", Links: links, Switches: []weft.SwitchID{weft.SwitchID(n.Index)}})
		f.incident = h.l.Last()
		h.faults = append(h.faults, f)
		if p := h.at[n]; p != nil && h.reach(p.host) == p {
			h.sync(p)
		}
	case doAsk:
		id := HostID(a%len(h.procs) + 1)
		if h.reach(id) == nil {
			return false
		}
		if b%4 == 0 && len(h.moments) > b/4 { // the question is old: it knows nothing of later incarnations
			h.asks = &h.moments[len(h.moments)-1-b/4]
		}
		h.query(id)
		h.asks = nil
	default:
		if len(h.answers) == 0 {
			return false
		}
		i := a % len(h.answers) // in any order
		x := h.answers[i]
		h.answers = slices.Delete(h.answers, i, i+1)
		if kind == doHear {
			h.hear(x)
		}
	}
	return true
}

// repair ends a fault.
func (h *history) repair(i int) {
	f := h.faults[i]
	h.faults = slices.Delete(h.faults, i, i+1)
	for _, w := range f.wires {
		h.wires[w].cut = slices.ContainsFunc(h.faults, func(f activeFault) bool { return slices.Contains(f.wires, w) })
	}
	h.step(FaultEnded{f.incident})
}

// hear has the ledger take an answer.
func (h *history) hear(a *Answer) {
	before := h.l.incarnation(a.Incarnation)
	unsure := before != nil && before.Status == Failed
	h.step(a)
	if x := h.l.incarnation(a.Incarnation); x != nil && x.ID == a.Host {
		if old := h.heard[a.Incarnation]; old == nil || old.Seq < a.Seq {
			heard := *a
			if old != nil {
				heard.Asked = max(heard.Asked, old.Asked)
			}
			h.heard[a.Incarnation] = &heard
		}
		if unsure && x.Status == Alive {
			h.counts[backAsWas]++
		}
	}
}

// hosts has things happen to hosts.
func (h *history) hosts(kind, a, b int) bool {
	id := HostID(a%len(h.procs) + 1)
	p := h.procs[id-1]
	if p.over && kind != doSuspect && kind != doFail && kind != doAnew && kind != doTake {
		return false
	}
	switch kind {
	case doFreeze:
		p.frozen = true
	case doCutOff:
		p.cutOff = true
	case doThaw:
		if !p.frozen && !p.cutOff {
			return false
		}
		p.frozen, p.cutOff = p.frozen && b%2 == 0 && p.cutOff, p.cutOff && b%2 == 1 && p.frozen
	case doKill:
		h.kill(p)
	case doSuspect, doFail:
		c := h.l.current(id)
		if h.reach(id) != nil && b%4 > 0 || c == nil || c.Gone { // now and then it is only that answers are lost
			return false
		}
		incident := 0
		if b%3 == 0 {
			incident = h.missing(id, b%2 == 0)
		}
		if kind == doSuspect {
			h.step(HostSuspect{id, incident})
		} else {
			h.step(HostFailed{id, incident})
			h.syncAll()
		}
	case doAnew:
		if c := h.l.current(id); !p.over && (c == nil || c.Status != Failed) {
			return false
		}
		h.anew(id)
	case doMove:
		n, to := h.nodes[a%len(h.nodes)], h.procs[b%len(h.procs)]
		if from := h.at[n]; from != nil && from != to && h.alive(from) && h.alive(to) && n.IsSwitch() {
			h.move(n, from, to)
			return true
		}
		return false
	case doTake:
		if len(h.transits) == 0 {
			return false
		}
		i := a % len(h.transits)
		if to := h.byIncarnation(h.transits[i].to); to != nil && h.reach(to.host) == to {
			h.arrive(to, i, b%4 > 0)
			return true
		}
		return false
	case doEndHost:
		if h.reach(id) == nil || len(h.procs) < 3 {
			return false
		}
		h.endHost(p)
	}
	return true
}

// missing has the leader begin the incident of a host itself.
func (h *history) missing(id HostID, late bool) int {
	f := FaultBegan{Kind: "host", Target: "host", Late: late}
	for _, n := range h.nodes {
		if h.l.placed(n) == id && n.IsSwitch() {
			f.Switches = append(f.Switches, weft.SwitchID(n.Index))
		}
	}
	for i, k := range h.links {
		if h.l.placed(k.A.Node) == id || h.l.placed(k.B.Node) == id {
			f.Links = append(f.Links, weft.LinkID(i))
		}
	}
	h.step(f)
	h.faults = append(h.faults, activeFault{incident: h.l.Last()})
	return h.l.Last()
}

// alive reports whether the leader reaches a process, and takes it for alive.
func (h *history) alive(p *proc) bool {
	c := h.l.current(p.host)
	return h.reach(p.host) == p && c != nil && c.Incarnation == p.inc && c.Status == Alive
}

func (h *history) byIncarnation(n Incarnation) *proc {
	for _, p := range h.procs {
		if p.inc == n && !p.over {
			return p
		}
	}
	return nil
}

// syncAll tells all hosts that can be reached what the leader wants.
func (h *history) syncAll() {
	for _, p := range h.procs {
		if h.reach(p.host) == p {
			h.sync(p)
		}
	}
}

// anew starts a host once more, with the nodes that are placed on it.
func (h *history) anew(id HostID) {
	var nodes []weft.Node
	for _, n := range h.nodes {
		if h.l.placed(n) == id {
			nodes = append(nodes, n)
		}
	}
	old := h.procs[id-1]
	if c := h.l.current(id); c == nil || c.Status != Failed && c.Status != Ended {
		h.step(HostFailed{Host: id})
		h.syncAll()
	}
	h.kill(old)
	h.transits = slices.DeleteFunc(h.transits, func(x transit) bool {
		if x.to == old.inc {
			h.lost[sessionOf{weft.End{Node: x.node, Port: weft.NoPort}, x.from, x.to}] += uint64(x.n)
		}
		return x.to == old.inc
	})
	for _, n := range nodes {
		if at := h.at[n]; at != nil && h.reach(at.host) == at { // a leader with an older checkpoint has it placed elsewhere
			h.crashNode2(at, n)
		}
	}
	nodes = slices.DeleteFunc(nodes, func(n weft.Node) bool {
		return slices.ContainsFunc(h.transits, func(x transit) bool { return x.node == n })
	})
	p := h.start(id, nodes)
	h.step(HostStarted{id, p.inc, nodes})
}

// move has a switch go to another host with what it holds.
func (h *history) move(n weft.Node, from, to *proc) {
	var links []weft.LinkID
	for i, k := range h.links {
		if k.A.Node == n || k.B.Node == n {
			links = append(links, weft.LinkID(i))
		}
	}
	h.step(FaultBegan{Kind: "handover", Target: "switch", Links: links, Switches: []weft.SwitchID{weft.SwitchID(n.Index)}})
	h.faults = append(h.faults, activeFault{incident: h.l.Last(), nodes: []weft.Node{n}})
	h.handOver(from, to, n)
	h.step(NodeMoved{n, to.host, weft.Epoch(h.handed)})
	h.syncAll()
}

// arrive has a node taken by its next host.
func (h *history) arrive(to *proc, i int, whole bool) {
	n := h.transits[i].node
	h.take(to, i, whole)
	for j := range h.faults {
		if slices.Contains(h.faults[j].nodes, n) {
			h.repair(j)
			break
		}
	}
	h.syncAll()
}

// endHost ends a host in order: its nodes crash or move, and it says all there is to say.
func (h *history) endHost(p *proc) {
	var next *proc
	for _, o := range h.procs {
		if o != p && h.reach(o.host) == o {
			next = o
		}
	}
	if next == nil || slices.ContainsFunc(h.transits, func(x transit) bool { return x.to == p.inc }) {
		return
	}
	for _, n := range h.nodes {
		if h.at[n] == p {
			h.crashNode2(p, n)
			h.run(next, n)
			h.step(NodeMoved{Node: n, To: next.host})
		}
	}
	a := h.answer(p, h.now)
	a.Final = true
	if h.now%(20*weft.Millisecond) == 0 { // else its last words are lost
		h.hear(a)
	}
	h.kill(p)
	h.step(HostEnded{Host: p.host})
	h.syncAll()
}

// leaders has another leader go on, and quiescent points come.
func (h *history) leaders(kind, a, _ int) bool {
	switch kind {
	case doSave:
		h.save = h.checkpoint()
		for _, o := range h.forget {
			if p := h.reach(o.Host); p != nil {
				p.forgotten[o.Peer] = true
			}
		}
		h.forget = nil
	case doNewLeader:
		h.restore(h.checkpoint())
	case doOldLeader:
		if h.save == nil {
			return false
		}
		for i := len(h.transits) - 1; i >= 0; i-- { // what went through the hands of the leader before is gone
			if to := h.byIncarnation(h.transits[i].to); to != nil {
				h.take(to, i, false)
			}
		}
		h.restore(h.save)
	case doQuiesce:
		h.quiesce(a%2 == 0)
	}
	return true
}

// checkpoint is what the next leader may know.
func (h *history) checkpoint() *saved {
	data, err := h.l.Checkpoint(maxIncidents)
	if err != nil {
		h.fail("%w", err)
	}
	return &saved{
		data, maps.Clone(h.heard), maps.Clone(h.silent), maps.Clone(h.costs), slices.Clone(h.faults),
		maps.Clone(h.pending),
	}
}

// restore has another leader go on from a checkpoint.
func (h *history) restore(s *saved) {
	l, err := Restore(s.data, h.model.links)
	if err != nil {
		h.fail("%w", err)
		return
	}
	h.was, h.forget = Balance{}, nil
	h.l, h.heard, h.silent, h.costs = l, maps.Clone(s.heard), maps.Clone(s.silent), maps.Clone(s.costs)
	h.pending = maps.Clone(s.pending)
	// What the leader before had ordered since then is undone; what it had repaired is so.
	var lasting []activeFault
	for i := range h.faults {
		f := h.faults[i]
		if in := l.incident(f.incident); in != nil && in.Active() &&
			slices.ContainsFunc(s.faults, func(o activeFault) bool { return o.incident == f.incident }) {
			lasting = append(lasting, f)
		}
	}
	h.faults = lasting
	for w := range h.wires {
		h.wires[w].cut = slices.ContainsFunc(h.faults, func(f activeFault) bool { return slices.Contains(f.wires, w) })
	}
	for i := range l.state.Incidents {
		in := &l.state.Incidents[i]
		if in.Active() && !slices.ContainsFunc(h.faults, func(f activeFault) bool { return f.incident == in.ID }) {
			h.step(FaultEnded{in.ID})
		}
	}
	h.step(LeaderChanged{})
	for _, n := range h.nodes { // where nodes are it finds out
		if p := h.at[n]; p != nil {
			h.step(NodeMoved{Node: n, To: p.host})
		}
	}
}
