package switchd

import (
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
	free    weft.Time // when the link has sent all it was given
}

func newPacer(p Pace) pacer {
	var k pacer
	if p.Rate > 0 {
		k.perByte = float64(weft.Second) / p.Rate
	}
	k.delay = weft.FromDuration(p.Delay)
	return k
}

// limit is how many packets the next frame may carry. A paced link takes one at a time, so that each keeps its own time.
func (k *pacer) limit(batch int) int {
	if k.perByte > 0 {
		return 1
	}
	return batch
}

// sent accounts for a frame and returns when it reaches the other end.
func (k *pacer) sent(now weft.Time, f *weft.Frame) weft.Time {
	if k.perByte == 0 {
		return now + k.delay
	}
	bytes := 0
	for i := range f.Packets {
		bytes += int(f.Packets[i].Size)
	}
	k.free = max(k.free, now-slack) + weft.Time(float64(bytes)*k.perByte)
	return max(now, k.free) + k.delay
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
	pace := newPacer(w.Pace)
	paced := w.Pace != Pace{}
	limit := pace.limit(d.cfg.Batch)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	idle := true // the core had nothing when last asked
	for !d.stopped.Load() {
		if idle && line.empty() {
			<-d.wakes[p]
			idle = false
			continue
		}
		var now weft.Time
		if paced {
			now = d.cfg.Clock()
		}
		for !line.empty() && line.due() <= now {
			d.send(w.Out, line.pop())
		}
		if !idle && pace.free <= now {
			out.Reset()
			d.lock()
			now = d.cfg.Clock() // under the lock: a core's time does not go backwards
			any := d.core.Transmit(now, p, limit, &frame, &out)
			d.act(now, &out)
			d.mu.Unlock()
			if idle = !out.More; any {
				buf = bus.AppendFrame(buf[:0], &frame)
				if len(frame.Packets) == 0 {
					d.creditFrames.Add(1)
				}
				if due := pace.sent(now, &frame); due <= now {
					d.send(w.Out, buf)
				} else {
					line.push(buf, due)
				}
			}
			continue
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

// pop returns the first frame; it is good until the next push.
func (l *delayLine) pop() []byte {
	data := l.frames.PopFront().data
	l.spare = append(l.spare, data)
	return data
}
