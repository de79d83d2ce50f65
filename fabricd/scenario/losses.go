package scenario

import (
	"slices"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// losses are the moments when packets were lost or discarded that no fault explains which began or
// ended shortly before.
type losses struct {
	seen uint64    // lost and discarded so far
	at   float64   // when it was looked last, in seconds since the fabric was started
	late []float64 // at most maxTold
	more int       // how many there are beside
}

// look takes the losses since it was called before.
func (l *losses) look(f *fabric.Fabric, within time.Duration) {
	if within == 0 {
		return
	}
	before, now := l.at, f.Now().Duration().Seconds()
	ledger := f.Ledger()
	n := ledger.Lost + ledger.Discarded
	l.at = now
	if n == l.seen {
		return
	}
	l.seen = n
	// Some of them may have been lost right after it was looked last.
	if slices.ContainsFunc(f.Faults(), func(r fault.Report) bool {
		since := func(at float64) bool { return at <= now && before-at <= within.Seconds() }
		return since(r.At) || r.RestoredAt > 0 && since(r.RestoredAt)
	}) {
		return
	}
	if len(l.late) == maxTold {
		l.more++
		return
	}
	l.late = append(l.late, now)
}
