package scenario

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
)

func (p *parser) expect(e format.Expect, s *Scenario) {
	for _, x := range []struct {
		field string
		text  format.Duration
		to    *time.Duration
	}{
		{"detected_within", e.DetectedWithin, &s.detectedWithin},
		{"made_good_within", e.MadeGoodWithin, &s.madeGoodWithin},
		{"lost_within", e.LostWithin, &s.lostWithin},
	} {
		d := read[fault.Duration](p, "$.expect."+x.field, string(x.text))
		p.fail("$.expect."+x.field, above(d, x.field))
		if d != nil {
			*x.to = time.Duration(*d)
		}
	}
	p.within("$.expect.hops_at_most", e.HopsAtMost, weft.MaxHops)
	if e.LostAtMost != nil && *e.LostAtMost < e.LostAtLeast {
		p.fail("$.expect.lost_at_least",
			fmt.Errorf("%d is more than lost_at_most, %d: no run can hold both", e.LostAtLeast, *e.LostAtMost))
	}
	if e.RequeuedAtLeast > 0 && !s.Options.Switch.Requeue {
		p.fail("$.expect.requeued_at_least", fmt.Errorf("nothing is requeued: set switch.requeue"))
	}
	if s.detectedWithin > 0 && s.Options.Liveness.Interval.Off() {
		p.fail("$.expect.detected_within", fmt.Errorf("liveness is off: nobody can detect a silent cut"))
	}
}
