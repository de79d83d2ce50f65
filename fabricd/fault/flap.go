package fault

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/weft-fabric/weft/fabricd/document"
)

// MinPeriod is the shortest period of a flap. Chosen by us: live ends are told of each edge, and
// one takes them some microseconds.
const MinPeriod = time.Millisecond

// MaxCount is the most periods of a flap. Chosen by us.
const MaxCount = 1_000_000_000

// DefaultDuty is the share of a period that a flapping link is down, unless given.
const DefaultDuty Percent = 50

// Flap is how a link goes down and up: down at the start of every period, up for the rest of it.
type Flap struct {
	Period Duration `json:"period" yaml:"period" jsonschema_description:"From one cut to the next, as 1s; at least 1ms."`
	Duty   *Percent `json:"duty,omitempty" yaml:"duty,omitempty" jsonschema_description:"Share of a period that the link is down, as 30%; 50% unless given."`
	Jitter Duration `json:"jitter,omitempty" yaml:"jitter,omitempty" jsonschema_description:"Every edge comes late by up to this, drawn evenly; shorter than the link is ever down or up."`
	Count  int      `json:"count,omitempty" yaml:"count,omitempty" jsonschema:"minimum=0" jsonschema_description:"Periods, after which the link stays up; until repaired unless given."`
}

// Edge is one change of a flapping link.
type Edge struct {
	At   time.Duration // since the flap began
	Down bool
}

// down is how long the link is down in each period before jitter.
func (f Flap) down() time.Duration {
	duty := DefaultDuty
	if f.Duty != nil {
		duty = *f.Duty
	}
	return time.Duration(math.Round(float64(f.Period) * duty.Share()))
}

// Validate reports every parameter that is out of range or contradicts another.
func (f Flap) Validate() error {
	var errs document.Errors
	switch period := time.Duration(f.Period); {
	case period == 0:
		errs.Add(errors.New("flap without a period: say how often, such as period 1s"))
	case period < MinPeriod || period > MaxDuration:
		errs.Add(fmt.Errorf("flap with period %v: expected %v to %v", period, MinPeriod, MaxDuration))
	}
	if f.Duty != nil {
		if err := f.Duty.check("duty"); err != nil {
			errs.Add(err)
		} else if *f.Duty == 0 || *f.Duty == 100 {
			errs.Add(fmt.Errorf("duty %v: the link would never change, expected a share between 0%% and 100%%", *f.Duty))
		}
	}
	errs.Add(f.Jitter.check("flap with jitter"))
	if f.Count < 0 || f.Count > MaxCount {
		errs.Add(fmt.Errorf("flap with count %d: expected a number of periods, at most %d, or 0 for until repaired", f.Count,
			MaxCount))
	}
	if errs.Len() > 0 {
		return errs.Err()
	}
	down := f.down()
	up := time.Duration(f.Period) - down
	if room := min(down, up); time.Duration(f.Jitter) >= room {
		return fmt.Errorf("flap with jitter %v: the link is down for %v and up for %v of a period, expected less than the "+
			"shorter",
			f.Jitter, down, up)
	}
	return nil
}

// Changes are the changes of the link in order, each later than the one before, one for each call
// of next until there are no more; the first is a cut and the last, when the flap has a count, a
// repair. Each draw is 64 even random bits; without jitter none is taken. A flap that
// [Flap.Validate] refuses has none.
func (f Flap) Changes(draw func() uint64) (next func() (Edge, bool)) {
	if f.Validate() != nil {
		return func() (Edge, bool) { return Edge{}, false }
	}
	late := func() time.Duration {
		if f.Jitter == 0 {
			return 0
		}
		n, _ := bits.Mul64(draw(), uint64(f.Jitter)+1) // 0 to Jitter, as even as 64 bits allow
		return time.Duration(n)
	}
	period, down := time.Duration(f.Period), f.down()
	i, start, up := 0, time.Duration(0), false // up: the next one is the repair of period i
	return func() (Edge, bool) {
		if up {
			e := Edge{At: start + down + late()}
			i, start, up = i+1, start+period, false
			return e, true
		}
		if f.Count != 0 && i == f.Count || start > math.MaxInt64-2*period { // after 292 years
			return Edge{}, false
		}
		up = true
		return Edge{At: start + late(), Down: true}, true
	}
}

// String prints f as in "period 1s, down 30% of it, jitter 50ms, 5 times".
func (f Flap) String() string {
	duty := DefaultDuty
	if f.Duty != nil {
		duty = *f.Duty
	}
	s := fmt.Sprintf("period %v, down %v of it", f.Period, duty)
	if f.Jitter != 0 {
		s += fmt.Sprintf(", jitter %v", f.Jitter)
	}
	switch f.Count {
	case 0:
	case 1:
		s += ", once"
	default:
		s += fmt.Sprintf(", %d times", f.Count)
	}
	return s
}
