package fabric

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Errors of SetTimeFactor.
var (
	ErrVirtualTime = errors.New("virtual time has no factor: it goes as fast as it can")
	ErrUnpaced     = errors.New("links that are not paced have no rate, so no time factor applies: " +
		"start the fabric without --unpaced")
)

// Tempo is how fast the clocks of the fabric go. The zero value: no factor applies, in virtual time
// or where links are not paced.
func (f *Fabric) Tempo() (t leader.Tempo) {
	if f.live != nil && f.opts.Link.Paced {
		f.decisions.read(func(s *leader.State) { t = s.Tempo })
	}
	return t
}

// SetTimeFactor has all clocks of the fabric go with a factor, and returns when all hosts that
// answer do. While machines are late the clocks go slower, unless it is fixed. Errors: a factor out
// of bounds; ErrVirtualTime; ErrUnpaced.
func (f *Fabric) SetTimeFactor(factor float64, fixed bool) error {
	switch {
	case f.live == nil:
		return ErrVirtualTime
	case !f.opts.Link.Paced:
		return ErrUnpaced
	case !(factor >= settings.MinTimeFactor && factor <= settings.MaxTimeFactor):
		return fmt.Errorf("time factor %v: give %v to %d, 1 is the time of the machine",
			factor, settings.MinTimeFactor, settings.MaxTimeFactor)
	}
	var a *action
	f.inLoop(func(l loop) { a = l.decide(leader.SetTimeFactor{Factor: factor, Fixed: fixed}) })
	return a.dispatched.wait()
}

// How often it is measured how late packets come, by the clock of the machine, and over how much of
// their time on links at least. Where so many measurements in turn find less, nothing is late.
// Chosen by us: a few hundred packets tell.
const (
	measureEvery = 200 * time.Millisecond
	measureOver  = 50 * time.Millisecond
	idleAfter    = 10
	middleOf     = 5 // a host that stands still once is late in one or two measurements
)

// What lateness counts where packets find their links free, and how much more where all wait for
// them: what is late is then missed by the packet that could have taken its credits along. Chosen
// by us, by runs beside virtual time at loads from 0.02 to 1.
const (
	counts      = 0.4
	countsQueue = 6
)

// lateness measures how late packets come, per host, while the clocks go with one factor. It is for
// one goroutine.
type lateness struct {
	hosts  map[ledger.HostID]*lateHost
	factor float64
}

type lateHost struct {
	was  switchd.Stats     // when it was measured last
	late [middleOf]float64 // measured with this factor, newest first; 0 where nothing is yet
	idle int               // measurements in turn that found less than measureOver
}

// attendTempo measures until the runtime stops.
func (f *Fabric) attendTempo() {
	measured := lateness{hosts: map[ledger.HostID]*lateHost{}}
	f.runtime.Task(max(measureEvery, f.binWidth()), func() {
		measured.at(f.Tempo().Factor)
		own := f.local.local.Drivers()
		late := measured.next(f.local.id, &own)
		for _, h := range f.remoteHosts() {
			late = max(late, measured.next(h.id, &h.counters.Load().all.Drivers))
		}
		f.inLoop(func(l loop) { l.decide(leader.Measured{Late: late}) })
	})
}

// at says which factor the clocks go with. With another than before it forgets what it measured.
func (m *lateness) at(factor float64) {
	if factor != m.factor {
		m.factor = factor
		for _, h := range m.hosts {
			h.late, h.idle = [middleOf]float64{}, 0
		}
	}
}

// next is how late packets come on a host whose drivers have counted so much, see [leader.Tempo]:
// the middle one of the latest measurements.
func (m *lateness) next(id ledger.HostID, now *switchd.Stats) float64 {
	h := m.hosts[id]
	if h == nil {
		h = &lateHost{}
		m.hosts[id] = h
	}
	was := &h.was
	lasted, overdue := now.Lasted-was.Lasted, now.Overdue-was.Overdue
	switch {
	case lasted < 0: // it counts anew
		h.late = [middleOf]float64{}
	case lasted < measureOver:
		if h.idle++; h.idle > idleAfter {
			h.late = [middleOf]float64{}
		}
		return h.middle()
	default:
		frames := (now.FramesOut - now.CreditFrames) - (was.FramesOut - was.CreditFrames)
		waited := float64(now.Waited-was.Waited) / float64(max(1, frames))
		copy(h.late[1:], h.late[:])
		h.late[0] = (counts + countsQueue*waited) * max(0, float64(overdue)) / float64(lasted)
	}
	h.idle, h.was = 0, *now
	return h.middle()
}

func (h *lateHost) middle() float64 {
	late := h.late
	slices.Sort(late[:])
	return late[middleOf/2]
}
