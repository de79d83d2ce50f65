package switchd

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

// catchUp is how much later than it should a paced link may go without being slower for it: what is
// late is then taken to have happened in time. Chosen by us.
const catchUp = 250 * weft.Millisecond

// sender is the sending side of one port. Its transmitter, receivers and, for hellos, the ticker
// step it.
type sender struct {
	mu      sync.Mutex // the rest; taken before the core's lock, so that frames leave in the order they were filled
	line    link.Line[[]byte]
	timer   *time.Timer            // of the transmitter
	timed   bool                   // the timer was set last
	watches bool                   // the transmitter waits for the timer too, if the link is not paced
	spare   []*link.Flight[[]byte] // bound: the most frames there were on the line at one time
	pace    link.Pacer
	draws   *rand.PCG
	waits   bool // the core had more packets when it gave one last
	// hold is for how long a link that is free again waits for what comes late, chosen by us as thrice
	// the average lateness: the next packet takes the credits along that were due by then. It is due
	// at the other end as if it had left at once.
	hold  weft.Time
	ready weft.Time // since when the core has had something; guarded by the core's lock

	impairment atomic.Pointer[link.Impairment] // never nil; not guarded by mu
	again      atomic.Bool                     // whoever has mu is to look again before it is done; not guarded by mu
	owed       atomic.Bool                     // a hello is due; not guarded by mu
	// since when a hello waits for whoever has mu, on the clock of Config; 0: none does
	busy atomic.Int64
}

// work is what a goroutine needs while it receives or transmits. Ports have none of their own: in a
// large fabric that would be more than a processor's cache holds.
type work struct {
	frame weft.Frame
	out   weft.Actions
	buf   []byte
	ready []weft.PortID

	ticks bool // it is the ticker's
	hello bool // the frame is owed
}

var works = sync.Pool{New: func() any { return new(work) }}

// step sends the frames on the line that are due, and one from the core, as [link.Pacer.Allow]
// says. It reports whether it did anything, whether the core has more, and when to come again; the
// caller holds s.mu.
func (d *Driver) step(p weft.PortID, k *work) (did, more bool, next weft.Time) {
	s, w := &d.senders[p], &d.cfg.Wires[p]
	if i := s.impairment.Load(); i != s.pace.Of() {
		s.pace.Change(d.cfg.Clock(), w.Pace, i, &s.line)
	}
	var now weft.Time
	if s.pace.Timed() || !s.line.Empty() {
		now = d.cfg.Clock()
	}
	for !s.line.Empty() && s.line.Due() <= now {
		f := s.line.Pop()
		d.sent(len(f.Frame), w.Out.Send(f.Frame))
		s.spare = append(s.spare, f)
		did = true
	}
	hold := weft.Time(0)
	if s.waits {
		hold = s.hold
	}
	k.hello = s.owed.Load() && s.owed.Swap(false)
	limit, ok := s.pace.Allow(now-hold, d.cfg.Batch, k.hello)
	next = s.pace.Free() + hold
	if ok {
		k.out.Reset()
		d.lock()
		now = d.cfg.Clock() // under the lock: a core's time does not go backwards
		any := d.core.Transmit(now, p, limit, &k.frame, &k.out)
		at := now
		if s.pace.Timed() {
			at = s.canLeave(now, k.out.Since)
		}
		d.act(now, at, &k.out)
		d.mu.Unlock()
		for _, to := range k.out.Ready {
			k.note(to)
		}
		if any {
			d.dispatch(p, k, now, at)
		}
		if limit > 0 {
			s.waits = k.out.More
		}
		did, more, next = did || any || limit > 0, k.out.More, weft.Never
		if more {
			next = s.pace.Free() + s.hold
		}
	}
	if !s.line.Empty() {
		next = min(next, s.line.Due())
	}
	return did, more, next
}

// canLeave is since when the frame that is sent now can leave. Its packets came at since. The
// caller holds both locks.
func (s *sender) canLeave(now, since weft.Time) weft.Time {
	at := max(since, s.pace.Free(), now-catchUp)
	if !s.waits {
		at = max(at, s.ready)
	}
	return min(now, at)
}

// advance sends what may leave now, and sets the timer of the transmitter to when to come again.
// The caller holds s.mu.
func (d *Driver) advance(p weft.PortID, k *work) {
	s := &d.senders[p]
	did, more, next := d.step(p, k)
	for did && more {
		did, more, next = d.step(p, k)
	}
	switch {
	case next != weft.Never:
		s.timer.Reset(d.cfg.Wall(next-d.cfg.Clock()) + 1)
	case s.timed:
		s.timer.Stop()
	}
	s.timed = next != weft.Never
}

// transmit transmits at port p when its timer or somebody else wants it to. The transmitter of a
// paced link waits for the timer alone: a select takes much longer, and a wake-up sets the timer.
func (d *Driver) transmit(p weft.PortID) {
	s := &d.senders[p]
	defer s.timer.Stop()
	for !d.stopped.Load() {
		d.transmitAt(p, false)
		if d.cfg.Wires[p].Pace.Rate > 0 {
			<-s.timer.C
			continue
		}
		s.mu.Lock()
		s.watches = s.timed
		s.mu.Unlock()
		if s.again.Load() { // somebody who was to transmit found s.mu locked, and has gone
			continue
		}
		if !s.watches { // only this goroutine writes it
			<-d.wakes[p]
			continue
		}
		select {
		case <-d.wakes[p]:
		case <-s.timer.C:
		}
	}
}

// wake has the transmitter of p look.
func (d *Driver) wake(p weft.PortID) {
	s := &d.senders[p]
	s.again.Store(true) // should somebody transmit now, who sets the timer too
	if d.cfg.Wires[p].Pace.Rate > 0 {
		s.timer.Reset(0)
	} else {
		notify(d.wakes[p])
	}
}

// transmitAt transmits at p, and at the ports that become ready by that. Of the ticker, whose
// hellos wait for each other, it ticks.
func (d *Driver) transmitAt(p weft.PortID, ticks bool) {
	k := works.Get().(*work)
	k.ready, k.ticks = append(k.ready[:0], p), ticks
	d.transmitReady(k)
	k.ticks = false
	works.Put(k)
}

// transmitReady transmits at the ports of k, and at those that become ready by that.
func (d *Driver) transmitReady(k *work) {
	for len(k.ready) > 0 {
		last := len(k.ready) - 1
		p := k.ready[last]
		k.ready = k.ready[:last] // it may become ready again
		d.transmitNow(p, k)
	}
}

// transmitNow transmits at p. Where somebody else does, it leaves a note, and that one looks again.
func (d *Driver) transmitNow(p weft.PortID, k *work) {
	s := &d.senders[p]
	if d.cfg.Wires[p].Out == nil {
		return
	}
	s.again.Store(true)
	for s.again.Load() && s.mu.TryLock() {
		s.again.Store(false)
		if d.stopped.Load() {
			s.timer.Reset(0) // the transmitter is to end
		} else {
			d.advance(p, k)
			if s.timed && !s.watches && d.cfg.Wires[p].Pace.Rate == 0 {
				notify(d.wakes[p])
			}
		}
		s.mu.Unlock()
		if busy := s.busy.Load(); busy != 0 {
			d.ticker.since(weft.Time(busy))
			s.busy.Store(0)
		}
	}
}

// note notes that a port has become ready.
func (k *work) note(p weft.PortID) {
	if !slices.Contains(k.ready, p) {
		k.ready = append(k.ready, p)
	}
}

// hello sends the hello that is due at p, from the ticker: the transmitter may be one of thousands
// of goroutines that wait for a processor, and hellos must not.
func (d *Driver) hello(p weft.PortID) {
	d.senders[p].busy.CompareAndSwap(0, int64(d.cfg.Clock()))
	d.transmitAt(p, true)
}

// dispatch sends the frame of k by port p, which could leave at a time, now or when it is due,
// unless the link loses it.
func (d *Driver) dispatch(p weft.PortID, k *work, now, at weft.Time) {
	s, to := &d.senders[p], d.cfg.Wires[p].Out
	due, lost := s.pace.Send(at, &k.frame, s.draws)
	if lost {
		d.framesLost.Add(1)
		if k.frame.Carrying > 0 {
			d.cfg.Payloads.FreeOf(k.frame.Packets)
		}
		return
	}
	switch {
	case len(k.frame.Packets) == 0:
		d.creditFrames.Add(1)
	case s.waits && s.pace.Free() > 0:
		d.waited.Add(1)
	}
	k.frame.At, s.hold = 0, 0
	if s.pace.Timed() {
		k.frame.At = due
		s.hold = min(3*weft.Time(d.lateness.Load()), s.pace.Lasts(&k.frame)/2)
	}
	sum := d.cfg.Wires[p].OutSum
	if k.frame.Carrying > 0 {
		d.dispatchParts(s, to, k, sum, due, now)
		return
	}
	d.dispatchFrame(s, to, k, &k.frame, sum, due, now)
}

// dispatchFrame sends a frame now, or has it wait on the line until it is due. The caller holds
// s.mu.
func (d *Driver) dispatchFrame(s *sender, to wire.Sender, k *work, frame *weft.Frame, sum wire.LinkSum, due,
	now weft.Time,
) {
	if due <= now && s.line.Empty() {
		k.buf = wire.AppendFrame(k.buf[:0], sum, frame)
		send := to.Send
		if together, ok := to.(wire.HelloSender); ok && k.ticks && k.hello && len(frame.Packets) == 0 {
			send = together.SendHello
		}
		d.sent(len(k.buf), send(k.buf))
		return
	}
	f := new(link.Flight[[]byte])
	if n := len(s.spare); n > 0 {
		f, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	f.Frame = wire.AppendFrame(f.Frame[:0], sum, frame)
	s.line.Push(f, due)
}

// sent counts a frame of some bytes that was sent, or was not.
func (d *Driver) sent(bytes int, err error) {
	d.framesOut.Add(1)
	d.bytesOut.Add(uint64(bytes))
	if err != nil {
		d.sendErrors.Add(1)
	}
}
