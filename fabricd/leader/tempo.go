package leader

import (
	"strconv"

	"github.com/weft-fabric/weft/fabricd/settings"
)

// EventTimeFactor is the kind of the event that the clocks of a fabric go otherwise.
const EventTimeFactor = "time_factor"

// Bounds of [Tempo.Late]. Chosen by us: latencies are right within a tenth below tooLate.
const (
	tooLate = 0.5
	inTime  = 0.2 // a step up leaves it far below tooLate
	aim     = 0.3 // of a step down
	weight  = 0.1
	most    = 1.5 // that one measurement counts as: a machine that stalls once is no reason to go slower
)

// falling is within how many measurements lateness is less than ever since the last step, where it
// falls: a second. A machine catches up with what it could not carry before, and what comes meanwhile
// is late whatever the factor, so it is waited for. Chosen by us.
const falling = 5

// The clocks go faster in steps, each after so many measurements in time: a few, but many, and ever
// more, where they would go about as fast as when machines were too late last.
const (
	stepUp        = 1.25
	leastPatience = 10
	mostPatience  = 160
	near          = 0.75
)

// Tempo is how fast the clocks of a fabric go, compared with those of its machines.
type Tempo struct {
	Factor float64 `json:"factor"`
	Most   float64 `json:"most"`  // that was asked for: they go slower as long as machines are late
	Fixed  bool    `json:"fixed"` // they go as was asked for, however late machines are

	// Late is by how much packets come later than by the rates of their links, as a share of the time
	// that they take on them, on average over some measurements. It counts more where packets wait for
	// their links.
	Late float64 `json:"late"`

	failed   float64 // the factor at which machines were too late last; 0: none that counts
	patience int     // before a step to near that
	wait     int     // measurements in time since the last step
	lowest   float64 // lateness that was measured since the last step; 0: none
	since    int     // measurements since then
	settles  bool    // what is measured next began before the last step
}

// String says how fast, and why.
func (t *Tempo) String() string {
	switch {
	case t.Factor == 0:
		return "that of the machine: links are not paced, so no factor applies"
	case t.Factor == 1 && !t.Fixed:
		return "that of the machine"
	}
	text := "emulating at " + strconv.FormatFloat(100*t.Factor, 'g', 3, 64) + "% of real time"
	if t.Fixed {
		return text + ", fixed"
	} else if t.Factor < t.Most {
		return text + ", as fast as the machine can"
	}
	return text
}

// Behind reports whether the machines are too late, and the clocks do not go slower for it.
func (t *Tempo) Behind() bool {
	return t.TooLate() && (t.Fixed || t.Factor <= settings.MinTimeFactor)
}

// TooLate reports whether the machines are so late that what waits may wait for them.
func (t *Tempo) TooLate() bool { return t.Late > tooLate }

// Bearable is the factor at which machines would be in time, by how late they are now.
func (t *Tempo) Bearable() float64 { return t.slower(t.Late) }

// slower is the factor to go with when packets are so late.
func (t *Tempo) slower(late float64) float64 {
	return max(settings.MinTimeFactor, t.Factor*min(3./4, max(1./4, aim/late)))
}

// next is the factor to go with, after a measurement of how late packets are.
func (t *Tempo) next(late float64) float64 {
	if t.settles {
		t.settles = false
		return t.Factor
	}
	if t.since++; t.lowest == 0 || late < t.lowest {
		t.lowest, t.since = late, 0
	}
	late = min(late, most)
	t.Late += weight * (late - t.Late)
	switch {
	case t.Fixed:
	case t.TooLate() && (late <= tooLate || t.since < falling):
		t.wait = 0
	case t.TooLate():
		if t.Factor < near*t.failed {
			t.patience = leastPatience
		}
		t.patience = min(2*t.patience, mostPatience)
		t.failed = t.Factor
		return t.slower(max(late, t.Late))
	case t.Late > inTime || t.Factor >= t.Most:
		t.wait = 0
	default:
		up := stepUp
		if t.Late < inTime/4 && (t.failed == 0 || t.Factor*2 < near*t.failed) {
			up = 2 // far from what it can
		}
		to := min(t.Factor*up, t.Most)
		if t.wait++; t.wait < leastPatience || to > near*t.failed && t.failed > 0 && t.wait < t.patience {
			break
		}
		if t.Factor >= t.failed { // that was right
			t.failed, t.patience = 0, leastPatience
		}
		return to
	}
	return t.Factor
}

// SetTimeFactor has all clocks of the fabric go so fast from now on, compared with those of its
// machines, and never faster; unless it is fixed they go slower while the machines are late.
type SetTimeFactor struct {
	Factor float64
	Fixed  bool
}

func (SetTimeFactor) event() {}

// Measured says how late packets come on the host that is latest; see [Tempo].
type Measured struct{ Late float64 }

func (Measured) event() {}

func (s *State) setTimeFactor(e SetTimeFactor) {
	t := &s.Tempo
	if t.Most != e.Factor || t.Fixed != e.Fixed {
		s.do(CheckpointSoon{})
	}
	t.Most, t.Fixed, t.failed, t.patience = e.Factor, e.Fixed, 0, leastPatience
	s.goAt(e.Factor)
}

func (s *State) measured(e Measured) { s.goAt(s.Tempo.next(e.Late)) }

// goAt has the clocks go with a factor from now on.
func (s *State) goAt(factor float64) {
	if factor == s.Tempo.Factor {
		return
	}
	s.Tempo.set(factor)
	s.do(CheckpointSoon{})
	s.order(func(o *orders) {
		for i := range s.Hosts {
			o.to(&s.Hosts[i]).TimeFactor = factor
		}
	})
	s.publish(Published{Kind: EventTimeFactor, Detail: strconv.FormatFloat(factor, 'g', 3, 64)})
}

// set has the clocks go with a factor.
func (t *Tempo) set(factor float64) {
	t.Late = min(t.Late, inTime) // what was measured before says nothing
	t.Factor, t.settles, t.wait, t.lowest, t.since = factor, true, 0, 0, 0
}

// tempoOf is what a leader before has left.
func tempoOf(t Tempo) Tempo {
	if t.Factor == 0 { // of a leader that knew of none
		t = Tempo{Factor: 1, Most: 1}
	}
	t.patience = leastPatience
	return t
}
