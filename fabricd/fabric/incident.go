package fabric

import (
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// KindSilence is the kind of the report of a neighbour that was not heard although no fault
// explains it.
const KindSilence = fault.KindSilence

// Throughput is sampled in bins, to find the degradation that a fault causes.
const (
	minBin    = 10 * time.Millisecond
	binPerNIC = 100 * time.Microsecond // reading thousands of NICs costs more than small bins are worth
)

// binWidth is the length of a bin. NICs on other hosts count as they were told last.
func (ns *nodes) binWidth() time.Duration {
	width := max(minBin, time.Duration(len(ns.nics))*binPerNIC)
	if len(ns.remote) > 0 {
		width = max(width, askEvery)
	}
	return width
}

// attendFaults runs until the runtime stops. It samples throughput, begins a fault generation when
// the last end has seen a fault, and closes reports that are due.
func (f *Fabric) attendFaults() {
	f.leading.wake.set(f.runtime.Task(0, func() {
		f.inLoop(func(l loop) { l.decide(leader.Seen{}) })
	}))
	f.runtime.Task(f.binWidth(), func() {
		delivered := f.deliveredNow()
		now := f.Now()
		f.note(leader.Sampled{Delivered: delivered})
		f.limits.publishDue(now)
		due := false
		f.read(func(s *leader.State) { due = s.Due(now) })
		if due {
			f.look(host.CountersRequest{Generations: true}, false) // for reports that begin or end
			f.faults.lookAtConnections()
		}
		f.inLoop(func(l loop) {
			if due {
				l.countNow()
				now = l.toldSince(now)
			}
			l.decide(leader.Tick{Asked: now})
			l.putAway()
		})
	})
}

// toldSince is the latest time, at most now, that all hosts have told of: each that answers was
// asked then or later for all that is in a report, and has told it.
func (si *site) toldSince(now weft.Time) weft.Time {
	for _, h := range si.answering() {
		now = min(now, weft.Time(h.told.Load()))
	}
	return now
}
