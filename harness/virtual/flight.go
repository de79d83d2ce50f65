package virtual

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// flight is a frame on a wire, or one to be used again.
type flight = link.Flight[weft.Frame]

// roomy is a flight with room for the first packet of its frame beside it. The flight comes last:
// what each frame needs of it is beside the end of the packet then, in few cache lines.
type roomy struct {
	room [1]weft.Header
	flight
}

// take returns a frame that is on no wire.
func (w *worker) take() *flight {
	if n := len(w.spare); n > 0 {
		f := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return f
	}
	f := new(roomy)
	f.Frame.Packets = f.room[:0]
	return &f.flight
}

// recycle keeps a frame for take. When all links come up there are more than ever after, which go.
func (w *worker) recycle(f *flight) {
	if len(w.spare) <= len(w.nodes) {
		w.spare = append(w.spare, f)
	}
}
