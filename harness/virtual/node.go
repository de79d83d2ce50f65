package virtual

import (
	"math/bits"
	"math/rand/v2"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Observer hears what a core reports, in order. It must return at once, must not use the engine or
// a node, and must not keep a.
type Observer interface {
	Observe(now weft.Time, a *weft.Actions)
}

// NodeConfig says how a node is driven.
type NodeConfig struct {
	Watch         Observer  // nil: nobody. It is called on the goroutine of the node's part
	CutThrough    bool      // packets are received when their first byte is there; otherwise their last
	RoutingDelay  weft.Time // of packets, from then until the core has them
	CrossbarDelay weft.Time // from when a port has something to send until it may
	Part          int       // nodes of one part run on one goroutine, see [Config.Workers]; 0 or more
}

// Node is a core with its place in an engine.
type Node struct {
	// What every event needs are two cache lines, of which a frame that is put on a wire to the node
	// needs the second: many nodes are more than a processor's cache holds.
	core     core
	stats    Stats
	hash     uint64
	crossbar weft.Time // CrossbarDelay

	worker  *worker
	index   uint32 // of those of the worker
	halted  bool   // see Halt
	ports   []port
	looks   weft.Time                   // when the core is to look at the time; Never: at none
	pending [weft.MaxPorts / 64]pending // of 64 ports each

	cfg     NodeConfig
	carrier switchd.Carrier // nil: nobody takes payloads
	id      int             // of those of the engine
}

// core is a core of which all that is needed for an event can be read ahead.
type core interface {
	weft.Core
	Preloader
}

// other is a core of which nothing is read ahead.
type other struct{ weft.Core }

func (other) Preload(weft.PortID) uint64     { return 0 }
func (other) PreloadNext(weft.PortID) uint64 { return 0 }

// pending has a bit for each port.
type pending struct {
	arrivals uint64 // at which a frame is to arrive
	sends    uint64 // that are to send
}

// port is one port. Its first seven words are in one cache line, which every event at it needs, and
// the next eight in another: Go puts a word before lists of so much that has pointers.
type port struct {
	arrives weft.Time         // when the first frame on the wire to it does; Never: it waits for none
	sends   weft.Time         // when it is to send; Never: it is not to
	line    link.Line[packed] // what is on the wire to it
	to      *Node             // at the other end; nil: it is not connected
	toPort  weft.PortID       // of to
	cut     bool
	cuts    bool // to.cfg.CutThrough, and its RoutingDelay: to is elsewhere in the memory
	pacer   link.Pacer
	routing weft.Time // so these are here
	draws   *rand.PCG // of its impairment; nil before the first
	pace    link.Pace
}

// Stats counts what a node has sent and received.
type Stats struct {
	FramesIn, FramesOut uint64
	CreditFrames        uint64 // of FramesOut, those without packets
	FramesLost          uint64 // by an impairment or a cut; not in FramesOut
}

var sound link.Impairment

// Add makes c a node.
func (e *Engine) Add(c weft.Core, cfg NodeConfig) *Node {
	n := &Node{
		id: len(e.nodes), cfg: cfg, crossbar: cfg.CrossbarDelay, hash: fingerprint, looks: weft.Never,
		ports: make([]port, c.Ports()),
	}
	for i := range n.ports {
		n.ports[i].arrives, n.ports[i].sends = weft.Never, weft.Never
	}
	var ok bool
	if n.core, ok = c.(core); !ok {
		n.core = other{c}
	}
	e.nodes = append(e.nodes, n)
	e.workers[cfg.Part%len(e.workers)].add(n)
	return n
}

func (n *Node) connect(p weft.PortID, to Port, pc link.Pace) {
	k := &n.ports[p]
	k.to, k.toPort, k.pace = to.Node, to.Port, pc
	k.cuts, k.routing = to.Node.cfg.CutThrough, to.Node.cfg.RoutingDelay
	k.pacer.Adopt(pc, &sound)
}

// Of what a node has to do, an arrival has the number of its port, a look at the time the number
// after that of the last port, and ports that are to send the numbers behind that.
func (n *Node) clock() int { return len(n.ports) }

// sending is the number of port p's being to send.
func (n *Node) sending(p weft.PortID) int { return len(n.ports) + 1 + int(p) }

// time is when the node is to do what has a number; Never: it is not to.
func (n *Node) time(of int) weft.Time {
	switch p := len(n.ports); {
	case of < p:
		return n.ports[of].arrives
	case of > p:
		return n.ports[of-p-1].sends
	}
	return n.looks
}

// The node is to take a frame at a port, to send by it, or to look at the time.
func (n *Node) arriveAt(p weft.PortID, at weft.Time) {
	n.ports[p].arrives = at
	n.pending[p>>6].arrivals |= 1 << (p & 63)
	n.worker.schedule(n, int(p), at)
}

func (n *Node) sendAt(p weft.PortID, at weft.Time) {
	n.ports[p].sends = at
	n.pending[p>>6].sends |= 1 << (p & 63)
	n.worker.schedule(n, n.sending(p), at)
}

func (n *Node) lookAt(at weft.Time) {
	n.looks = at
	n.worker.schedule(n, n.clock(), at)
}

// all calls f for what the node has to do before a time.
func (n *Node) all(end weft.Time, f func(of int, at weft.Time)) {
	if n.looks < end {
		f(n.clock(), n.looks)
	}
	for i := range (len(n.ports) + 63) / 64 {
		for word := n.pending[i].arrivals; word != 0; word &= word - 1 {
			p := i<<6 + bits.TrailingZeros64(word)
			if at := n.ports[p].arrives; at < end {
				f(p, at)
			}
		}
		for word := n.pending[i].sends; word != 0; word &= word - 1 {
			p := i<<6 + bits.TrailingZeros64(word)
			if at := n.ports[p].sends; at < end {
				f(n.sending(weft.PortID(p)), at)
			}
		}
	}
}

// events is the most that the node has to do now.
func (n *Node) events() int {
	count := 1 // it may look at the time
	for i := range (len(n.ports) + 63) / 64 {
		count += bits.OnesCount64(n.pending[i].arrivals) + bits.OnesCount64(n.pending[i].sends)
	}
	return count
}

// due is when the node has something to do first; Never when it has nothing to do.
func (n *Node) due() weft.Time {
	first := weft.Never
	n.all(weft.Never, func(_ int, at weft.Time) { first = min(first, at) })
	return first
}

// event is something that a node has to do at a time.
func (n *Node) event(of int, at weft.Time) event {
	const kind = 1 << 16 // above all ports
	e := event{at: at, of: int32(of)}
	// Port numbers are put in another order by an exclusive or: of any two ports, each is first as
	// often.
	turn := uint32(uint64(at) * fingerprint >> 56)
	switch p := len(n.ports); {
	case of < p:
		e.key = uint32(of) ^ turn
	case of == p:
		e.key = kind
	default:
		e.key = 2*kind | uint32(of-p-1) ^ turn
	}
	return e
}

// next is what the node has to do first; due at Never when there is nothing.
func (n *Node) next() event {
	first := event{at: weft.Never}
	n.all(weft.Never, func(of int, at weft.Time) {
		if e := n.event(of, at); e.before(first) {
			first = e
		}
	})
	return first
}

// do has a node do what an event says.
func (w *worker) do(n *Node, e event) {
	w.now = e.at
	w.events++
	switch p, ports := weft.PortID(e.of), weft.PortID(len(n.ports)); {
	case p < ports:
		n.ports[p].arrives = weft.Never
		n.pending[p>>6].arrivals &^= 1 << (p & 63)
		n.arrive(p)
	case p == ports:
		n.looks = weft.Never
		n.tick()
	default:
		p -= ports + 1
		n.ports[p].sends = weft.Never
		n.pending[p>>6].sends &^= 1 << (p & 63)
		n.step(p, false)
	}
}

// Do steps the core by f, which must only call it and return.
func (n *Node) Do(f func(now weft.Time, out *weft.Actions)) {
	out := n.enter()
	f(n.worker.now, out)
	n.act(out)
}

// View calls f, which may read the core and must not step it.
func (n *Node) View(f func()) { f() }

// Signal tells the core that port p has signal or has lost it.
func (n *Node) Signal(p weft.PortID, up bool) {
	out := n.enter()
	n.mixPort(p, up)
	n.core.Signal(n.worker.now, p, up, out)
	n.act(out)
}

// Impair replaces what port p's outgoing direction suffers. The zero Impairment heals it. Frames on
// their way arrive no later than if they had set out now.
func (n *Node) Impair(p weft.PortID, i link.Impairment) {
	n.enter()
	k, w := &n.ports[p], n.worker
	if k.draws == nil {
		k.draws = w.engine.draws(n.id, int(p))
	}
	line := Port{n, p}.line()
	k.pacer.Change(w.now, k.pace, &i, line)
	if i.Jitter > 0 {
		w.engine.nearer(max(0, weft.FromDuration(k.pace.Delay+i.Delay-i.Jitter)))
	}
	if !line.Empty() {
		k.to.arriveAt(k.toPort, max(line.Due(), w.now))
	}
	if k.sends < weft.Never { // at the old rate
		k.sends = weft.Never
		n.pending[p>>6].sends &^= 1 << (p & 63)
		n.mayTransmit(p, w.now)
	}
}

// Stats returns the counters.
func (n *Node) Stats() Stats { return n.stats }

// enter begins a call from outside.
func (n *Node) enter() *weft.Actions {
	n.worker.now = n.worker.engine.now
	return n.begin()
}

// begin empties the actions for a call into the core.
func (n *Node) begin() *weft.Actions {
	out := &n.worker.out
	out.Reset()
	return out
}

// act does what the core asked for.
func (n *Node) act(out *weft.Actions) {
	w := n.worker
	if out.HasEvents() && n.cfg.Watch != nil {
		n.cfg.Watch.Observe(w.now, out)
	}
	if len(out.Changes)+len(out.Drops) > 0 {
		n.mixEnds(out)
		n.Payloads().FreeDropped(out.Drops)
	}
	if len(out.Carried) > 0 || out.Room {
		n.carry(out)
	}
	if out.WakeAt < n.looks {
		n.lookAt(max(out.WakeAt, w.now))
	}
	for _, p := range out.Ready {
		n.mayTransmit(p, w.now+n.crossbar)
	}
}

// mixEnds adds the ports that went up or down, and the packets that ended, to the fingerprint.
func (n *Node) mixEnds(out *weft.Actions) {
	for _, c := range out.Changes {
		n.mixPort(c.Port, c.Up)
	}
	for i := range out.Drops {
		d := &out.Drops[i]
		n.mixPacket(d.Port, &d.Header)
		n.hash = mix(n.hash, uint64(d.Account))
	}
}

func (n *Node) mixPort(p weft.PortID, up bool) {
	n.hash = mix(n.hash, uint64(n.worker.now))
	n.hash = mix(n.hash, uint64(p)<<1)
	if up {
		n.hash++
	}
}

func (n *Node) mixPacket(p weft.PortID, h *weft.Header) {
	n.hash = mix(n.hash, uint64(n.worker.now)^uint64(p)<<48)
	n.hash = mix(n.hash, uint64(h.Src)<<32|uint64(h.Dst))
	n.hash = mix(n.hash, h.Seq)
}

// mayTransmit lets port p send at a time, or as soon after as its link is free.
func (n *Node) mayTransmit(p weft.PortID, at weft.Time) {
	k := &n.ports[p]
	if k.sends == weft.Never && k.to != nil {
		n.sendAt(p, max(at, k.pacer.Free()))
	}
}

// hello sends the hello that is due at port p.
func (n *Node) hello(p weft.PortID) {
	now := n.worker.now
	if k := &n.ports[p]; k.pacer.Free() > now && k.to != nil {
		n.step(p, true)
		return
	}
	n.mayTransmit(p, now+n.crossbar)
}

// step sends a frame of the core, as [link.Pacer.Allow] says.
func (n *Node) step(p weft.PortID, owed bool) {
	k, w := &n.ports[p], n.worker
	limit, ok := k.pacer.Allow(w.now, w.engine.cfg.Batch, owed)
	if !ok {
		n.mayTransmit(p, w.now)
		return
	}
	f, out := w.take(), n.begin()
	f.Frame.lend(&w.frame)
	any := n.core.Transmit(w.now, p, limit, &w.frame, out)
	more := out.More
	if any {
		n.send(k, f)
	} else {
		w.recycle(f)
	}
	n.act(out)
	if more {
		n.mayTransmit(p, w.now)
	}
}

// send puts the frame of the worker on the wire of a port, unless the link loses it. Its room is
// that of f.
func (n *Node) send(k *port, f *flight) {
	frame := &n.worker.frame
	f.Frame.pack(frame)
	at, lost := k.pacer.Send(n.worker.now, frame, k.draws)
	if lost || k.cut {
		n.lose(f)
		return
	}
	n.stats.FramesOut++
	switch {
	case len(frame.Packets) == 0:
		n.stats.CreditFrames++
	case k.cuts:
		at += k.routing - k.pacer.Lasts(frame)
	default:
		at += k.routing
	}
	n.worker.send(sending{k.to, k.toPort, at, f})
}

func (n *Node) lose(f *flight) {
	n.freeCarried(&f.Frame)
	n.stats.FramesLost++
	n.worker.recycle(f)
}

// arrive gives the core the frames that have arrived at port p.
func (n *Node) arrive(p weft.PortID) {
	w, line := n.worker, &n.ports[p].line
	for !line.Empty() {
		if due := line.Due(); due > w.now {
			n.arriveAt(p, due)
			return
		}
		f := line.Pop()
		f.Frame.unpack(&w.frame)
		n.stats.FramesIn++
		for i := range w.frame.Packets {
			n.mixPacket(p, &w.frame.Packets[i])
		}
		out := n.begin()
		n.core.Receive(w.now, p, &w.frame, out)
		n.freeCarried(&f.Frame)
		w.recycle(f)
		n.act(out)
	}
}

// tick has the core do what is due.
func (n *Node) tick() {
	w, out := n.worker, n.begin()
	n.core.Tick(w.now, out)
	w.owed = append(w.owed[:0], out.Owed...)
	n.act(out)
	for _, p := range w.owed {
		n.hello(p)
	}
}
