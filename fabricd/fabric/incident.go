package fabric

import (
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// KindSilence is the kind of the report of a neighbour that was not heard although no fault
// explains it.
const KindSilence = fault.KindSilence

// Throughput is sampled in bins, for the drops that faults make.
const (
	minBin    = 10 * time.Millisecond
	binPerNIC = 100 * time.Microsecond // reading thousands of NICs costs more than small bins are worth
)

// binWidth is how long a bin is in a fabric of so many NICs. Of those on other hosts only what they
// last told is known.
func binWidth(nics int, others bool) time.Duration {
	width := max(minBin, time.Duration(nics)*binPerNIC)
	if others {
		width = max(width, askEvery)
	}
	return width
}

// attendFaults samples throughput, begins a new fault generation when a fault has been seen by the
// last of its ends, and closes reports whose time has come, until the runtime stops.
func (f *Fabric) attendFaults() {
	f.leading.wake.set(f.runtime.Task(0, func() {
		f.inLoop(func(l loop) { l.decide(leader.Seen{}) })
	}))
	f.runtime.Task(f.bin, func() {
		delivered := f.deliveredNow()
		now := f.Now()
		f.note(leader.Sampled{Delivered: delivered})
		f.publishDue(now)
		due := false
		f.read(func(s *leader.State) { due = s.Due(now) })
		if due {
			f.look(host.CountersRequest{Generations: true}, false) // for reports that begin or end
		}
		f.inLoop(func(l loop) {
			if due {
				l.countNow()
			}
			l.decide(leader.Tick{})
		})
	})
}

// deliveredNow are the packets delivered: in this process as of now, elsewhere as it was told last.
func (f *Fabric) deliveredNow() uint64 {
	var elsewhere uint64
	f.ledger.read(func(l *ledger.Ledger) {
		here := l.OfHost(localHostID, 0)
		elsewhere = l.Total().NICs.Delivered - here.Counters.NICs.Delivered
	})
	return elsewhere + f.local.local.Delivered()
}

// Faults returns the reports of the latest faults, at most 4096, in order; those that last are
// brought up to date.
func (f *Fabric) Faults() []fault.Report {
	f.look(host.CountersRequest{Generations: true}, false)
	return f.reportsAfter(0)
}

// reportsAfter brings the open ones among the reports with higher numbers up to date and copies
// them.
func (f *Fabric) reportsAfter(id int) (list []fault.Report) {
	f.noteCounted()
	found := false
	report := func(*ledger.Ledger) {
		f.read(func(s *leader.State) {
			if found = s.HasFound(); !found {
				list = s.Reports(f.Now(), id)
			}
		})
	}
	for f.ledger.read(report); found; f.ledger.read(report) {
		f.inLoop(func(l loop) { l.decide(leader.Found{}) })
	}
	return list
}

// CloseReports ends the counting of effects for all faults that have been repaired, as when a run
// is over.
func (f *Fabric) CloseReports() {
	f.refreshHosts(host.CountersRequest{Generations: true})
	f.inLoop(func(l loop) {
		l.countNow()
		l.decide(leader.Close{})
	})
}

// touch notes that something happened that a fault may be the reason of.
func (f *Fabric) touch(now weft.Time) { f.leading.effect.Store(int64(now)) }

// portChanged notes that an end has lost its link or has it back.
func (f *Fabric) portChanged(c leader.PortChanged) {
	if !c.Up && c.Started {
		f.leading.awaits.Store(true)
	}
	f.note(c)
}

// rerouted notes that packets were sent another way.
func (f *Fabric) rerouted(now weft.Time) {
	if f.leading.awaits.Load() {
		f.leading.awaits.Store(false)
		f.note(leader.Rerouted{At: now})
	}
}
