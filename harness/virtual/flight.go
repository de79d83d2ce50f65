package virtual

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// flight is a frame on a wire, or one to be used again. It takes three cache lines: a frame that
// brings no packet needs the first alone.
type flight = link.Flight[packed]

// packed is what virtual time needs of a [weft.Frame], which has room for all virtual channels that
// a link may have: cores write a frame of their worker and read it there.
type packed struct {
	from, to weft.Epoch
	packets  uint16
	carrying uint16
	vcs      uint8
	large    bool        // many is used
	counters [2]counters // of the first VCs
	room     [1]weft.Header
	many     *[]weft.Header             // instead of room, if there were ever more packets
	more     *[weft.MaxVCs - 2]counters // of the other VCs; nil: there never were more
}

// counters are those of a VC, see weft.Frame.
type counters struct{ sent, limit uint64 }

// lend has a core write the packets of f where p keeps them.
func (p *packed) lend(f *weft.Frame) {
	f.Packets = p.room[:0]
	if p.large {
		f.Packets = (*p.many)[:0]
	}
}

// pack takes f, which has the room of p.
func (p *packed) pack(f *weft.Frame) {
	p.from, p.to, p.packets, p.carrying, p.vcs = f.From, f.To, uint16(len(f.Packets)), uint16(f.Carrying), uint8(f.VCs)
	if cap(f.Packets) > len(p.room) {
		if !p.large {
			p.many, p.large = new([]weft.Header), true
		}
		*p.many = f.Packets
	}
	if f.VCs > len(p.counters) && p.more == nil {
		p.more = new([weft.MaxVCs - 2]counters)
	}
	for vc := range f.VCs {
		*p.of(vc) = counters{f.Sent[vc], f.Limit[vc]}
	}
}

// unpack makes f what was packed. Its packets stay where they are.
func (p *packed) unpack(f *weft.Frame) {
	f.Reset()
	p.lend(f)
	f.From, f.To, f.Packets, f.Carrying, f.VCs = p.from, p.to, f.Packets[:p.packets], int(p.carrying), int(p.vcs)
	for vc := range f.VCs {
		c := p.of(vc)
		f.Sent[vc], f.Limit[vc] = c.sent, c.limit
	}
}

func (p *packed) of(vc int) *counters {
	if vc < len(p.counters) {
		return &p.counters[vc]
	}
	return &p.more[vc-len(p.counters)]
}

// take returns a frame that is on no wire.
func (w *worker) take() *flight {
	if n := len(w.spare); n > 0 {
		f := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return f
	}
	return new(flight)
}

// recycle keeps a frame for take. When all links come up there are more than ever after, which go.
func (w *worker) recycle(f *flight) {
	if len(w.spare) <= len(w.nodes) {
		w.spare = append(w.spare, f)
	}
}
