package switchd

import (
	"math/rand/v2"
	"time"

	"github.com/weft-fabric/weft"
)

// Impairment is what a link direction suffers beside its pace. It acts at the sending end, on frames: a frame that is lost
// takes its packets, credits and hello along, so that each packet is lost with the probability of its frame.
type Impairment struct {
	Loss   float64       // of frames, 0 to 1
	Rate   float64       // bytes per second by packet size; 0 is no limit of its own
	Delay  time.Duration // added to the pace's
	Jitter time.Duration // each frame is delayed by up to so much more or less, drawn uniformly; frames keep their order
}

// Impair replaces what port p's outgoing direction suffers. The zero Impairment heals it. Frames on their way keep the delay
// they were given.
func (d *Driver) Impair(p weft.PortID, i Impairment) {
	d.senders[p].impairment.Store(&i)
	notify(d.wakes[p]) // it may be waiting at the old rate
}

// impairment is an Impairment in the transmitter's terms.
type impairment struct {
	of      *Impairment
	loss    uint64 // of 1<<64
	certain bool   // everything is lost
	jitter  weft.Time
}

// adopt makes k pace and impair as p and i say.
func (k *pacer) adopt(p Pace, i *Impairment) {
	rate := p.Rate
	if i.Rate > 0 && (rate == 0 || i.Rate < rate) {
		rate = i.Rate
	}
	k.perByte, k.free = 0, 0 // what was sent at the old rate is as good as gone
	if rate > 0 {
		k.perByte = float64(weft.Second) / rate
	}
	k.delay = weft.FromDuration(p.Delay + i.Delay)
	k.impairment = impairment{of: i, certain: i.Loss >= 1, jitter: weft.FromDuration(i.Jitter)}
	if i.Loss > 0 && i.Loss < 1 {
		k.loss = uint64(i.Loss * (1 << 32) * (1 << 32))
	}
	k.timed = k.perByte > 0 || k.delay > 0 || k.jitter > 0
}

// loses draws whether the next frame is lost.
func (k *pacer) loses(r *rand.PCG) bool { return k.certain || k.loss > 0 && r.Uint64() < k.loss }

// draw returns how much a frame's delay differs from what it is on average.
func (k *pacer) draw(r *rand.PCG) weft.Time {
	if k.jitter == 0 {
		return 0
	}
	return weft.Time(r.Uint64()%uint64(2*k.jitter+1)) - k.jitter
}
