package leader

import "strconv"

// EventTimeFactor is the kind of the event that the clocks of a fabric go otherwise.
const EventTimeFactor = "time_factor"

// SetTimeFactor has all clocks of the fabric go so fast from now on, compared with those of its
// machines.
type SetTimeFactor struct{ Factor float64 }

func (SetTimeFactor) event() {}

func (s *State) setTimeFactor(factor float64) {
	if factor == s.TimeFactor {
		return
	}
	s.TimeFactor = factor
	s.do(CheckpointSoon{})
	s.order(func(o *orders) {
		for i := range s.Hosts {
			o.to(&s.Hosts[i]).TimeFactor = factor
		}
	})
	s.publish(Published{Kind: EventTimeFactor, Detail: strconv.FormatFloat(factor, 'g', 3, 64)})
}
