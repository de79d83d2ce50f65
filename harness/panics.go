package harness

import (
	"fmt"
	"runtime"
	"strings"

	switching "github.com/weft-fabric/weft/switch"
)

// Bounds on what is kept of panics: of so many packets, and so many calls each.
const (
	maxPanics = 3
	maxFrames = 16
)

// panicked notes a panic in a firmware's Route. It is called while the stack of that is still
// there.
func (r *recorder) panicked(p switching.RoutePanic) {
	g, h := r.graph, &p.Packet
	text := fmt.Sprintf("Route failed at switch %s, in %v %v from %v, with packet %s -> %s #%d: %v\n  fields %+v\n%s",
		g.Switches[p.Switch].Name, p.At.Port, p.At.VC, p.At.From,
		g.Name(h.Src.Node()), g.Name(h.Dst.Node()), h.Seq, p.Value, h.Fields, panicStack())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.panics++; r.panics <= maxPanics {
		r.panicTexts = append(r.panicTexts, text)
	}
}

// panicStack lists the calls from the firmware's Route to the panic that is being recovered from,
// the innermost first.
func panicStack() string {
	pcs := make([]uintptr, 64+maxFrames)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var b strings.Builder
	inPanic := false
	for listed := 0; listed < maxFrames; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			inPanic = true
		case strings.HasPrefix(f.Function, "runtime.") || !inPanic:
		case strings.HasPrefix(f.Function, "github.com/weft-fabric/weft/switch.(*Switch)."):
			return b.String()
		default:
			fmt.Fprintf(&b, "  %s\n    %s:%d\n", f.Function, f.File, f.Line)
			listed++
		}
		if !more {
			break
		}
	}
	return b.String()
}

// takePanics is what there is to say of panics since it was called last, whole lines.
func (r *recorder) takePanics() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := strings.Join(r.panicTexts, "")
	if more := r.panics - len(r.panicTexts); more > 0 {
		text += fmt.Sprintf("Route failed for %d packets more\n", more)
	}
	r.panicTexts, r.panics = nil, 0
	return text
}
