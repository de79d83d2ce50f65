package switchd

import (
	"math/rand/v2"
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

// sender is the sending side of one port. Its transmitter, receivers and, for hellos, the ticker step
// it.
type sender struct {
	mu      sync.Mutex // the rest; taken before the core's lock, so that frames leave in the order they were filled
	line    link.Line[[]byte]
	timer   *time.Timer            // of the transmitter
	timed   bool                   // the timer was set last
	watches bool                   // the transmitter waits for the timer too
	spare   []*link.Flight[[]byte] // bound: the most frames there were on the line at one time
	pace    link.Pacer
	draws   *rand.PCG
	waits   bool // the core had more packets when it gave one last
	// hold is for how long a link that is free again waits for what comes late, chosen by us as thrice the
	// average lateness: the next packet takes the credits along that were due by then. It is due at the
	// other end as if it had left at once.
	hold  weft.Time
	ready weft.Time // since when the core has had something; guarded by the core's lock

	impairment atomic.Pointer[link.Impairment] // never nil; not guarded by mu
	owed       atomic.Bool                     // a hello is due; not guarded by mu
	busy       atomic.Int64                    // since when a hello waits for the transmitter, on the clock of Config; 0: none does
}

// work is what a goroutine needs while it receives or transmits. Ports have none of their own: in a
// large fabric that would be more than a processor's cache holds.
type work struct {
	frame weft.Frame
	out   weft.Actions
	buf   []byte
	ready []weft.PortID
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
		d.send(w.Out, f.Frame)
		s.spare = append(s.spare, f)
		did = true
	}
	hold := weft.Time(0)
	if s.waits {
		hold = s.hold
	}
	limit, ok := s.pace.Allow(now-hold, d.cfg.Batch, s.owed.Load() && s.owed.Swap(false))
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
		d.wake(k.out.Ready)
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

// canLeave is since when the frame can leave that is sent now, whose packets had come at a time. The caller holds both locks.
func (s *sender) canLeave(now, since weft.Time) weft.Time {
	at := max(since, s.pace.Free(), now-catchUp)
	if !s.waits {
		at = max(at, s.ready)
	}
	return min(now, at)
}

// advance sends what may leave now, and sets the timer of the transmitter to when to come again. The
// caller holds s.mu.
func (d *Driver) advance(p weft.PortID) {
	s, k := &d.senders[p], works.Get().(*work)
	did, more, next := d.step(p, k)
	for did && more {
		did, more, next = d.step(p, k)
	}
	works.Put(k)
	switch {
	case next != weft.Never:
		s.timer.Reset(d.cfg.Wall(next-d.cfg.Clock()) + 1)
	case s.timed:
		s.timer.Stop()
	}
	s.timed = next != weft.Never
}

// transmit sends what the core has for port p.
func (d *Driver) transmit(p weft.PortID) {
	s := &d.senders[p]
	defer s.timer.Stop()
	for !d.stopped.Load() {
		s.mu.Lock()
		d.advance(p)
		s.watches = s.timed || d.cfg.Wires[p].Pace.Rate > 0 // a select takes longer than to wait for one channel
		timed := s.watches
		s.mu.Unlock()
		if busy := s.busy.Load(); busy != 0 {
			d.ticker.since(weft.Time(busy))
			s.busy.Store(0)
		}
		if !timed {
			<-d.wakes[p]
			continue
		}
		select {
		case <-d.wakes[p]:
		case <-s.timer.C:
		}
	}
}

// transmitNow is a look of the transmitter of p, from another goroutine. If it is at work, done is
// false, and it looks again.
func (d *Driver) transmitNow(p weft.PortID) (done bool) {
	s := &d.senders[p]
	switch {
	case d.cfg.Wires[p].Out == nil:
	case s.mu.TryLock():
		d.advance(p)
		if s.timed && !s.watches {
			notify(d.wakes[p])
		}
		s.mu.Unlock()
	default:
		notify(d.wakes[p])
		return false
	}
	return true
}

// hello sends the hello that is due at p, from the ticker: the transmitter may be one of thousands of
// goroutines that wait for a processor, and hellos must not.
func (d *Driver) hello(p weft.PortID) {
	busy := &d.senders[p].busy
	busy.CompareAndSwap(0, int64(d.cfg.Clock()))
	if d.transmitNow(p) { // else it is sending a frame, which is a hello too; unless the machine does not let it
		busy.Store(0)
	}
}

// dispatch sends the frame of k by port p, which could leave at a time, now or when it is due, unless
// the link loses it.
func (d *Driver) dispatch(p weft.PortID, k *work, now, at weft.Time) {
	s, to := &d.senders[p], d.cfg.Wires[p].Out
	due, lost := s.pace.Send(at, &k.frame, s.draws)
	if lost {
		d.framesLost.Add(1)
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
	if due <= now && s.line.Empty() {
		k.buf = wire.AppendFrame(k.buf[:0], sum, &k.frame)
		d.send(to, k.buf)
		return
	}
	f := new(link.Flight[[]byte])
	if n := len(s.spare); n > 0 {
		f, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	f.Frame = wire.AppendFrame(f.Frame[:0], sum, &k.frame)
	s.line.Push(f, due)
}

func (d *Driver) send(to wire.Sender, data []byte) {
	d.framesOut.Add(1)
	d.bytesOut.Add(uint64(len(data)))
	if err := to.Send(data); err != nil {
		d.sendErrors.Add(1)
	}
}
