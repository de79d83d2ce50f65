package leader

import "strconv"

// EventTimeFactor is the kind of the event that the clocks of a fabric go otherwise.
const EventTimeFactor = "time-factor"

// TimeFactor is how fast the clocks of a fabric go, compared with those of its machines.
type TimeFactor struct {
	Factor float64 `json:"factor"`
	Fixed  bool    `json:"fixed,omitempty"` // somebody has chosen it: it does not change by itself
}

// String is "0.25", or "0.25, fixed".
func (t TimeFactor) String() string {
	text := strconv.FormatFloat(t.Factor, 'g', 3, 64)
	if t.Fixed {
		text += ", fixed"
	}
	return text
}

// SetTimeFactor has all clocks go with a factor from now on.
type SetTimeFactor struct {
	To  TimeFactor
	Why string // for the event
}

func (SetTimeFactor) event() {}

func (s *State) setTimeFactor(e SetTimeFactor) {
	if e.To == s.TimeFactor {
		return
	}
	s.TimeFactor = e.To
	s.do(CheckpointSoon{})
	s.order(func(o *orders) {
		for i := range s.Hosts {
			o.to(&s.Hosts[i]).TimeFactor = e.To.Factor
		}
	})
	detail := e.To.String()
	if e.Why != "" {
		detail += ": " + e.Why
	}
	s.publish(Published{Kind: EventTimeFactor, Detail: detail})
}
