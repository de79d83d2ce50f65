package virtual

import (
	"math/bits"
	"math/rand/v2"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

// Config of an engine.
type Config struct {
	Seed  uint64 // of what impairments draw
	Batch int    // most packets in a frame, 1 to weft.MaxBatch; 0 means defaultBatch. A paced link sends one at a time
	// Workers is how many goroutines [Engine.Run] uses, each for the nodes of some parts; 0 means 1.
	// What happens is the same for any number. Where links have no delay there is one.
	Workers int
}

// defaultBatch is the most packets of one frame unless configured, as live.
const defaultBatch = 64

// Engine runs nodes in virtual time. One goroutine may use it and its nodes.
type Engine struct {
	cfg     Config
	now     weft.Time
	nodes   []*Node
	workers []*worker // one, or more while ahead allows it
	meeting *meeting
	timers  timers

	payloads wire.Payloads // what packets carry
	seq      uint64        // of timers
	calls    uint64        // that were made by time
	runs     uint          // calls of Run so far
	large    int           // see preloadFrom
	hash     uint64        // of these
	// ahead is within which time nodes do not affect each other: the least delay of a link.
	ahead weft.Time
	shift uint // of calendars: buckets are 1<<shift picoseconds wide
}

// New returns an engine without nodes, at time 0.
func New(cfg Config) *Engine {
	if cfg.Batch <= 0 {
		cfg.Batch = defaultBatch
	}
	cfg.Batch = min(cfg.Batch, weft.MaxBatch)
	e := &Engine{cfg: cfg, hash: fingerprint, ahead: weft.Never, shift: mostShift, large: preloadFrom}
	e.meeting = newMeeting(max(1, cfg.Workers))
	for i := range max(1, cfg.Workers) {
		w := &worker{engine: e, number: i}
		w.restart(e.shift)
		e.workers = append(e.workers, w)
	}
	return e
}

// Now is the time of the event that happens, or of the last that has.
func (e *Engine) Now() weft.Time { return e.now }

// Events is how many events have happened: arrivals of frames at a port, calls to send and looks at
// the time, and calls by time.
func (e *Engine) Events() uint64 {
	n := e.calls
	for _, w := range e.workers {
		n += w.events
	}
	return n
}

// Hash is a fingerprint of all that packets and ports did so far: which packet came to which port
// when, which ended where, and which port went up or down when. It does not depend on how the
// engine goes about it, and is the same on every machine.
func (e *Engine) Hash() uint64 {
	h := e.hash
	for _, n := range e.nodes {
		h = mix(h, n.hash)
	}
	return h
}

// fingerprint is that of nothing.
const fingerprint = 0x9E3779B97F4A7C15

// mix adds x to a fingerprint.
func mix(hash, x uint64) uint64 { return bits.RotateLeft64((hash^x)*0xD6E8FEB86659FD93, 29) }

// Run lets all happen that is due at until or before. Then it is until.
func (e *Engine) Run(until weft.Time) {
	if e.runs++; len(e.nodes) >= e.large && bits.OnesCount(e.runs) == 1 { // again when there is more memory
		e.askForHugePages()
	}
	for {
		end := e.timers.due() // nodes run up to here
		if end > until && until < weft.Never {
			end = until + 1
		}
		if e.ahead < 1 {
			e.one().run(end)
		} else {
			e.windows(end)
		}
		if len(e.timers) == 0 || e.timers.due() > until {
			break
		}
		e.fire()
	}
	e.now = max(e.now, until)
}

// Step lets the next event happen, if there is one due at until or before. Events happen in the
// order of their times, all on one goroutine.
func (e *Engine) Step(until weft.Time) bool {
	timer := e.timers.due()
	if e.one().step(min(until, timer-1)) {
		return true
	}
	if len(e.timers) == 0 || timer > until {
		return false
	}
	e.fire()
	return true
}

// one makes the first worker the only one, and returns it.
func (e *Engine) one() *worker {
	first := e.workers[0]
	if len(e.workers) > 1 {
		for _, w := range e.workers[1:] {
			first.events += w.events
		}
		first.nodes, e.workers = nil, e.workers[:1]
		for _, n := range e.nodes {
			first.add(n)
		}
		first.restart(e.shift)
	}
	return first
}

// Port is a port of a node.
type Port struct {
	Node *Node
	Port weft.PortID
}

func (p Port) line() *link.Line[packed] {
	k := &p.Node.ports[p.Port]
	return &k.to.ports[k.toPort].line
}

// Connect joins two ports by a link whose directions are both paced so. Neither end has signal yet.
func (e *Engine) Connect(a, b Port, p link.Pace) {
	a.Node.connect(a.Port, b, p)
	b.Node.connect(b.Port, a, p)
	if p.Delay == 0 && p.Rate > 0 {
		e.narrow(uint(bits.Len64(uint64(256/p.Rate*float64(weft.Second)) >> 6)))
	}
	e.nearer(weft.FromDuration(p.Delay))
}

// nearer notes that nodes may affect each other within a time.
func (e *Engine) nearer(ahead weft.Time) {
	if ahead >= e.ahead {
		return
	}
	e.ahead = ahead
	if ahead > 0 {
		e.narrow(uint(bits.Len64(uint64(ahead)) - 1))
	}
}

// mostShift makes buckets about half a second wide, the most there is. Where links have a delay,
// buckets are no wider than the delay, since nodes run one by one for a bucket. Where links have
// none, a packet of 256 bytes lasts 32 to 64 buckets.
const mostShift = 39

// narrow makes buckets 1<<shift picoseconds wide, unless they are narrower.
func (e *Engine) narrow(shift uint) {
	if shift >= e.shift {
		return
	}
	e.shift = shift
	for _, w := range e.workers {
		w.restart(shift)
	}
}

// Cut loses what is on the wire from a port, and all it sends from now on. Nobody is told.
func (e *Engine) Cut(from Port) {
	from.Node.ports[from.Port].cut = true
	for l := from.line(); !l.Empty(); {
		from.Node.lose(l.Pop())
	}
}

// Restore lets through again what a port sends.
func (e *Engine) Restore(from Port) { from.Node.ports[from.Port].cut = false }

// Flying calls f for each frame on the wire from a port.
func (e *Engine) Flying(from Port, f func(*weft.Frame)) {
	var frame weft.Frame
	for on := range from.line().All() {
		on.unpack(&frame)
		f(&frame)
	}
}

func (e *Engine) draws(node, port int) *rand.PCG {
	return weft.Stream(e.cfg.Seed, weft.StreamLink, uint64(node)<<16|uint64(port), 0)
}
