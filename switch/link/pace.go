package link

import (
	"time"

	"github.com/weft-fabric/weft"
)

// delayed is what a Pacer moves when its pace changes: the frames on their way, a [Line].
type delayed interface {
	shift(from, by weft.Time) (last weft.Time)
	hasten(due weft.Time)
}

// Pace slows a link direction down to human speed. The zero value is as fast as the transport goes.
type Pace struct {
	Rate  float64       // bytes per second by packet size; 0 is unlimited
	Delay time.Duration // propagation; 0 is none
}

// Impairment is what a link direction suffers beside its pace. It acts at the sending end, on
// frames: a frame that is lost takes its packets, credits and hello along, so that each packet is
// lost with the probability of its frame.
type Impairment struct {
	Loss   float64       // of frames, 0 to 1
	Rate   float64       // bytes per second by packet size; 0 is no limit of its own
	Delay  time.Duration // added to the pace's
	Jitter time.Duration // each frame is delayed by up to so much more or less, drawn uniformly; frames keep their order
}

// Rand is a source of random draws, uniform over all values. *math/rand/v2.PCG is one.
type Rand interface{ Uint64() uint64 }

// Pacer is the sending end of a link direction. The zero value is unpaced and unimpaired.
type Pacer struct {
	free weft.Time // when the link has sent all it was given; 0 while unpaced
	last weft.Time // when the frame sent last arrives: none overtakes it

	perByte float64 // picoseconds; 0 is unpaced
	delay   weft.Time
	busy    weft.Time   // when the packet it was given last arrives
	of      *Impairment // nil before the first
}

// Adopt makes k pace and impair as p and i say, for a link on which there is nothing. It keeps i,
// which must not change; see Of.
func (k *Pacer) Adopt(p Pace, i *Impairment) {
	rate := p.Rate
	if i.Rate > 0 && (rate == 0 || i.Rate < rate) {
		rate = i.Rate
	}
	k.perByte = 0
	if rate > 0 {
		k.perByte = float64(weft.Second) / rate
	}
	k.delay = weft.FromDuration(p.Delay + i.Delay)
	k.of = i
}

// Change adopts p and i at now. The packet that the link is busy with goes on at the new rate; line
// holds the frames on their way, which arrive no later than if they had set out now: those sent
// over a link that was slow must not hold up the ones behind them for what is no longer so.
func (k *Pacer) Change(now weft.Time, p Pace, i *Impairment, line delayed) {
	k.changeRate(now, p, i, line)
	latest := max(now, k.free) + k.delay + i.jitter()
	line.hasten(latest)
	k.last = min(k.last, latest)
}

func (k *Pacer) changeRate(now weft.Time, p Pace, i *Impairment, line delayed) {
	was, left := k.perByte, max(0, k.free-now)
	k.Adopt(p, i)
	if left > 0 {
		rest := weft.Time(float64(left) * (k.perByte / was))
		k.last = max(line.shift(k.busy, rest-left), k.last+rest-left)
		left = rest
	}
	k.free = 0
	if k.perByte > 0 {
		k.free = now + left
	}
}

// Of is the impairment adopted last, nil before the first.
func (k *Pacer) Of() *Impairment { return k.of }

// Timed reports whether frames take time.
func (k *Pacer) Timed() bool {
	return k.perByte > 0 || k.delay > 0 || k.of != nil && k.of.Jitter > 0
}

// Free is when the link has sent all it was given; it may lie in the past.
func (k *Pacer) Free() weft.Time { return k.free }

// Allow says whether the next frame may leave at now, and with how many packets, of at most batch.
// If it may not, ask again when the link is Free.
//
// A frame takes the packets that there are and what is owed beside them: credits, a hello, the
// handshake. While a link is busy nothing leaves, since no frame overtakes the packet that is being
// sent: what is owed goes when the link is free, with the next packet if there is one. But a hello
// that is due (owed) leaves at once, without packets: the end would otherwise take itself for
// absent on a link whose packets take longer than its detection time.
//
// A paced link takes one packet at a time, so that each keeps its own time.
func (k *Pacer) Allow(now weft.Time, batch int, owed bool) (packets int, ok bool) {
	switch {
	case k.free > now:
		return 0, owed
	case k.perByte > 0:
		return 1, true
	}
	return batch, true
}

// Lasts is how long the packets of f take to send.
func (k *Pacer) Lasts(f *weft.Frame) weft.Time {
	bytes := 0
	for i := range f.Packets {
		bytes += int(f.Packets[i].Size)
	}
	return weft.Time(float64(bytes) * k.perByte)
}

// Send accounts for a frame that can leave since at, and leaves when the link is free. due is when
// all of it has reached the other end, unless the link loses it. A frame without packets takes no
// time to send. r is not asked for draws unless the link is impaired.
func (k *Pacer) Send(at weft.Time, f *weft.Frame, r Rand) (due weft.Time, lost bool) {
	if k.of == nil {
		return k.sent(at, f, 0), false
	}
	var jitter weft.Time
	if k.of.Jitter > 0 {
		jitter = k.of.drawJitter(r)
	}
	return k.sent(at, f, jitter), k.of.loses(r)
}

// sent is Send of a frame whose delay differs from the average by so much.
func (k *Pacer) sent(at weft.Time, f *weft.Frame, jitter weft.Time) weft.Time {
	delay := max(0, k.delay+jitter)
	if k.perByte == 0 || len(f.Packets) == 0 {
		k.last = max(k.last, at+delay)
		return k.last
	}
	k.free = max(k.free, at) + k.Lasts(f)
	k.last = max(k.last, k.free+delay)
	k.busy = k.last
	return k.last
}

// loses draws whether the next frame is lost.
func (i *Impairment) loses(r Rand) bool {
	if !(i.Loss > 0 && i.Loss < 1) {
		return i.Loss >= 1
	}
	return r.Uint64() < uint64(i.Loss*(1<<32)*(1<<32))
}

func (i *Impairment) jitter() weft.Time { return weft.FromDuration(i.Jitter) }

// drawJitter draws how much a frame's delay differs from what it is on average.
func (i *Impairment) drawJitter(r Rand) weft.Time {
	jitter := i.jitter()
	return weft.Time(r.Uint64()%uint64(2*jitter+1)) - jitter
}
