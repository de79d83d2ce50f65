package switchd

import (
	"math/rand/v2"
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

// transmit sends what the core has for port p. It owns frame, out and the frames on their way.
func (d *Driver) transmit(p weft.PortID, w Wire) {
	var frame weft.Frame
	var out weft.Actions
	var buf []byte
	var line delayLine
	var pace pacer
	draws := rand.NewPCG(d.cfg.Seed, uint64(p))
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	idle := true // the core had nothing when last asked
	for !d.stopped.Load() {
		if idle && line.empty() {
			<-d.wakes[p]
			idle = false
			continue
		}
		if i := d.impaired[p].Load(); i != pace.of {
			pace.change(d.cfg.Clock(), w.Pace, i, &line)
		}
		var now weft.Time
		if pace.timed || !line.empty() {
			now = d.cfg.Clock()
		}
		for !line.empty() && line.due() <= now {
			d.send(w.Out, line.pop())
		}
		if !idle {
			limit := pace.limit(d.cfg.Batch)
			if pace.free > now {
				limit = 0 // the link is busy with packets; what else there is goes past those that wait
			}
			out.Reset()
			d.lock()
			now = d.cfg.Clock() // under the lock: a core's time does not go backwards
			any := d.core.Transmit(now, p, limit, &frame, &out)
			d.act(now, &out)
			d.mu.Unlock()
			idle = !out.More
			if any {
				d.dispatch(p, w.Out, &frame, &buf, &pace, &line, draws, now)
			}
			if any || limit > 0 {
				continue
			}
		}
		next := weft.Never
		if !idle {
			next = pace.free
		}
		if !line.empty() {
			next = min(next, line.due())
		}
		if next == weft.Never {
			continue
		}
		timer.Reset((next - now).Duration() + 1)
		select {
		case <-d.wakes[p]:
			idle = false
		case <-timer.C:
		}
	}
}

// dispatch sends a frame, now or when it is due, unless the link loses it.
func (d *Driver) dispatch(p weft.PortID, to bus.Sender, f *weft.Frame, buf *[]byte, pace *pacer, line *delayLine, draws *rand.PCG, now weft.Time) {
	due := pace.sent(now, f, pace.draw(draws))
	if pace.loses(draws) {
		d.framesLost.Add(1)
		return
	}
	*buf = bus.AppendFrame((*buf)[:0], f)
	if len(f.Packets) == 0 {
		d.creditFrames.Add(1)
	}
	if due <= now && line.empty() {
		d.send(to, *buf)
	} else {
		line.push(*buf, due)
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
