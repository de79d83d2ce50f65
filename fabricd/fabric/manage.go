package fabric

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/subnet"
)

// EventReconfigured is the kind of event of new tables that a subnet manager has brought into force.
const EventReconfigured = "reconfigured"

// Ports is what the ends of links make of them at a moment.
type Ports struct {
	At   weft.Time     `json:"at"`
	Dead []weft.LinkID `json:"dead"` // links that an end of theirs takes for down
	// Doubtful is how many of all links have ends of different opinions: one of them has not noticed yet, or has crashed.
	Doubtful int `json:"doubtful"`
}

// Set is the same as a set.
func (p Ports) Set() *subnet.Dead {
	var d subnet.Dead
	for _, id := range p.Dead {
		d.AddLink(id)
	}
	return &d
}

// Ports says which links are dead, in the eyes of the switches and NICs at their ends. It waits for nobody.
func (f *Fabric) Ports() Ports {
	p := Ports{At: f.Now(), Dead: []weft.LinkID{}}
	for _, l := range f.links {
		a, b := l.up[0].Load(), l.up[1].Load()
		if !a || !b {
			p.Dead = append(p.Dead, l.ID)
		}
		if a != b {
			p.Doubtful++
		}
	}
	return p
}

// Round is what a subnet manager tells of tables that it has brought into force, with the times of its phases on the fabric's clock.
type Round struct {
	fault.Reconfiguration               // but for its times
	Died                  []weft.LinkID `json:"died"`     // links that were alive when the tables before were computed
	Began                 weft.Time     `json:"began"`    // computing
	Computed              weft.Time     `json:"computed"` // and was done
	Drain                 weft.Time     `json:"drain"`    // of the time after that, so long was waited for the fabric to be empty
	InForce               weft.Time     `json:"in_force"` // the last switch had acknowledged; 0: it came to nothing
}

// Reconfigured puts into the reports of the faults that made these links die how the routes were repaired, and tells it as an event. It returns what
// it has told, with the times since the first of these faults.
func (f *Fabric) Reconfigured(r Round) fault.Reconfiguration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reconfigured(r)
}

func (f *Fabric) reconfigured(r Round) fault.Reconfiguration {
	e := Event{Kind: EventReconfigured}
	told, from := r.since(r.Began), weft.Never
	for _, rec := range slices.Backward(f.incidents) {
		old := rec.report.Reconfiguration
		if !rec.caused(r) || old != nil && (old.Error == "" || old.Version > r.Version) {
			continue
		}
		told, from = r.since(rec.began), rec.began
		rec.report.Reconfiguration = new(told)
		e.Fault = new(rec.report.Clone())
	}
	f.rounds.count(r, from)
	e.Detail = told.String()
	f.events.Publish(f.Now(), e)
	return told
}

// since are the figures with their times, for a fault of that moment.
func (r Round) since(at weft.Time) fault.Reconfiguration {
	c := r.Reconfiguration
	c.DetectMS, c.ComputeMS = ms(max(0, r.Began-at)), ms(r.Computed-r.Began)
	if r.InForce > 0 {
		c.DrainMS, c.DistributeMS, c.InForceMS = ms(r.Drain), ms(r.distribute()), ms(r.InForce-at)
	}
	return c
}

// distribute is how long uploading took, and writing down what is uploaded.
func (r Round) distribute() weft.Time { return max(0, r.InForce-r.Computed-r.Drain) }

// caused reports whether the fault is one that the manager acted on.
func (r *incident) caused(round Round) bool {
	if r.began > round.Began {
		return false
	}
	for _, l := range r.linksOnce {
		if slices.Contains(round.Died, l.ID) {
			return true
		}
	}
	return slices.ContainsFunc(r.links, func(l *link) bool { return slices.Contains(round.Died, l.ID) })
}

// settleTime bounds how long packets of older tables are waited for: one that waits in the send queue of a saturated NIC has not met any.
// Chosen by us: far longer than a packet is on its way.
const settleTime = 2 * weft.Second

// Settling finds out when the packets are gone that were generated before now, and so those that travelled by tables older than those in force.
// The function that it returns reports whether they are: all were delivered, but for as many as had been lost before; or so
// much time has passed that it does not matter which of them were lost since.
func (f *Fabric) Settling() (gone func() bool) {
	f.mu.Lock()
	dispatched := f.nextEra()
	era := int(f.era)
	f.mu.Unlock()
	_ = dispatched.wait() // of a host that does not answer nothing is known anyway
	began := f.Now()
	l := f.asked()
	dropped := l.Lost + l.Discarded
	return func() bool {
		if f.Now()-began > settleTime {
			return true
		}
		return f.missing(era) <= dropped
	}
}

// missing is how many packets that were generated before an era have not been delivered. NICs tell the latest eras apart only (nic.MaxEras), so what
// was before is what all are but for those.
func (f *Fabric) missing(era int) uint64 {
	var injected, delivered uint64
	f.refreshHosts(host.SumRequest{Eras: true})
	f.countEras(func(s *host.Sum) {
		injected, delivered = injected+s.Counters.NICs.Injected, delivered+s.Counters.NICs.Delivered
		for i, e := range s.Eras {
			if s.FirstEra+i >= era {
				injected, delivered = injected-e.Injected, delivered-e.Delivered
			}
		}
	})
	return injected - min(injected, delivered)
}

// Settled notes in the reports of faults that the packets of tables before that version are gone.
func (f *Fabric) Settled(version uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, took := f.Now(), weft.Never
	for _, r := range f.incidents {
		if c := r.report.Reconfiguration; c != nil && c.Version == version && c.SettledMS == 0 {
			c.SettledMS = ms(now - r.began)
			took = now - r.began - weft.Time(c.InForceMS*float64(weft.Millisecond))
		}
	}
	if took != weft.Never {
		f.rounds.took(PhaseSettle, took)
	}
}

// TableVersions are the versions of the tables of all switches, by number.
func (f *Fabric) TableVersions() []uint64 {
	list := make([]uint64, len(f.switches))
	for i := range list {
		list[i] = f.TableVersion(weft.SwitchID(i))
	}
	return list
}

// OnPorts has do called soon after any end has changed its mind about its link. At most one may be set, before anything happens.
func (f *Fabric) OnPorts(do func()) { f.ports.set(f.runtime.Task(0, do)) }

// At has do called at a time of the fabric's clock, unless it was stopped before.
func (f *Fabric) At(t weft.Time, do func()) (stop func()) { return f.runtime.At(t, do) }

// Empty reports whether no packet is between the NICs.
func (f *Fabric) Empty() bool { return f.drained() }
