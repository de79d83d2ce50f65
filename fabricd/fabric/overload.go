package fabric

import (
	"fmt"
	"math"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/settings"
)

// Counted says, for one moment, what a fabric was offered and what it carried.
type Counted struct {
	At      weft.Time
	Offered uint64 // packets generated, those that found a send queue full included
	Carried uint64 // packets that have left the fabric: delivered, lost or discarded
}

// CountedIn makes a Counted of a fabric's totals and ledger.
func CountedIn(at weft.Time, t Totals, l Ledger) Counted {
	return Counted{At: at, Offered: t.Injected + t.Refused, Carried: l.Delivered + l.Lost + l.Discarded}
}

// OverloadHalf is half of the time for which more must be offered than carried before a fabric
// counts as overloaded. Chosen by us: queues that fill at the start, or at a fault, fill faster.
const OverloadHalf = 3 * weft.Second

// Overload is by how much more is offered than carried, in packets a second. The zero value is
// none.
type Overload struct{ Offered, Carried float64 }

// String is a sentence, or empty for no overload.
func (o Overload) String() string {
	if o == (Overload{}) {
		return ""
	}
	return fmt.Sprintf("more is offered than carried: of %.0f packets a second, %.0f leave the fabric", o.Offered,
		o.Carried)
}

// Trouble is a sentence while machines are behind and the clocks do not go slower for it, or else
// while more is offered than carried; empty: neither.
func (o Overload) Trouble(t leader.Tempo) string {
	if !t.Behind() {
		return o.String()
	}
	what, factor := "the machine is late, so latencies are its own", t.Bearable()
	if o.Offered > 0 {
		factor = max(settings.MinTimeFactor, min(factor, t.Factor*o.Carried/o.Offered))
		what = fmt.Sprintf("the machine carries %.2g%% of what is offered", 100*o.Carried/o.Offered)
	}
	if t.Factor <= settings.MinTimeFactor {
		return what + ": offer less, or use more machines"
	}
	return fmt.Sprintf("%s: slow it with linkmon time-factor %.2g", what, factor)
}

// Overloaded compares counts at three moments, OverloadHalf or more apart. A fabric is overloaded
// when in both spans a twentieth of what was offered stayed in it, and more than chance explains.
func Overloaded(began, middle, now Counted) Overload {
	if !short(began, middle) || !short(middle, now) {
		return Overload{}
	}
	seconds := (now.At - began.At).Duration().Seconds()
	return Overload{float64(now.Offered-began.Offered) / seconds, float64(now.Carried-began.Carried) / seconds}
}

// short reports whether much of what was offered between two moments was not carried.
func short(from, to Counted) bool {
	if to.At-from.At < OverloadHalf || to.Offered < from.Offered || to.Carried < from.Carried {
		return false
	}
	offered, carried := float64(to.Offered-from.Offered), float64(to.Carried-from.Carried)
	return offered-carried > max(offered/20, 5*math.Sqrt(offered))
}

// OverloadWatch looks for overload in counts that come one after another. The zero value is ready;
// it is for one goroutine.
type OverloadWatch struct {
	readings []Counted // oldest first; bound: what comes in twice OverloadHalf, and two more
}

// Next takes the current counts and returns the overload.
func (w *OverloadWatch) Next(now Counted) Overload {
	w.readings = append(w.readings, now)
	middle := w.before(now.At)
	if middle < 0 {
		return Overload{}
	}
	began := w.before(w.readings[middle].At)
	if began < 0 {
		return Overload{}
	}
	over := Overloaded(w.readings[began], w.readings[middle], now)
	w.readings = w.readings[began:]
	return over
}

// before is the latest that is OverloadHalf or more before at, -1 if there is none.
func (w *OverloadWatch) before(at weft.Time) int {
	for i := len(w.readings) - 1; i >= 0; i-- {
		if at-w.readings[i].At >= OverloadHalf {
			return i
		}
	}
	return -1
}
