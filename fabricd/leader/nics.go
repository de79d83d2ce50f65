package leader

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
)

// Kinds of what is published about NICs.
const (
	EventTraffic = "traffic" // what is injected has changed
	EventHeld    = "held"    // NICs inject nothing
	EventResumed = "resumed" // they do again
)

// Traffic is what NICs inject, with what it takes to make their sources anew.
type Traffic struct {
	What    nic.Traffic
	Draws   []byte       // the state of the PCG that draws what the pattern leaves to chance, before it draws
	Trace   []byte       // of a trace its file, compressed
	Sources []nic.Source // of all NICs, for a host that is reached by calls; nil: it makes them
}

// orderAll says something to all hosts that have NICs, or may have.
func (s *State) orderAll(fill func(o *Order)) {
	s.order(func(o *orders) {
		for i := range s.Hosts {
			if h := &s.Hosts[i]; !h.Process {
				fill(o.to(h))
			}
		}
	})
}

// setTraffic has NICs inject something else, now or when they are held no more.
func (s *State) setTraffic(t Traffic) {
	if t.What != s.Traffic.What {
		s.settleDegradations()
		s.publish(Published{Kind: EventTraffic, Detail: t.What.String()})
	}
	s.Traffic = t
	s.Traffic.Sources = nil // those have begun
	s.do(Checkpoint{})
	s.orderAll(func(o *Order) { o.Traffic = &t })
}

// addNICResync adds what NICs of a host should know, and how fast its clock goes.
func (s *State) addNICResync(h *Host, known *Applied, o *Order) {
	o.TimeFactor = s.Tempo.Factor
	o.Generation, o.Hold = new(s.Generation), new(s.Held())
	if !h.Process && (known.Traffic != s.Traffic.What.String() || !slices.Equal(known.Draws, s.Traffic.Draws)) {
		o.Traffic = new(s.Traffic)
	}
}

// ofHold is the timer of the hold: no fault has this number.
const ofHold = 0

// Held reports whether NICs inject nothing.
func (s *State) Held() bool { return s.HeldUntil != 0 }

// hold has NICs inject nothing for some time from now on; 0: they inject again, and why.
func (s *State) hold(d weft.Time, why string) {
	was := s.Held()
	if s.HeldUntil, s.holdTime = d, d; d != 0 && d != weft.Never {
		s.HeldUntil += s.now
	}
	s.timeHold()
	if s.Held() == was {
		s.do(CheckpointSoon{})
		return
	}
	s.do(Checkpoint{})
	s.orderAll(func(o *Order) { o.Hold = new(s.Held()) })
	kind := EventResumed
	if s.Held() {
		kind = EventHeld
	}
	s.publish(Published{Kind: kind, Detail: why})
}

// holdDue has NICs inject again whose hold was to last until at, unless it was put off.
func (s *State) holdDue(at weft.Time) {
	if at != s.HeldUntil {
		return
	}
	why := "whoever held them under the leader before has asked for nothing since"
	if s.holdTime > 0 {
		why = "whoever held them has asked for nothing in " + s.holdTime.String()
	}
	s.hold(0, why+": tables are as they were left")
}

// timeHold has the hold end when its time is over.
func (s *State) timeHold() {
	if !s.Held() || s.HeldUntil == weft.Never {
		s.do(StopTimer{ofHold})
	} else {
		s.do(SetTimer{ofHold, s.HeldUntil})
	}
}

// resumeHold keeps NICs held that were held under the leader before. A subnet manager may be
// replacing tables, and the old and the new ones could deadlock together. The next manager finishes
// that or resumes the NICs; if none comes, the hold ends when it would have ended.
func (s *State) resumeHold() {
	if s.Held() {
		s.timeHold()
		s.publish(Published{Kind: EventHeld, Detail: "as they were under the leader before"})
	}
}
