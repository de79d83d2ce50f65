package ledger

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-fabric/weft"
)

// answer is what p says when it is asked.
func (w *model) answer(p *proc, asked weft.Time) *Answer {
	p.seq++
	a := &Answer{
		Host: p.host, Incarnation: p.inc, Seq: p.seq, Asked: asked, Sent: p.sent, Received: p.received,
		Counted: Counted{Counters: p.c},
	}
	if p.rules > 0 {
		a.Discards = []Rule{{"no port", p.rules}}
	}
	for n, x := range p.nodes {
		if n.IsSwitch() {
			a.Held += uint64(x.held)
		} else {
			a.Queued += uint64(x.held)
		}
	}
	for e, x := range p.ends {
		if e.Node.IsSwitch() {
			a.Held += uint64(x.out)
		} else {
			a.Queued += uint64(x.out)
		}
	}
	if w.known > 0 { // it has heard of more by then
		w.known = max(w.known, p.known)
	}
	p.known = cmp.Or(w.known, weft.Epoch(1000*len(w.owners)))
	flows := w.allSessions(p)
	if w.known > 0 {
		told := flows
		w.known = 0
		for k, f := range w.allSessions(p) { // what is not told of has not happened yet
			if k.peer != p.inc {
				a.Sent, a.Received = a.Sent-(f.Sent-told[k].Sent), a.Received-(f.Received-told[k].Received)
			}
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(flows), func(a, b sessionKey) int {
		return cmp.Or(EndLost{End: a.end}.Compare(EndLost{End: b.end}), cmp.Compare(a.peer, b.peer))
	}) {
		if k.peer != 0 && k.peer != p.inc && !p.forgotten[k.peer] {
			a.Flows = append(a.Flows, Flow{k.end, k.peer, flows[k]})
		}
	}
	for i, k := range w.links {
		ends := [2]weft.End{k.A, k.B}
		for d := range ends {
			from, to := flows[sessionKey{ends[d], p.inc}], flows[sessionKey{ends[1-d], p.inc}]
			wires, lost := onWire(&from, &to) // an end may not have come up yet
			a.Wires += wires
			if lost > 0 {
				id := weft.LinkID(i)
				if p.inside[id] == nil {
					p.inside[id] = new([2]uint64)
				}
				p.inside[id][d] = max(p.inside[id][d], lost)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.inside)) {
		a.Wire = append(a.Wire, LinkLost{id, *p.inside[id]})
	}
	for e, n := range p.queue {
		a.Queue = append(a.Queue, EndLost{e, n})
	}
	slices.SortFunc(a.Queue, EndLost.Compare)
	for id, n := range p.crash {
		a.Crash = append(a.Crash, NodeLost{id, n})
	}
	slices.SortFunc(a.Crash, NodeLost.Compare)
	return a
}

// holds is how many packets are inside p.
func (p *proc) holds() (n int) {
	for _, x := range p.nodes {
		n += x.held
	}
	for _, x := range p.ends {
		n += x.out
	}
	return n
}
