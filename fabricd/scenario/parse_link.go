package scenario

import (
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// requeue checks that the firmware bears it at every switch.
func (p *parser) requeue(o *fabric.Options) {
	const path = "$.switch.requeue"
	if !o.Switch.Requeue || o.Firmware == nil || o.Topology == nil {
		return
	}
	r, ok := o.Firmware.(switching.Requeuer)
	if !ok {
		p.fail(path, fmt.Errorf("the firmware does not say that packets may be routed a second time without deadlock: run it without requeue"))
		return
	}
	for _, s := range o.Topology.Switches {
		if err := r.CheckRequeue(o.Topology.Place(s.ID)); err != nil {
			p.fail(path, err)
			return
		}
	}
}

func (p *parser) liveness(f *format.Liveness, o *fabric.LinkOptions) {
	if f == nil {
		return
	}
	c := link.Liveness{Multiplier: f.Multiplier}
	off := f.Interval == "off" || f.Interval == "0"
	if !off {
		if d := read[fault.Duration](p, "$.liveness.interval", string(f.Interval)); d != nil {
			c.Interval, off = weft.FromDuration(time.Duration(*d)), *d == 0
		}
	}
	if f.Damping != nil {
		c.Damping = p.damping(*f.Damping)
	}
	if o.NoLiveness = off; off {
		if f.Multiplier != 0 {
			p.fail("$.liveness.multiplier", fmt.Errorf("the interval is off: leave the multiplier out, or give an interval such as 50ms"))
		}
		if f.Damping != nil {
			p.fail("$.liveness.damping", fmt.Errorf("the interval is off: leave damping out, or give an interval such as 50ms"))
		}
		return
	}
	o.Liveness = c
	if c.Interval == 0 {
		c.Interval = fabric.DefaultInterval
	}
	if c.Multiplier == 0 {
		c.Multiplier = fabric.DefaultMultiplier
	}
	if err := c.Validate(); err != nil && p.errs.Len() == 0 {
		p.each("$.liveness", err)
	}
}

func (p *parser) damping(f format.Damping) (d link.Damping) {
	d.Suppress, d.Reuse = f.Suppress, f.Reuse
	if v := read[fault.Duration](p, "$.liveness.damping.half_life", string(f.HalfLife)); v != nil {
		d.HalfLife = weft.FromDuration(time.Duration(*v))
	}
	if v := read[fault.Duration](p, "$.liveness.damping.max", string(f.Max)); v != nil {
		d.Max = weft.FromDuration(time.Duration(*v))
	}
	if d == (link.Damping{}) {
		p.fail("$.liveness.damping", fmt.Errorf("all of damping is 0: leave it out for none"))
	}
	return d
}

func (p *parser) expect(e format.Expect, s *Scenario) {
	for _, x := range []struct {
		field string
		text  format.Duration
		to    *time.Duration
	}{
		{"detected_within", e.DetectedWithin, &s.detectedWithin},
		{"made_good_within", e.MadeGoodWithin, &s.madeGoodWithin},
	} {
		d := read[fault.Duration](p, "$.expect."+x.field, string(x.text))
		p.fail("$.expect."+x.field, above(d, x.field))
		if d != nil {
			*x.to = time.Duration(*d)
		}
	}
	p.within("$.expect.hops_at_most", e.HopsAtMost, weft.MaxHops)
	if e.LostAtMost != nil && *e.LostAtMost < e.LostAtLeast {
		p.fail("$.expect.lost_at_least", fmt.Errorf("%d is more than lost_at_most, %d: no run can hold both", e.LostAtLeast, *e.LostAtMost))
	}
	if e.RequeuedAtLeast > 0 && !s.Options.Switch.Requeue {
		p.fail("$.expect.requeued_at_least", fmt.Errorf("nothing is requeued: set switch.requeue"))
	}
	if s.detectedWithin > 0 && s.Options.Link.NoLiveness {
		p.fail("$.expect.detected_within", fmt.Errorf("liveness is off: nobody can detect a silent cut"))
	}
}
