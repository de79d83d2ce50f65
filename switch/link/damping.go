package link

import (
	"fmt"
	"math"

	"github.com/weft-fabric/weft"
)

// Damping of a flapping link. A penalty grows by 1 with each loss and halves every HalfLife.
type Damping struct {
	HalfLife weft.Time
	Suppress float64 // a loss that lifts the penalty above it holds the link down
	Reuse    float64 // ... until the penalty has fallen to it

	// Max is the longest suppression, counted from the loss that began it, whatever is reported
	// meanwhile. As in the event damping of routers it acts as a ceiling: the penalty is cut to
	// what falls to Reuse by then. Routers put that ceiling at Reuse * 2^(Max/HalfLife) at all
	// times, so that further flaps prolong a suppression for ever and a short Max turns damping
	// off; here it goes down as the suppression lasts, and it binds nothing before.
	Max weft.Time
}

// validate is written so that NaN fails each comparison.
func (d Damping) validate() (errs []error) {
	if d == (Damping{}) {
		return nil
	}
	if !(d.HalfLife >= minHalfLife && d.HalfLife <= MaxHalfLife) {
		errs = append(errs, fmt.Errorf("damping half-life is %v: set %v to %v, or leave all of damping out",
			d.HalfLife, minHalfLife, MaxHalfLife))
	}
	if !(d.Suppress > 0 && d.Suppress <= MaxSuppress) {
		errs = append(errs, fmt.Errorf("damping suppresses above %v losses: set more than 0 and at most %v",
			d.Suppress, MaxSuppress))
	}
	switch {
	case !(d.Reuse >= MinReuse):
		errs = append(errs, fmt.Errorf("damping reuses the link at a penalty of %v: set at least %v", d.Reuse, MinReuse))
	case !(d.Reuse < d.Suppress):
		errs = append(errs, fmt.Errorf(
			"damping reuses the link at a penalty of %v but suppresses it above %v: set reuse below suppress",
			d.Reuse, d.Suppress))
	}
	if !(d.Max > 0 && d.Max <= MaxSuppressed) {
		errs = append(errs, fmt.Errorf("longest suppression by damping is %v: set more than 0s and at most %v",
			d.Max, MaxSuppressed))
	}
	return errs
}

// damper is the damping of one link and its state.
type damper struct {
	Damping
	penalty   float64   // at penaltyAt
	penaltyAt weft.Time // the last loss
	limit     weft.Time // suppression never goes beyond it: the loss that began it, plus Max
}

// lost tells that the link left the up state, for whatever reason: signal went, the neighbour is
// silent or has started anew. It counts for damping; nothing is expected until up.
func (s *detector) lost(now weft.Time) {
	s.forget()
	d := s.damper
	if d == nil {
		return
	}
	d.penalty, d.penaltyAt = d.penaltyOf(now)+1, now
	if !s.suppressed() {
		if d.penalty <= d.Suppress {
			return
		}
		d.limit = now + d.Max
	}
	halfLife := float64(d.HalfLife)
	d.penalty = min(d.penalty, d.Reuse*math.Exp2(float64(max(0, d.limit-now))/halfLife))
	// To the nanosecond: the last bits of a logarithm differ between processors, and events must
	// not.
	falls := math.Round(halfLife * math.Log2(d.penalty/d.Reuse) / float64(weft.Nanosecond))
	s.release = min(d.limit, now+weft.Time(falls)*weft.Nanosecond)
}

// suppressed reports whether damping holds the link down. It lasts until tick says released.
func (s *detector) suppressed() bool { return s.release != weft.Never }

// penaltyOf the link at now, in losses: what damping compares with Suppress and Reuse.
func (d *damper) penaltyOf(now weft.Time) float64 {
	if d.penalty == 0 {
		return 0
	}
	return d.penalty * math.Exp2(-float64(now-d.penaltyAt)/float64(d.HalfLife))
}
