package fabric

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
)

// Kinds of fault.
const (
	FaultCut   = "cut"   // signalled: both ends of a link lose signal at once
	FaultCrash = "crash" // a switch loses all it holds; its neighbours lose signal
)

// Fault is the report of one fault. Times are seconds since the fabric started.
type Fault struct {
	ID     int     `json:"id"` // from 1, in order
	Kind   string  `json:"kind"`
	Target string  `json:"target"`
	At     float64 `json:"at"`
	// SeenAfter is how long after At the last end had acted on it, in milliseconds.
	SeenAfter  float64 `json:"seen_after_ms"`
	RestoredAt float64 `json:"restored_at,omitempty"` // 0: it lasts

	LostWire   uint64 `json:"lost_wire"`   // packets on the wire
	LostQueued uint64 `json:"lost_queued"` // packets in the output queues of dead links
	LostCrash  uint64 `json:"lost_crash"`  // packets inside the crashed switch
	Rerouted   uint64 `json:"rerouted"`    // decisions to go another way, all over the fabric, while it lasted; faults that overlap share them

	Era uint16 `json:"era"` // packets of later eras were generated after both ends had seen it

	rerouted uint64 // the fabric's count when it began
}

// Lost is all it cost.
func (r Fault) Lost() uint64 { return r.LostWire + r.LostQueued + r.LostCrash }

// seeTimeout bounds how long both ends may take to see a change; only a fabric that is broken needs so long.
const seeTimeout = 10 * time.Second

// Cut cuts a link, signalled: both ends lose signal at once. It returns when both have acted on it. Cutting a link that is
// cut already does nothing and returns fresh false.
func (f *Fabric) Cut(id weft.LinkID) (report Fault, fresh bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, err := f.link(id)
	if err != nil || l.cut {
		return Fault{}, false, err
	}
	began := f.Now()
	if err := f.opts.Transport.Cut(l.dirs[0], l.dirs[1]); err != nil {
		return Fault{}, false, fmt.Errorf("cut %s: %w", l.Name, err)
	}
	l.cut = true
	f.signal(l, false)
	lost := f.settle(l)
	r := f.newFault(Fault{Kind: FaultCut, Target: l.Name, LostWire: lost.wire, LostQueued: lost.queued}, began)
	f.events.Publish(f.Now(), Event{Kind: EventCut, Link: l.Name, Fault: r.copy()})
	return *r, true, nil
}

// Restore brings a cut link back and returns when both ends have it. A link that is not cut is left as it is.
func (f *Fabric) Restore(ctx context.Context, id weft.LinkID) (fresh bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, err := f.link(id)
	if err != nil || !l.cut {
		return false, err
	}
	return true, f.restore(ctx, []*link{l}, nil)
}

// Crash crashes a switch: all it holds is lost and its neighbours lose signal. It returns when they have acted on it.
func (f *Fabric) Crash(id weft.SwitchID) (report Fault, fresh bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if int(id) >= len(f.switches) {
		return Fault{}, false, fmt.Errorf("switch %d: %w: there are %d", id, ErrUnknown, len(f.switches))
	}
	s := f.switches[id]
	if s.crashed {
		return Fault{}, false, nil
	}
	var inside uint64
	began := f.Now()
	s.crashed = true
	s.Do(func(now weft.Time, out *weft.Actions) {
		held := s.core.Stats().LostCrash
		s.core.Crash(now, out)
		inside = s.core.Stats().LostCrash - held
	})
	var lost losses
	for _, l := range f.linksOf(id) {
		f.signal(l, false)
		lost = lost.plus(f.settle(l))
	}
	r := f.newFault(Fault{
		Kind: FaultCrash, Target: f.graph.Switches[id].Name,
		LostWire: lost.wire, LostQueued: lost.queued, LostCrash: inside,
	}, began)
	f.events.Publish(f.Now(), Event{Kind: EventCrash, Switch: r.Target, Fault: r.copy()})
	return *r, true, nil
}

// Restart starts a crashed switch again, empty. Its links that are not cut come back.
func (f *Fabric) Restart(ctx context.Context, id weft.SwitchID) (fresh bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if int(id) >= len(f.switches) {
		return false, fmt.Errorf("switch %d: %w: there are %d", id, ErrUnknown, len(f.switches))
	}
	if !f.switches[id].crashed {
		return false, nil
	}
	return true, f.restore(ctx, nil, []weft.SwitchID{id})
}

// Heal repairs everything: all cut links, all crashed switches. It returns their names.
func (f *Fabric) Heal(ctx context.Context) (healed []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var links []*link
	var switches []weft.SwitchID
	for _, l := range f.links {
		if l.cut {
			links, healed = append(links, l), append(healed, l.Name)
		}
	}
	for i, s := range f.switches {
		if s.crashed {
			switches, healed = append(switches, weft.SwitchID(i)), append(healed, f.graph.Switches[i].Name)
		}
	}
	if len(healed) == 0 {
		return nil, nil
	}
	return healed, f.restore(ctx, links, switches)
}

// restore repairs links and switches and waits until every end concerned has its link back. The caller holds mu.
func (f *Fabric) restore(ctx context.Context, links []*link, switches []weft.SwitchID) error {
	var dirs []bus.Direction
	for _, l := range links {
		dirs = append(dirs, l.dirs[0], l.dirs[1])
	}
	if err := f.opts.Transport.Restore(dirs...); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	for _, l := range links {
		l.cut = false
	}
	back := slices.Clone(links)
	for _, id := range switches {
		f.switches[id].crashed = false
		back = append(back, f.linksOf(id)...)
	}
	back = slices.DeleteFunc(back, func(l *link) bool { return !f.alive(l) })
	for _, l := range back {
		f.signal(l, true)
	}
	ctx, cancel := context.WithTimeout(ctx, seeTimeout)
	defer cancel()
	if err := f.waitLinks(ctx, back, true); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	f.nextEra()
	now := f.Now()
	for _, l := range links {
		f.closeFault(l.Name, now)
		f.events.Publish(now, Event{Kind: EventRestore, Link: l.Name})
	}
	for _, id := range switches {
		name := f.graph.Switches[id].Name
		f.closeFault(name, now)
		f.events.Publish(now, Event{Kind: EventRestart, Switch: name})
	}
	return nil
}

// alive reports whether a link should have signal: it is not cut and no end of it has crashed. The caller holds mu.
func (f *Fabric) alive(l *link) bool {
	for _, n := range []weft.Node{l.A.Node, l.B.Node} {
		if n.IsSwitch() && f.switches[n.Index].crashed {
			return false
		}
	}
	return !l.cut
}

// signal gives or takes signal at both ends of a link. When it returns both have acted on it.
func (f *Fabric) signal(l *link, up bool) {
	for _, end := range []weft.End{l.A, l.B} {
		if end.Node.IsSwitch() {
			f.switches[end.Node.Index].Signal(end.Port, up)
		} else {
			f.nics[end.Node.Index].Signal(end.Port, up)
		}
	}
}

// newFault completes and keeps a report. The caller holds mu.
func (f *Fabric) newFault(r Fault, began weft.Time) *Fault {
	r.ID = len(f.faults) + 1
	r.At = began.Duration().Seconds()
	r.SeenAfter = float64((f.Now() - began).Duration().Nanoseconds()) / 1e6
	r.Era = f.era
	r.rerouted = f.rerouted()
	f.faults = append(f.faults, &r)
	f.nextEra()
	return &r
}

// closeFault notes that the lasting fault of target has been repaired. The caller holds mu.
func (f *Fabric) closeFault(target string, now weft.Time) {
	for _, r := range f.faults {
		if r.Target == target && r.RestoredAt == 0 {
			r.RestoredAt = now.Duration().Seconds()
			r.Rerouted = f.rerouted() - r.rerouted
		}
	}
}

// nextEra begins a new era at all NICs. The caller holds mu.
func (f *Fabric) nextEra() {
	if f.era < ^uint16(0) {
		f.era++
	}
	for _, n := range f.nics {
		n.SetEra(f.era)
	}
}

// Faults returns the reports of all faults so far.
func (f *Fabric) Faults() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Fault, len(f.faults))
	for i, r := range f.faults {
		out[i] = *r
		if r.RestoredAt == 0 {
			out[i].Rerouted = f.rerouted() - r.rerouted
		}
	}
	return out
}

func (r *Fault) copy() *Fault {
	c := *r
	return &c
}

func (f *Fabric) link(id weft.LinkID) (*link, error) {
	if int(id) >= len(f.links) {
		return nil, fmt.Errorf("link %d: %w: there are %d", id, ErrUnknown, len(f.links))
	}
	return f.links[id], nil
}

func (f *Fabric) linksOf(id weft.SwitchID) []*link {
	var out []*link
	for _, l := range f.links {
		if l.A.Node == id.Node() || l.B.Node == id.Node() {
			out = append(out, l)
		}
	}
	return out
}
