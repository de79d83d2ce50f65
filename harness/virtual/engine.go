package virtual

import (
	"math/bits"
	"math/rand/v2"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Config of an engine.
type Config struct {
	Seed  uint64 // of what impairments draw
	Batch int    // most packets in a frame, 1 to weft.MaxBatch; 0 means defaultBatch. A paced link sends one at a time
}

// defaultBatch is the most packets of one frame unless configured, as live.
const defaultBatch = 64

// Engine runs nodes in virtual time. One goroutine may use it and its nodes.
type Engine struct {
	cfg    Config
	now    weft.Time
	seq    uint64
	queue  queue
	nodes  []*Node
	timers timers
	spare  []*flight     // bound: the most frames there were on all wires at one time
	out    weft.Actions  // of the call into a core that is being made
	owed   []weft.PortID // of the node that looks at the time: where hellos are due

	events uint64
	hash   uint64

	fetched weft.Time // see prefetch
}

// The kinds of event. An event's what is kind<<48 | port<<32 | node, or kind<<48 | timer.
const (
	evArrive   = uint64(iota) << 48 // the first frame on the wire to a port is there
	evTransmit                      // a port may send
	evTick                          // a node is to look at the time
	evTimer                         // somebody wants to be called
)

const (
	kindMask = uint64(0xFF) << 48
	lowMask  = uint64(1)<<32 - 1
)

// New returns an engine without nodes, at time 0.
func New(cfg Config) *Engine {
	if cfg.Batch <= 0 {
		cfg.Batch = defaultBatch
	}
	cfg.Batch = min(cfg.Batch, weft.MaxBatch)
	return &Engine{cfg: cfg, queue: newQueue(), hash: 0x9E3779B97F4A7C15}
}

// Now is the time of the event that happens, or of the last that has.
func (e *Engine) Now() weft.Time { return e.now }

// Events is how many events have happened.
func (e *Engine) Events() uint64 { return e.events }

// Hash is a fingerprint of all events so far: their times, kinds, places and packets, in order. It
// is the same on every machine.
func (e *Engine) Hash() uint64 { return e.hash }

// mix adds x to the fingerprint.
func (e *Engine) mix(x uint64) {
	e.hash = bits.RotateLeft64((e.hash^x)*0xD6E8FEB86659FD93, 29)
}

func (e *Engine) schedule(at weft.Time, what uint64, l lane) {
	e.seq++
	e.queue.push(event{at: at, seq: e.seq, what: what}, l)
}

// Run lets all happen that is due at until or before. Then it is until.
func (e *Engine) Run(until weft.Time) {
	for e.Step(until) {
	}
	e.now = max(e.now, until)
}

// Step lets the next event happen, if there is one due at until or before.
func (e *Engine) Step(until weft.Time) bool {
	ev, ok := e.queue.next(until)
	if !ok {
		return false
	}
	e.now = ev.at
	kind := ev.what & kindMask
	if kind == evTimer {
		return e.fire(uint32(ev.what&lowMask), ev)
	}
	e.prefetch(e.queue.soon)
	n, p := e.nodes[ev.what&lowMask], weft.PortID(ev.what>>32)
	switch {
	case kind == evArrive && n.ports[p].arrivesAt == ev.at:
		e.count(ev)
		n.arrive(p)
	case kind == evTransmit && n.ports[p].sendsAt == ev.at:
		e.count(ev)
		n.transmit(p)
	case kind == evTick && n.tickAt == ev.at:
		e.count(ev)
		n.tick()
	} // otherwise it has been overtaken
	return true
}

// prefetch reads the port of an event that is due soon: the processor fetches it while it goes on
// with the one before.
func (e *Engine) prefetch(what uint64) {
	n, p := e.nodes[what&lowMask], int(weft.PortID(what>>32))
	if p < len(n.ports) {
		e.fetched = n.ports[p].arrivesAt
	}
}

// count makes ev one of those that have happened.
func (e *Engine) count(ev event) {
	e.events++
	e.mix(uint64(ev.at))
	e.mix(ev.what)
}

// Port is a port of a node.
type Port struct {
	Node *Node
	Port weft.PortID
}

// Connect joins two ports by a link whose directions are both paced so. Neither end has signal yet.
func (e *Engine) Connect(a, b Port, p link.Pace) {
	a.Node.connect(a.Port, b, p)
	b.Node.connect(b.Port, a, p)
}

// Cut loses what is on the wire from a port, and all it sends from now on. Nobody is told.
func (e *Engine) Cut(from Port) {
	p := &from.Node.ports[from.Port]
	p.cut = true
	for !p.line.Empty() {
		from.Node.lose(p.line.Pop())
	}
}

// Restore lets through again what a port sends.
func (e *Engine) Restore(from Port) { from.Node.ports[from.Port].cut = false }

// Flying calls f for each frame on the wire from a port.
func (e *Engine) Flying(from Port, f func(*weft.Frame)) {
	for on := range from.Node.ports[from.Port].line.All() {
		f(on)
	}
}

func (e *Engine) draws(node, port int) *rand.PCG {
	return weft.Stream(e.cfg.Seed, weft.StreamLink, uint64(node)<<16|uint64(port), 0)
}
