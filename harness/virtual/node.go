package virtual

import (
	"math/rand/v2"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Observer hears what a core reports, in order. It must return at once, must not use the engine or
// a node, and must not keep a.
type Observer interface {
	Observe(now weft.Time, a *weft.Actions)
}

// NodeConfig says how a node is driven.
type NodeConfig struct {
	Watch         Observer  // nil: nobody
	CutThrough    bool      // packets are received when their first byte is there; otherwise their last
	RoutingDelay  weft.Time // of packets, from then until the core has them
	CrossbarDelay weft.Time // from when a port has something to send until it may
}

// Node is a core with its place in an engine.
type Node struct {
	engine *Engine
	index  uint64
	core   weft.Core
	ports  []port
	tickAt weft.Time // when the core is to look at the time; Never: need not
	cfg    NodeConfig
	stats  Stats
	halted bool // see Halt
}

// port is the sending side of one port, of two cache lines; what is read most is in the first.
type port struct {
	// When the next event of each kind is due; Never: there is none. One that comes at another time
	// has been overtaken.
	arrivesAt, sendsAt weft.Time

	to     *Node       // at the other end; nil: it is not connected
	toPort weft.PortID // of to
	owed   bool        // the node was halted when it could send
	cut    bool
	line   link.Line[weft.Frame] // on the wire
	pacer  link.Pacer
	draws  *rand.PCG // of its impairment; nil before the first
	pace   link.Pace
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
	n := &Node{engine: e, index: uint64(len(e.nodes)), core: core, cfg: cfg, ports: make([]port, core.Ports()), tickAt: weft.Never}
	e.nodes = append(e.nodes, n)
	return n
}

func (n *Node) connect(p weft.PortID, to Port, pc link.Pace) {
	k := &n.ports[p]
	k.to, k.toPort, k.pace, k.arrivesAt, k.sendsAt = to.Node, to.Port, pc, weft.Never, weft.Never
	k.pacer.Adopt(pc, &sound)
}

// Do steps the core by f, which must only call it and return.
func (n *Node) Do(f func(now weft.Time, out *weft.Actions)) {
	out := n.begin()
	f(n.engine.now, out)
	n.act(out)
}

// View calls f, which may read the core and must not step it.
func (n *Node) View(f func()) { f() }

// Signal tells the core that port p has signal or has lost it.
func (n *Node) Signal(p weft.PortID, up bool) {
	out := n.begin()
	n.core.Signal(n.engine.now, p, up, out)
	n.act(out)
}

// Impair replaces what port p's outgoing direction suffers. The zero Impairment heals it. Frames on
// their way arrive no later than if they had set out now.
func (n *Node) Impair(p weft.PortID, i link.Impairment) {
	k := &n.ports[p]
	if k.draws == nil {
		k.draws = n.engine.draws(int(n.index), int(p))
	}
	k.pacer.Change(n.engine.now, k.pace, &i, &k.line)
	if !k.line.Empty() {
		n.await(p, laneOther)
	}
	if k.sendsAt != weft.Never { // at the old rate
		k.sendsAt = weft.Never
		n.mayTransmit(p, n.engine.now)
	}
}

// Stats returns the counters.
func (n *Node) Stats() Stats { return n.stats }

// begin empties the actions for a call into the core.
func (n *Node) begin() *weft.Actions {
	out := &n.engine.out
	out.Reset()
	return out
}

// act does what the core asked for.
func (n *Node) act(out *weft.Actions) {
	if w := n.cfg.Watch; w != nil && out.HasEvents() {
		w.Observe(n.engine.now, out)
	}
	if out.WakeAt < n.tickAt {
		n.tickAt = max(out.WakeAt, n.engine.now)
		n.engine.schedule(n.tickAt, evTick|n.index, laneOther)
	}
	for _, p := range out.Ready {
		n.mayTransmit(p, n.engine.now+n.cfg.CrossbarDelay)
	}
}

// mayTransmit lets port p send at a time, or as soon after as its link is free.
func (n *Node) mayTransmit(p weft.PortID, at weft.Time) {
	k := &n.ports[p]
	if k.sendsAt != weft.Never || k.to == nil {
		return
	}
	l := laneReady
	if free := k.pacer.Free(); free > at {
		at, l = free, laneFree
	} else if at == n.engine.now {
		l = laneNow
	}
	k.sendsAt = at
	n.engine.schedule(at, evTransmit|uint64(p)<<32|n.index, l)
}

// transmit sends what the core has for port p, at the time that was set for it.
func (n *Node) transmit(p weft.PortID) {
	n.ports[p].sendsAt = weft.Never
	n.step(p, false)
}

// hello sends the hello that is due at port p.
func (n *Node) hello(p weft.PortID) {
	if k := &n.ports[p]; k.pacer.Free() > n.engine.now && k.to != nil {
		n.step(p, true)
		return
	}
	n.mayTransmit(p, n.engine.now+n.cfg.CrossbarDelay)
}

// step sends a frame of the core, as [link.Pacer.Allow] says.
func (n *Node) step(p weft.PortID, owed bool) {
	k := &n.ports[p]
	if n.halted {
		k.owed = true
		return
	}
	e := n.engine
	limit, ok := k.pacer.Allow(e.now, e.cfg.Batch, owed)
	if !ok {
		n.mayTransmit(p, e.now)
		return
	}
	f, out := e.take(), n.begin()
	any := n.core.Transmit(e.now, p, limit, &f.Frame, out)
	more := out.More
	if any {
		n.send(p, f)
	} else {
		e.recycle(f)
	}
	n.act(out)
	if more {
		n.mayTransmit(p, e.now)
	}
}

// send puts a frame on the wire, unless the link loses it.
func (n *Node) send(p weft.PortID, f *flight) {
	k := &n.ports[p]
	at, lost := k.pacer.Send(n.engine.now, &f.Frame, k.draws)
	if lost || k.cut {
		n.lose(f)
		return
	}
	n.stats.FramesOut++
	to, l := k.to, laneTail
	switch {
	case len(f.Frame.Packets) == 0:
		n.stats.CreditFrames++
		l = laneCredit
	case to.cfg.CutThrough:
		at += to.cfg.RoutingDelay - k.pacer.Lasts(&f.Frame)
		l = laneHead
	default:
		at += to.cfg.RoutingDelay
	}
	if k.line.Push(f, at) {
		n.await(p, l)
	}
}

func (n *Node) lose(f *flight) {
	n.stats.FramesLost++
	n.engine.recycle(f)
}

// arrive gives the other end of port p's link the frames that have arrived there.
func (n *Node) arrive(p weft.PortID) {
	k := &n.ports[p]
	e, to := n.engine, k.to
	k.arrivesAt = weft.Never
	if to.halted {
		return
	}
	for !k.line.Empty() && k.line.Due() <= e.now {
		f := k.line.Pop()
		to.stats.FramesIn++
		for i := range f.Frame.Packets {
			h := &f.Frame.Packets[i]
			e.mix(uint64(h.Src)<<32 | uint64(h.Dst))
			e.mix(h.Seq)
		}
		out := to.begin()
		to.core.Receive(e.now, k.toPort, &f.Frame, out)
		e.recycle(f)
		to.act(out)
	}
	if !k.line.Empty() {
		n.await(p, laneOther)
	}
}

// await schedules the arrival of the first frame on the wire from port p. There must be one.
func (n *Node) await(p weft.PortID, l lane) {
	k := &n.ports[p]
	if due := k.line.Due(); due != k.arrivesAt {
		k.arrivesAt = max(due, n.engine.now)
		n.engine.schedule(k.arrivesAt, evArrive|uint64(p)<<32|n.index, l)
	}
}

// tick has the core do what is due.
func (n *Node) tick() {
	n.tickAt = weft.Never
	if n.halted {
		return
	}
	e, out := n.engine, n.begin()
	n.core.Tick(e.now, out)
	e.owed = append(e.owed[:0], out.Owed...)
	n.act(out)
	for _, p := range e.owed {
		n.hello(p)
	}
}
