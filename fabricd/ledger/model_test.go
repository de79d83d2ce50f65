package ledger

import (
	"maps"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// model is a fabric that knows everything: every packet is in one place, and what becomes of it is
// counted where it happens. Its link ends are real (switch/link); all else is as simple as can
// be.
type model struct {
	links    []Link
	nodes    []weft.Node
	at       map[weft.Node]*proc // who runs a node now; nil: nobody
	wires    []wire              // per link and direction
	owners   []Incarnation       // of epochs, by thousands
	ran      map[weft.End][]link.Incarnation
	known    weft.Epoch // what is above it the question says nothing of, for it comes late; 0: it says all
	last     Incarnation
	handed   uint32 // hand-overs
	transits []transit
	dead     []*proc // that are gone
	procs    []*proc // by host, the latest
	requeue  bool

	lost map[sessionOf]uint64 // packets lost on the way, by whom they were between
}

// sessionOf names a session in one direction.
type sessionOf struct {
	end      weft.End // that sent; of a hand-over its node, with NoPort
	from, to Incarnation
}

// wire is one direction of a link.
type wire struct {
	frames []frame
	cut    bool
}

type frame struct {
	weft.Frame
	n        int // packets
	from, to Incarnation
}

// transit is what a node held that is on its way to another host.
type transit struct {
	node     weft.Node
	n        int
	number   uint32
	from, to Incarnation
}

// proc is one incarnation of a host.
type proc struct {
	host      HostID
	inc       Incarnation
	frozen    bool       // nothing moves in it
	cutOff    bool       // the leader does not reach it
	known     weft.Epoch // above it no question has said who has which epochs
	over      bool       // it is gone
	nodes     map[weft.Node]*node
	ends      map[weft.End]*end
	flows     map[sessionKey]link.Flow // of ends that it has no more, and hand-overs
	forgotten map[Incarnation]bool

	seq            uint64
	c              Counters
	sent, received uint64
	rules          uint64
	queue          map[weft.End]uint64
	crash          map[weft.SwitchID]uint64
	inside         map[weft.LinkID]*[2]uint64 // the most that was seen lost on links inside
}

type sessionKey struct {
	end  weft.End
	peer Incarnation
}

// node holds packets: in its inputs or its send queue, and in the output queues of its ends.
type node struct {
	held int
	down bool // it has crashed
}

type end struct {
	link.End
	carrier bool
	out     int // packets in its output queue
}

// hello has the end say hello if it has signal.
func (x *end) hello() {
	if x.State() != link.Down {
		x.Signal(0, true)
	}
}

// giveUp has an end that is up begin a new epoch. It reports whether it was up.
func (x *end) giveUp() bool {
	up := x.State() == link.Up
	if up {
		x.Signal(0, false)
		x.Signal(0, true)
	}
	return up
}

func newModel(links []Link, hosts int) *model {
	w := &model{
		links: links, at: map[weft.Node]*proc{}, ran: map[weft.End][]link.Incarnation{},
		wires: make([]wire, 2*len(links)), lost: map[sessionOf]uint64{}, procs: make([]*proc, hosts),
	}
	seen := map[weft.Node]bool{}
	for _, k := range links {
		for _, e := range []weft.End{k.A, k.B} {
			if !seen[e.Node] {
				seen[e.Node] = true
				w.nodes = append(w.nodes, e.Node)
			}
		}
	}
	return w
}

// start begins an incarnation of a host.
func (w *model) start(host HostID, nodes []weft.Node) *proc {
	w.last++
	p := &proc{
		host: host, inc: w.last, nodes: map[weft.Node]*node{}, ends: map[weft.End]*end{}, flows: map[sessionKey]link.Flow{},
		forgotten: map[Incarnation]bool{}, queue: map[weft.End]uint64{}, crash: map[weft.SwitchID]uint64{},
		inside: map[weft.LinkID]*[2]uint64{},
	}
	if old := w.procs[host-1]; old != nil {
		w.kill(old)
	}
	w.procs[host-1] = p
	for _, n := range nodes {
		w.run(p, n)
	}
	return p
}

// run has p run a node, which begins empty.
func (w *model) run(p *proc, n weft.Node) {
	p.nodes[n] = new(node)
	w.at[n] = p
	for _, k := range w.links {
		for _, e := range []weft.End{k.A, k.B} {
			if e.Node == n {
				if p.ends[e] != nil {
					w.sessions(p, e, p.flows)
				}
				first := weft.Epoch(len(w.owners) * 1000)
				w.owners = append(w.owners, p.inc)
				w.ran[e] = append(w.ran[e], link.Incarnation{Number: uint64(p.inc), First: first})
				p.ends[e] = &end{End: link.New(link.Config{VCs: 1, Buffer: 6, First: first})}
			}
		}
	}
}

// owner is the incarnation that an epoch is of.
func (w *model) owner(e weft.Epoch) Incarnation {
	if e == 0 {
		return 0
	}
	return w.owners[int(e-1)/1000]
}

// incarnations are those that have run the neighbour of an end, by their epochs.
func (w *model) incarnations(e weft.End) []link.Incarnation {
	l, d := w.linkOf(e)
	list := w.ran[[2]weft.End{w.links[l].B, w.links[l].A}[d]]
	if w.known == 0 {
		return list
	}
	later := slices.IndexFunc(list, func(k link.Incarnation) bool { return k.First >= w.known })
	if later < 0 {
		later = len(list)
	}
	return append(slices.Clone(list[:later]), link.Incarnation{First: w.known})
}

// sessions adds the sessions of an end to what p has told of them before, when it had the node
// already.
func (w *model) sessions(p *proc, e weft.End, flows map[sessionKey]link.Flow) {
	p.ends[e].Sessions(w.incarnations(e), func(s link.Session) {
		k := sessionKey{e, Incarnation(s.Peer)}
		f, old := s.Flow, flows[k]
		if f.LastSent == 0 {
			f.LastFrom, f.LastTo, f.LastSent = old.LastFrom, old.LastTo, old.LastSent
		}
		f.Sent, f.Received = f.Sent+old.Sent, f.Received+old.Received
		flows[k] = f
	})
}

// allSessions are those of p.
func (w *model) allSessions(p *proc) map[sessionKey]link.Flow {
	flows := maps.Clone(p.flows)
	for e := range p.ends {
		w.sessions(p, e, flows)
	}
	return flows
}

// kill ends a process with all that it holds.
func (w *model) kill(p *proc) {
	if p.over {
		return
	}
	p.over = true
	w.dead = append(w.dead, p)
	for n := range p.nodes {
		if w.at[n] == p {
			w.at[n] = nil
		}
	}
}

// linkOf is the link at an end, and the direction out of it.
func (w *model) linkOf(e weft.End) (link, dir int) {
	for i, k := range w.links {
		if k.A == e {
			return i, 0
		}
		if k.B == e {
			return i, 1
		}
	}
	panic("no link at this end")
}

func (w *model) out(e weft.End) *wire { l, d := w.linkOf(e); return &w.wires[2*l+d] }

// signal gives an end signal, or takes it.
func (w *model) signal(p *proc, e weft.End, up bool) {
	x := p.ends[e]
	if x.carrier = up; x.Signal(0, up) {
		w.loseQueue(p, e)
	}
}

// loseQueue loses what an end has queued, or takes it back.
func (w *model) loseQueue(p *proc, e weft.End) {
	x := p.ends[e]
	if w.requeue || !e.Node.IsSwitch() {
		p.nodes[e.Node].held += x.out
	} else if x.out > 0 {
		p.queue[e] += uint64(x.out)
		p.c.Switches.LostQueue += uint64(x.out)
	}
	x.out = 0
}

// transmit sends a frame with at most so many packets of the queue of an end.
func (w *model) transmit(p *proc, e weft.End, most int) {
	x := p.ends[e]
	n := min(most, x.out, x.Credits(0))
	if n == 0 && !x.Owes() {
		return
	}
	f := frame{n: n, from: p.inc}
	x.Stamp(0, &f.Frame)
	f.to = w.owner(f.To)
	for range n {
		x.Spend(0)
	}
	x.out -= n
	if f.to != p.inc {
		p.sent += uint64(n)
	}
	if wr := w.out(e); !wr.cut {
		wr.frames = append(wr.frames, f)
	} else {
		w.drop(e, &f, n)
	}
}

// drop loses packets of a frame that an end has sent.
func (w *model) drop(from weft.End, f *frame, n int) {
	if n > 0 {
		w.lost[sessionOf{from, f.from, f.to}] += uint64(n)
	}
}

// receiver is who takes the next frame on a wire; nil: nobody does.
func (w *model) receiver(f *frame, e weft.End) *proc {
	for _, p := range w.procs {
		if p != nil && !p.over && p.inc == f.to && p.nodes[e.Node] != nil {
			return p
		}
	}
	return w.at[e.Node]
}

// sender and receiver ends of a direction.
func (w *model) endsOf(i int) (from, to weft.End) {
	k := w.links[i/2]
	if i%2 == 0 {
		return k.A, k.B
	}
	return k.B, k.A
}

// deliver takes the next frame off a wire. It reports whether there was one that could be taken.
func (w *model) deliver(i int) bool {
	wr := &w.wires[i]
	if len(wr.frames) == 0 {
		return false
	}
	f := wr.frames[0]
	from, e := w.endsOf(i)
	p := w.receiver(&f, e)
	if p != nil && p.frozen {
		return false
	}
	wr.frames = wr.frames[1:]
	if p == nil || p.nodes[e.Node].down {
		w.drop(from, &f, f.n)
		return true
	}
	x := p.ends[e]
	v, err := x.Receive(0, &f.Frame)
	if err != nil {
		panic(err)
	}
	if v.Lost {
		w.loseQueue(p, e)
	}
	if !v.Accept {
		w.drop(from, &f, f.n)
		return true
	}
	for j := range f.n {
		if fresh, err := x.Take(0, f.Sent[0]+uint64(j)); err != nil || !fresh {
			panic("a packet came twice, or without room")
		}
		x.Free(0)
		if _, peer := x.Epochs(); w.owner(peer) != p.inc {
			p.received++
		}
	}
	p.nodes[e.Node].held += f.n
	return true
}

// doomed is how many packets on wires cannot be accepted any more, whatever happens: they are lost
// already.
func (w *model) doomed(i int) map[sessionOf]uint64 {
	lost := map[sessionOf]uint64{}
	from, e := w.endsOf(i)
	for _, f := range w.wires[i].frames {
		if f.n == 0 {
			continue
		}
		p := w.receiver(&f, e)
		if p != nil {
			x := p.ends[e]
			mine, peer := x.Epochs()
			if mine == f.To && (x.State() == link.Init || x.State() == link.Up && peer == f.From) {
				continue
			}
		}
		lost[sessionOf{from, f.from, f.to}] += uint64(f.n)
	}
	return lost
}

// crashNode loses all that a switch holds.
func (w *model) crashNode(p *proc, n weft.Node, down bool) {
	x := p.nodes[n]
	all := x.held
	for e, at := range p.ends {
		if e.Node == n {
			all, at.out = all+at.out, 0
			w.signal(p, e, false)
		}
	}
	x.held, x.down = 0, down
	if all > 0 {
		p.crash[weft.SwitchID(n.Index)] += uint64(all)
		p.c.Switches.LostCrash += uint64(all)
	}
}

// handOver has p hand over a node to another process; transits with what it held are on their way.
func (w *model) handOver(p, to *proc, n weft.Node) {
	all := w.leave(p, n)
	w.handed++
	k := sessionKey{weft.End{Node: n, Port: weft.NoPort}, to.inc}
	f := p.flows[k]
	f.Sent += uint64(all)
	f.LastFrom, f.LastTo, f.LastSent = weft.Epoch(w.handed), weft.Epoch(w.handed), uint64(all)
	p.flows[k] = f
	p.sent += uint64(all)
	w.transits = append(w.transits, transit{n, all, w.handed, p.inc, to.inc})
	w.at[n] = nil
}

// leave ends a node at p, and returns how many packets it held.
func (w *model) leave(p *proc, n weft.Node) int {
	all := p.nodes[n].held
	for e, at := range p.ends {
		if e.Node == n {
			all, at.out = all+at.out, 0
			w.signal(p, e, false)
			w.sessions(p, e, p.flows)
			delete(p.ends, e)
		}
	}
	delete(p.nodes, n)
	return all
}

// take has a process take a transit, or the node without what it held.
func (w *model) take(p *proc, i int, whole bool) {
	x := w.transits[i]
	w.transits = slices.Delete(w.transits, i, i+1)
	w.run(p, x.node)
	k := sessionKey{weft.End{Node: x.node, Port: weft.NoPort}, x.from}
	f := p.flows[k]
	f.Mine, f.Peer, f.Taken = weft.Epoch(x.number), weft.Epoch(x.number), uint64(x.n)
	if whole {
		f.Received += uint64(x.n)
	}
	p.flows[k] = f
	if !whole {
		w.lost[sessionOf{k.end, x.from, x.to}] += uint64(x.n)
		return
	}
	p.received += uint64(x.n)
	p.nodes[x.node].held = x.n
}
