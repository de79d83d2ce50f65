package virtual

import (
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
	worker   *worker
	core     weft.Core
	preloads Preloader // the core, or nil
	index    uint32    // of those of the worker
	id       int       // of those of the engine
	halted   bool      // see Halt
	// times are when the node has something to do, Never where it has not: per port when the first
	// frame on the wire to it arrives, when the core is to look at the time, and per port when it is
	// to send.
	times []weft.Time
	lines []link.Line[weft.Frame] // per port, what is on the wire to it
	ports []port
	hash  uint64

	carrier switchd.Carrier // nil: nobody takes payloads
	cfg     NodeConfig
	stats   Stats
}

// port is the sending side of one port, of two cache lines; what is read most is in the first.
type port struct {
	to      *Node       // at the other end; nil: it is not connected
	toPort  weft.PortID // of to
	cut     bool
	cuts    bool      // to.cfg.CutThrough, and its RoutingDelay: to is elsewhere in the memory
	routing weft.Time // so these are here
	pacer   link.Pacer
	draws   *rand.PCG // of its impairment; nil before the first
	pace    link.Pace
}

// Stats counts what a node has sent and received.
type Stats struct {
	FramesIn, FramesOut uint64
	FramesLost          uint64 // by an impairment or a cut; not in FramesOut
	CreditFrames        uint64 // of FramesOut, those without packets
}

var sound link.Impairment

// Add makes core a node.
func (e *Engine) Add(core weft.Core, cfg NodeConfig) *Node {
	p := core.Ports()
	n := &Node{
		core: core, id: len(e.nodes), cfg: cfg, hash: fingerprint,
		times: make([]weft.Time, 2*p+1), lines: make([]link.Line[weft.Frame], p), ports: make([]port, p),
	}
	for i := range n.times {
		n.times[i] = weft.Never
	}
	n.preloads, _ = core.(Preloader)
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

// clock is the index in times of when the core is to look at the time. Before it stand arrivals, the one
// at port p at index p.
func (n *Node) clock() int { return len(n.ports) }

// sending is the index in times of when port p is to send.
func (n *Node) sending(p weft.PortID) int { return len(n.ports) + 1 + int(p) }

// due is when the node has something to do first; Never when it has nothing to do.
func (n *Node) due() weft.Time {
	first := weft.Never
	for _, at := range n.times {
		first = min(first, at)
	}
	return first
}

// event is what a node has to do at one of its times.
func (n *Node) event(of int) event {
	const kind = 1 << 16 // above all ports
	e := event{at: n.times[of], of: int32(of)}
	// Port numbers are put in another order by an exclusive or: of any two ports, each is first as often.
	turn := uint32(uint64(e.at) * fingerprint >> 56)
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
	for of, at := range n.times {
		if at <= first.at && at < weft.Never {
			if e := n.event(of); e.before(first) {
				first = e
			}
		}
	}
	return first
}

// do has a node do what an event says.
func (w *worker) do(n *Node, e event) {
	w.now = e.at
	w.events++
	n.times[e.of] = weft.Never
	switch p := weft.PortID(e.of); {
	case int(e.of) < n.clock():
		n.arrive(p)
	case int(e.of) == n.clock():
		n.tick()
	default:
		n.step(p-weft.PortID(n.clock())-1, false)
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
		w.schedule(k.to, int(k.toPort), max(line.Due(), w.now))
	}
	if of := n.sending(p); n.times[of] < weft.Never { // at the old rate
		n.times[of] = weft.Never
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
	if n.cfg.Watch != nil && out.HasEvents() {
		n.cfg.Watch.Observe(w.now, out)
	}
	if len(out.Changes)+len(out.Drops) > 0 {
		n.mixEnds(out)
		n.Payloads().FreeDropped(out.Drops)
	}
	if len(out.Carried) > 0 || out.Room {
		n.carry(out)
	}
	if of := n.clock(); out.WakeAt < n.times[of] {
		w.schedule(n, of, max(out.WakeAt, w.now))
	}
	for _, p := range out.Ready {
		n.mayTransmit(p, w.now+n.cfg.CrossbarDelay)
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
	if of := n.sending(p); n.times[of] == weft.Never && k.to != nil {
		n.worker.schedule(n, of, max(at, k.pacer.Free()))
	}
}

// hello sends the hello that is due at port p.
func (n *Node) hello(p weft.PortID) {
	now := n.worker.now
	if k := &n.ports[p]; k.pacer.Free() > now && k.to != nil {
		n.step(p, true)
		return
	}
	n.mayTransmit(p, now+n.cfg.CrossbarDelay)
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
	any := n.core.Transmit(w.now, p, limit, &f.Frame, out)
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

// send puts a frame on the wire of a port, unless the link loses it.
func (n *Node) send(k *port, f *flight) {
	at, lost := k.pacer.Send(n.worker.now, &f.Frame, k.draws)
	if lost || k.cut {
		n.lose(f)
		return
	}
	n.stats.FramesOut++
	switch {
	case len(f.Frame.Packets) == 0:
		n.stats.CreditFrames++
	case k.cuts:
		at += k.routing - k.pacer.Lasts(&f.Frame)
	default:
		at += k.routing
	}
	n.worker.send(sending{k.to, k.toPort, at, f})
}

func (n *Node) lose(f *flight) {
	n.freeCarried(f)
	n.stats.FramesLost++
	n.worker.recycle(f)
}

// arrive gives the core the frames that have arrived at port p.
func (n *Node) arrive(p weft.PortID) {
	w, line := n.worker, &n.lines[p]
	for !line.Empty() {
		if due := line.Due(); due > w.now {
			w.schedule(n, int(p), due)
			return
		}
		f := line.Pop()
		n.stats.FramesIn++
		for i := range f.Frame.Packets {
			n.mixPacket(p, &f.Frame.Packets[i])
		}
		out := n.begin()
		n.core.Receive(w.now, p, &f.Frame, out)
		n.freeCarried(f)
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
