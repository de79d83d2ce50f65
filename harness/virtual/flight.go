package virtual

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/pace"
)

// flight is a frame on a wire, or one to be used again.
type flight = pace.Flight[roomy]

// roomy is a frame with room for its first packet beside it.
type roomy struct {
	room [1]weft.Header
	weft.Frame
}

// take returns a frame that is on no wire.
func (e *Engine) take() *flight {
	if n := len(e.spare); n > 0 {
		f := e.spare[n-1]
		e.spare = e.spare[:n-1]
		return f
	}
	f := new(flight)
	f.Frame.Packets = f.Frame.room[:0]
	return f
}

func (e *Engine) recycle(f *flight) { e.spare = append(e.spare, f) }
