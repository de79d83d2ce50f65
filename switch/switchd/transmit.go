package switchd

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gammazero/deque"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
)

// Pace slows a link direction down to human speed. The zero value is as fast as the transport goes.
type Pace struct {
	Rate  float64       // bytes per second by packet size; 0 is unlimited
	Delay time.Duration // propagation; 0 is none
}

// slack is how far a paced link may catch up when the machine woke it late, so that the rate holds on average.
const slack = 2 * weft.Millisecond

// pacer is the sending end of a paced link.
type pacer struct {
	perByte float64 // picoseconds; 0 is unpaced
	delay   weft.Time
	timed   bool      // frames do not all leave and arrive at once
	free    weft.Time // when the link has sent all it was given; 0 while unpaced
	busy    weft.Time // when the packet it was given last arrives
	last    weft.Time // when the frame sent last arrives: none overtakes it
	impairment
}

// limit is how many packets the next frame may carry. A paced link takes one at a time, so that each keeps its own time.
func (k *pacer) limit(batch int) int {
	if k.perByte > 0 {
		return 1
	}
	return batch
}

// sent accounts for a frame and returns when it reaches the other end. A frame without packets takes no time to send.
func (k *pacer) sent(now weft.Time, f *weft.Frame, jitter weft.Time) weft.Time {
	at := now
	packets := k.perByte > 0 && len(f.Packets) > 0
	if packets {
		bytes := 0
		for i := range f.Packets {
			bytes += int(f.Packets[i].Size)
		}
		k.free = max(k.free, now-slack) + weft.Time(float64(bytes)*k.perByte)
		at = max(now, k.free)
	}
	k.last = max(k.last, at+max(0, k.delay+jitter))
	if packets {
		k.busy = k.last
	}
	return k.last
}

// outgoing is a frame on its way through a link with delay.
type outgoing struct {
	data []byte
	due  weft.Time
}

// sender is the sending side of one port. Its transmitter and, for hellos, the clock goroutine step it.
type sender struct {
	mu    sync.Mutex // the rest; taken before the core's lock, so that frames leave in the order they were filled
	frame weft.Frame
	out   weft.Actions
	buf   []byte
	line  delayLine
	pace  pacer
	draws *rand.PCG

	impairment atomic.Pointer[Impairment] // never nil; not guarded by mu
	busy       atomic.Int64               // since when a hello waits for the transmitter, on the clock of Config; 0: none does
}

// step sends the frames on the line that are due, and one from the core, with packets unless the link is busy or hello is
// set. It reports whether it did anything, whether the core has more, and when to come again; the caller holds s.mu.
func (d *Driver) step(p weft.PortID, hello bool) (did, more bool, next weft.Time) {
	s, w := &d.senders[p], &d.cfg.Wires[p]
	if i := s.impairment.Load(); i != s.pace.of {
		s.pace.change(d.cfg.Clock(), w.Pace, i, &s.line)
		s.hasten(max(d.cfg.Clock(), s.pace.free) + s.pace.delay + s.pace.jitter)
	}
	var now weft.Time
	if s.pace.timed || !s.line.empty() {
		now = d.cfg.Clock()
	}
	for !s.line.empty() && s.line.due() <= now {
		d.send(w.Out, s.line.pop())
		did = true
	}
	limit := s.pace.limit(d.cfg.Batch)
	if hello || s.pace.free > now {
		limit = 0 // the link is busy with packets; what else there is goes past those that wait
	}
	s.out.Reset()
	d.lock()
	now = d.cfg.Clock() // under the lock: a core's time does not go backwards
	any := d.core.Transmit(now, p, limit, &s.frame, &s.out)
	d.act(now, &s.out)
	d.mu.Unlock()
	if any {
		d.dispatch(w.Out, s, now)
	}
	next = weft.Never
	if s.out.More {
		next = s.pace.free
	}
	if !s.line.empty() {
		next = min(next, s.line.due())
	}
	return did || any || limit > 0, s.out.More, next
}

// hasten lets the frames on the line arrive at due or earlier, as if they had set out now: those sent over a link that was slow
// must not hold up the ones behind them for what is no longer so. The caller holds s.mu.
func (s *sender) hasten(due weft.Time) {
	for i := range s.line.frames.Len() {
		if f := s.line.frames.At(i); f.due > due {
			f.due = due
			s.line.frames.Set(i, f)
		}
	}
	s.pace.last = min(s.pace.last, due)
}

// transmit sends what the core has for port p.
func (d *Driver) transmit(p weft.PortID) {
	s := &d.senders[p]
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !d.stopped.Load() {
		s.mu.Lock()
		did, more, next := d.step(p, false)
		s.mu.Unlock()
		if busy := s.busy.Load(); busy != 0 {
			d.since(weft.Time(busy))
			s.busy.Store(0)
		}
		switch {
		case did && more:
		case next == weft.Never:
			<-d.wakes[p]
		default:
			timer.Reset((next - d.cfg.Clock()).Duration() + 1)
			select {
			case <-d.wakes[p]:
			case <-timer.C:
			}
		}
	}
}

// hello sends what is owed at p beside packets, from the clock goroutine: the transmitter may be one of thousands of goroutines
// that wait for a processor, and hellos must not. Whatever remains is left to the transmitter.
func (d *Driver) hello(p weft.PortID) {
	s := &d.senders[p]
	if d.cfg.Wires[p].Out == nil {
		return
	}
	if !s.mu.TryLock() { // it is sending a frame, which is a hello too; unless the machine does not let it
		s.busy.CompareAndSwap(0, int64(d.cfg.Clock()))
		notify(d.wakes[p])
		return
	}
	_, more, next := d.step(p, true)
	s.mu.Unlock()
	if more || next != weft.Never {
		notify(d.wakes[p])
	}
}

// dispatch sends the sender's frame, now or when it is due, unless the link loses it.
func (d *Driver) dispatch(to bus.Sender, s *sender, now weft.Time) {
	due := s.pace.sent(now, &s.frame, s.pace.draw(s.draws))
	if s.pace.loses(s.draws) {
		d.framesLost.Add(1)
		return
	}
	s.buf = bus.AppendFrame(s.buf[:0], &s.frame)
	if len(s.frame.Packets) == 0 {
		d.creditFrames.Add(1)
	}
	if due <= now && s.line.empty() {
		d.send(to, s.buf)
	} else {
		s.line.push(s.buf, due)
	}
}

func (d *Driver) send(to bus.Sender, data []byte) {
	d.framesOut.Add(1)
	d.bytesOut.Add(uint64(len(data)))
	if err := to.Send(data); err != nil {
		d.sendErrors.Add(1)
	}
}

// delayLine holds the frames on a link with delay, in order. Bound: what the credits of the link allow in flight.
type delayLine struct {
	frames deque.Deque[outgoing]
	spare  [][]byte
}

func (l *delayLine) empty() bool    { return l.frames.Len() == 0 }
func (l *delayLine) due() weft.Time { return l.frames.Front().due }

func (l *delayLine) push(data []byte, due weft.Time) {
	var own []byte
	if n := len(l.spare); n > 0 {
		own, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	l.frames.PushBack(outgoing{data: append(own[:0], data...), due: due})
}

// shift moves the frames due at from or later by so much, but none before its predecessor. It returns when the last is due; 0
// when there is none.
func (l *delayLine) shift(from, by weft.Time) (last weft.Time) {
	for i := range l.frames.Len() {
		f := l.frames.At(i)
		if f.due >= from {
			f.due = max(last, f.due+by)
			l.frames.Set(i, f)
		}
		last = f.due
	}
	return last
}

// pop returns the first frame; it is good until the next push.
func (l *delayLine) pop() []byte {
	data := l.frames.PopFront().data
	l.spare = append(l.spare, data)
	return data
}
