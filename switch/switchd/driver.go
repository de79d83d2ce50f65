// Package switchd drives a core live: a receiving and a transmitting goroutine per port, and one
// that asks the firmware where it may take long. One goroutine watches the clock for many cores, a
// [Ticker].
//
// # The flow of a frame
//
//	transport -> inbox     one channel per port; bound: what the credits allow in flight (sequential,
//	                       the transport's goroutine)
//	decode                 frame -> packets (parallel, one goroutine per port)
//	step                   core.Receive under the lock (sequential per core)
//	wake                   the receiving goroutine transmits itself, before it sleeps; whoever else has a
//	                       port ready wakes the transmitting one
//	step                   core.Transmit under the lock (sequential per core)
//	pace, encode, send     packets -> frame -> transport (parallel, one goroutine per port)
//
// Frames batch themselves: while a port encodes and sends, packets gather in the core, and the next
// frame takes them all. There is no timer on the way and no wait for company, so an idle link adds
// no latency.
//
// A frame on a paced link says when it arrives by the rate of the link ([weft.Frame].At), and
// whoever receives it later counts from then: what the machine is late for does not add up.
//
// What may leave, and when, says [link.Pacer.Allow]. A hello that is due is sent by the [Ticker]: a
// transmitter may be one of thousands that wait for a processor. Frames
// leave in the order they were filled all the same, see sender. Where a neighbour is not heard
// because this process holds it up, the core is told so before it looks at the clock
// ([Config].Exempt).
//
// The lock is never held across I/O. How long goroutines waited for it is counted
// ([Stats].LockWait).
package switchd

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

// DefaultBatch is the most packets of one frame unless configured.
const DefaultBatch = 64

// Wire connects one port to the outside. A zero Wire is a port that leads nowhere.
type Wire struct {
	Out   wire.Sender
	Inbox chan wire.Message // filled by the transport; the driver adds one empty message to end its receiver
	Pace  link.Pace
	Far   bool // the other end is in another process, whose clock may differ

	OutSum, InSum wire.LinkSum // of the two directions
}

// Observer hears what a core reports. It is called under the core's lock, in order: it must return
// at once and must not call the driver. It must not keep a.
type Observer interface {
	Observe(now weft.Time, a *weft.Actions)
}

// Config of a driver.
type Config struct {
	Core  weft.Core
	Wires []Wire // one per port of the core
	Clock func() weft.Time
	Wall  func(span weft.Time) time.Duration // how long that is by the machine's clock; nil: as long
	Batch int                                // most packets in a frame, 1 to weft.MaxBatch; 0 means DefaultBatch
	// the stream of what a link.Impairment draws at a port; nil: nothing is impaired
	Draws func(p weft.PortID) *rand.PCG
	Watch Observer // nil: nobody

	Ticker *Ticker // that others may share; nil: one of its own

	// MaxFrame is the most bytes of a frame with payloads; 0 means wire.MaxFrame. A single packet goes
	// whatever it is.
	MaxFrame int
	// Payloads are the buffers with what packets carry, of all nodes of this host; nil: of this node.
	Payloads *wire.Payloads

	// Exempt tells whether what comes to a port is held up on its way by this process, so that
	// nothing is heard although the neighbour may have spoken. Called under the core's lock; nil:
	// never.
	Exempt func(p weft.PortID) bool
}

// Driver runs one core. Run owns all its goroutines.
type Driver struct {
	cfg   Config
	wakes []chan struct{} // per port; capacity 1: a pending wake covers all that came before it

	ticker *Ticker      // constant
	ticked weft.Actions // only the ticker touches it
	due    weft.Time    // guarded by the ticker's lock: when it is ticked
	place  int          // likewise: in the ticker's queue, from 1; 0: it is not there

	senders []sender      // per port
	inHand  []atomic.Bool // per port: its receiver is at work on a frame

	// stopped ends the goroutines. They look at it whenever they wake and are woken once it is set;
	// a channel that all of them select on would have them all contend for its lock at every frame.
	stopped atomic.Bool

	mu        sync.Mutex
	core      weft.Core     // guarded by mu
	wakeAt    weft.Time     // guarded by mu: when core.Tick is due
	lockWait  weft.Time     // guarded by mu
	contended uint64        // guarded by mu
	lasted    time.Duration // guarded by mu, as in Stats
	overdue   time.Duration // likewise
	tellAt    weft.Time     // guarded by mu: when tellFaults is due
	soonest   weft.Time     // guarded by mu: it is not ticked before
	carrier   Carrier       // guarded by mu; nil: nobody takes payloads

	untold map[faultSource]*untold // guarded by mu; nil: there has been no fault

	lateness atomic.Int64 // how late packets come, on average of some, in weft.Time

	asks   chan struct{} // capacity 1: there may be something to ask the firmware
	behind atomic.Bool   // the core waits for an answer

	waited, framesIn, framesOut, framesLost, creditFrames, bytesOut, badFrames, damaged, sendErrors atomic.Uint64
}

// New returns a driver that Run starts.
func New(cfg Config) *Driver {
	if cfg.Batch <= 0 {
		cfg.Batch = DefaultBatch
	}
	cfg.Batch = min(cfg.Batch, weft.MaxBatch)
	cfg.MaxFrame = cmp.Or(cfg.MaxFrame, wire.MaxFrame)
	if cfg.Payloads == nil {
		cfg.Payloads = &wire.Payloads{}
	}
	if cfg.Wall == nil {
		cfg.Wall = weft.Time.Duration
	}
	d := &Driver{
		cfg: cfg, core: cfg.Core, wakeAt: weft.Never, tellAt: weft.Never,
		asks: make(chan struct{}, 1), ticker: cfg.Ticker,
	}
	if d.ticker == nil {
		d.ticker = NewTicker(cfg.Clock, cfg.Wall)
	}
	if a, ok := d.core.(asker); ok {
		a.LetAsk()
	}
	d.wakes = make([]chan struct{}, cfg.Core.Ports())
	d.senders, d.inHand = make([]sender, len(d.wakes)), make([]atomic.Bool, len(d.wakes))
	for p := range d.wakes {
		d.wakes[p] = make(chan struct{}, 1)
		d.senders[p].timer = time.NewTimer(time.Hour)
		d.senders[p].timer.Stop()
		if cfg.Draws != nil {
			d.senders[p].draws = cfg.Draws(weft.PortID(p))
		}
		d.senders[p].impairment.Store(unimpaired)
	}
	return d
}

// Run drives the core until ctx ends and returns when all its goroutines have. Call it once, and
// not Start.
func (d *Driver) Run(ctx context.Context) {
	var wg sync.WaitGroup
	if d.cfg.Ticker == nil {
		wg.Go(func() { d.ticker.Run(ctx) })
	}
	d.Start(&wg)
	<-ctx.Done()
	d.Stop()
	wg.Wait()
}

// Start drives the core, with goroutines in wg, until Stop. Call each once.
func (d *Driver) Start(wg *sync.WaitGroup) {
	for p := range d.cfg.Wires {
		w := &d.cfg.Wires[p]
		if w.Out == nil {
			continue
		}
		wg.Go(func() { d.receive(weft.PortID(p), w) })
		wg.Go(func() { d.transmit(weft.PortID(p)) })
	}
	if core, ok := d.cfg.Core.(asker); ok {
		wg.Go(func() { d.ask(core) })
	}
}

// Stop has the goroutines that Start has started end.
func (d *Driver) Stop() {
	d.lock()
	d.stopped.Store(true)
	d.mu.Unlock()
	d.Recheck()
	for _, w := range d.cfg.Wires {
		select {
		case w.Inbox <- wire.Message{}:
		default: // it is full or there is none: nobody sleeps on it
		}
	}
	notify(d.asks)
}

// Recheck has all goroutines that wait for a time look again how long that is: the clock goes
// otherwise.
func (d *Driver) Recheck() {
	notify(d.ticker.wake)
	for p := range d.wakes {
		d.wake(weft.PortID(p))
	}
}

// notify leaves a wake in ch, of capacity 1, unless there is one already.
func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Do steps the core by f, which must only call it and return.
func (d *Driver) Do(f func(now weft.Time, out *weft.Actions)) {
	var out weft.Actions
	out.Reset()
	d.lock()
	defer d.mu.Unlock()
	now := d.cfg.Clock()
	f(now, &out)
	d.act(now, now, &out)
	for _, p := range out.Ready {
		d.wake(p)
	}
}

// View calls f, which may read the core and must not step it, while nothing else does.
func (d *Driver) View(f func()) {
	d.lock()
	defer d.mu.Unlock()
	f()
}

// Signal tells the core that port p has signal or has lost it.
func (d *Driver) Signal(p weft.PortID, up bool) {
	d.Do(func(now weft.Time, out *weft.Actions) { d.core.Signal(now, p, up, out) })
}

// receive steps the core by every frame that arrives at p, and before it sleeps transmits at the
// ports that became ready: to wake their transmitters takes longer.
func (d *Driver) receive(p weft.PortID, w *Wire) {
	taken := 0
	var k *work // nil while it sleeps
	for m := range w.Inbox {
		if d.stopped.Load() {
			return
		}
		d.inHand[p].Store(true)
		if k == nil {
			k = works.Get().(*work)
		}
		d.take(p, w, m, k)
		for _, to := range k.out.Ready {
			k.note(to)
		}
		if taken++; taken < d.cfg.Batch && len(w.Inbox) > 0 {
			continue
		}
		d.transmitReady(k)
		works.Put(k)
		k, taken = nil, 0
		d.inHand[p].Store(false)
	}
}

// take steps the core by a frame that has arrived at p.
func (d *Driver) take(p weft.PortID, w *Wire, m wire.Message, k *work) {
	err := wire.DecodeFrame(&k.frame, w.InSum, m.Data)
	carries := len(k.frame.Payloads) > 0
	if carries {
		d.cfg.Payloads.Unload(&k.frame)
	}
	m.Release()
	d.framesIn.Add(1)
	k.out.Reset()
	if err != nil {
		d.badFrames.Add(1)
		f := weft.Fault{Port: p, Err: err, Count: 1, Damaged: errors.Is(err, wire.ErrDamaged)}
		if f.Damaged {
			d.damaged.Add(1)
		}
		k.out.Faults = append(k.out.Faults, f)
	}
	d.lock()
	defer d.mu.Unlock()
	now := d.cfg.Clock()
	at := now
	if err == nil {
		at = d.arrived(now, &k.frame, w)
		d.core.Receive(now, p, &k.frame, &k.out)
		if carries {
			d.cfg.Payloads.FreeOf(k.frame.Packets) // of packets that the core has not taken
		}
	}
	d.act(now, at, &k.out)
}

// arrived returns when a frame has come that is received now: at its At, or a little later where
// that is long ago. It counts how late the frame is, unless its sender has another clock. The
// caller holds the lock.
func (d *Driver) arrived(now weft.Time, f *weft.Frame, w *Wire) weft.Time {
	late := max(0, now-f.At)
	if f.At == 0 || w.Far && late > lateBy {
		f.At = 0
		return now
	}
	bytes := 0
	for i := range f.Packets {
		bytes += int(f.Packets[i].Size)
	}
	if bytes > 0 && w.Pace.Rate > 0 && !w.Far {
		d.lasted += time.Duration(float64(bytes) / w.Pace.Rate * float64(time.Second))
		d.overdue += late.Duration()
		d.lateness.Add(int64(late-weft.Time(d.lateness.Load())) / 16)
	}
	f.At = min(now, max(f.At, now-catchUp))
	return f.At
}

// minTick is the least time between two looks at the clock, by that of the machine, chosen by us: a
// NIC that injects at a high rate then generates a few packets at a time, each with its own time of
// generation.
const minTick = 250 * time.Microsecond

// tick calls the core's Tick if it is due. Its ticker calls it.
func (d *Driver) tick() {
	out := &d.ticked
	out.Reset()
	d.lock()
	if d.stopped.Load() {
		d.mu.Unlock()
		return
	}
	now := d.cfg.Clock()
	if d.wakeAt <= now && d.soonest <= now {
		due := d.wakeAt
		d.wakeAt = weft.Never
		if d.core.LinksDue() <= now {
			d.notice(now)
		}
		d.core.Tick(now, out)
		d.soonest = now + weft.Time(float64(weft.FromDuration(minTick))*float64(time.Second)/float64(d.cfg.Wall(weft.Second)))
		d.act(now, due, out)
	}
	if d.tellAt <= now {
		d.tellFaults(now)
	}
	d.await()
	d.mu.Unlock()
	for _, p := range out.Ready {
		d.transmitAt(p, false)
	}
	for _, p := range out.Owed {
		d.senders[p].owed.Store(true)
		d.hello(p)
	}
}

// await has the ticker come when it is time. The caller holds the lock.
func (d *Driver) await() {
	d.ticker.set(d, min(max(d.wakeAt, d.soonest), d.tellAt))
}

// Late reports whether this node is late with its hellos at port p, by more than slack, because the
// machine does not run its goroutines, or whoever has its ticker was within that time.
func (d *Driver) Late(p weft.PortID, slack, within time.Duration) bool {
	busy := weft.Time(d.senders[p].busy.Load())
	return busy != 0 && d.cfg.Clock()-busy > weft.FromDuration(slack) || d.ticker.Late(slack, within)
}

// Behind reports whether something waits for a goroutine of the driver to run: a frame for a
// receiver, for a transmitter that it has been woken, or for an answer of the firmware. A core of
// which nothing moves may then move yet.
func (d *Driver) Behind() bool {
	for p := range d.wakes {
		if len(d.cfg.Wires[p].Inbox) > 0 || d.inHand[p].Load() || d.cfg.Wires[p].Out != nil && d.senders[p].again.Load() {
			return true
		}
	}
	return d.behind.Load()
}

// notice tells the core of frames that have arrived but wait for their receiver, which may be one
// of thousands of goroutines that wait for a processor. The caller holds the lock.
func (d *Driver) notice(now weft.Time) {
	for p := range d.cfg.Wires {
		if len(d.cfg.Wires[p].Inbox) > 0 || d.inHand[p].Load() || d.cfg.Exempt != nil && d.cfg.Exempt(weft.PortID(p)) {
			d.core.Exempt(now, weft.PortID(p))
		}
	}
}

// act does what the core asked for, because of what happened at a time, which may have passed. The
// caller holds the lock, and sees to the ports that are ready.
func (d *Driver) act(now, at weft.Time, out *weft.Actions) {
	for _, ports := range [2][]weft.PortID{out.Ready, out.Owed} {
		for _, p := range ports {
			d.senders[p].ready = at
		}
	}
	if out.Asking {
		d.behind.Store(true)
		notify(d.asks)
	}
	if out.WakeAt < d.wakeAt {
		d.wakeAt = out.WakeAt
		d.await()
	}
	if len(out.Faults) > 0 {
		d.limitFaults(now, out)
	}
	if d.cfg.Watch != nil && out.HasEvents() {
		d.cfg.Watch.Observe(now, out)
	}
	if len(out.Drops) > 0 {
		d.cfg.Payloads.FreeDropped(out.Drops)
	}
	if len(out.Carried) > 0 || out.Room {
		d.carry(out)
	}
}

// lock takes the core's lock and counts the wait when there is one.
func (d *Driver) lock() {
	if d.mu.TryLock() {
		return
	}
	start := d.cfg.Clock()
	d.mu.Lock()
	d.contended++
	d.lockWait += d.cfg.Clock() - start
}

// Stats counts what a driver has done.
type Stats struct {
	FramesIn, FramesOut uint64
	FramesLost          uint64 // by a link.Impairment; not in FramesOut
	CreditFrames        uint64 // of FramesOut, those without packets
	BytesOut            uint64
	BadFrames           uint64 // that do not decode
	Damaged             uint64 // of these, whose checksum does not match
	SendErrors          uint64
	Contended           uint64    // times a goroutine found the core busy
	LockWait            weft.Time // waited for the core by all goroutines together

	// Waited counts frames with packets that waited until their paced link was free.
	Waited uint64

	// Of packets that came over paced links: how long they took on them, and how much later than
	// that they came, because the machine or a broker was late. In the time of the fabric.
	Lasted, Overdue time.Duration
}

// Add returns the sums of s and o.
func (s Stats) Add(o Stats) Stats {
	return Stats{
		FramesIn: s.FramesIn + o.FramesIn, FramesOut: s.FramesOut + o.FramesOut, FramesLost: s.FramesLost + o.FramesLost,
		CreditFrames: s.CreditFrames + o.CreditFrames, BytesOut: s.BytesOut + o.BytesOut,
		BadFrames: s.BadFrames + o.BadFrames, Damaged: s.Damaged + o.Damaged, SendErrors: s.SendErrors + o.SendErrors,
		Contended: s.Contended + o.Contended, LockWait: s.LockWait + o.LockWait,
		Lasted: s.Lasted + o.Lasted, Overdue: s.Overdue + o.Overdue, Waited: s.Waited + o.Waited,
	}
}

// Stats returns the counters.
func (d *Driver) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{
		FramesIn: d.framesIn.Load(), FramesOut: d.framesOut.Load(), FramesLost: d.framesLost.Load(),
		CreditFrames: d.creditFrames.Load(), BytesOut: d.bytesOut.Load(),
		BadFrames: d.badFrames.Load(), Damaged: d.damaged.Load(), SendErrors: d.sendErrors.Load(),
		Contended: d.contended, LockWait: d.lockWait, Lasted: d.lasted, Overdue: d.overdue, Waited: d.waited.Load(),
	}
}
