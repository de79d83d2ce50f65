package leader

import "strconv"

// EventTimeFactor is the kind of the event that the clocks of a fabric go otherwise.
const EventTimeFactor = "time-factor"

// TimeFactor is how fast the clocks of a fabric go, compared with those of its machines.
type TimeFactor struct {
	Factor float64 `json:"factor"`
}

// String is "0.25".
func (t TimeFactor) String() string { return strconv.FormatFloat(t.Factor, 'g', 3, 64) }

// SetTimeFactor has all clocks go with a factor from now on.
type SetTimeFactor struct{ To TimeFactor }

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
	s.publish(Published{Kind: EventTimeFactor, Detail: e.To.String()})
}
