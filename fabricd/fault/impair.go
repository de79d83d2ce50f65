package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/document"
)

// Impair is what to change about how a link carries packets. Nil leaves a figure as it is, zero
// makes it perfect again.
type Impair struct {
	Loss   *Percent  `json:"loss,omitempty" yaml:"loss,omitempty" jsonschema_description:"Share of frames lost, with the packets in them; drawn for each frame, as 10%."`
	Delay  *Duration `json:"delay,omitempty" yaml:"delay,omitempty" jsonschema_description:"Time added to the link's own delay, as 5ms."`
	Jitter *Duration `json:"jitter,omitempty" yaml:"jitter,omitempty" jsonschema_description:"The added delay differs by up to this either way, as 1ms; at most the delay."`
	Rate   *Rate     `json:"rate,omitempty" yaml:"rate,omitempty" jsonschema_description:"Most that the link carries, as 100kB/s, 8Mbit/s or unlimited."`
}

// Impairment is what one direction of a link suffers. The zero value is nothing.
type Impairment struct {
	Loss   Percent       // 0 to 100
	Delay  time.Duration // added to the link's own
	Jitter time.Duration // Delay differs by up to this either way
	Rate   float64       // bytes per second, 0 for unlimited
}

// Merge returns i with the figures that change names; the others stay.
func (i Impairment) Merge(change Impair) Impairment {
	if change.Loss != nil {
		i.Loss = *change.Loss
	}
	if change.Delay != nil {
		i.Delay = time.Duration(*change.Delay)
	}
	if change.Jitter != nil {
		i.Jitter = time.Duration(*change.Jitter)
	}
	if change.Rate != nil {
		i.Rate = float64(*change.Rate)
	}
	return i
}

// IsZero reports whether nothing is suffered.
func (i Impairment) IsZero() bool { return i == Impairment{} }

// Validate reports every figure that is out of range or contradicts another. What two valid changes
// merge to need not be valid: the second can take away the delay that the jitter of the first
// needs.
func (i Impairment) Validate() error {
	delay, jitter, rate := Duration(i.Delay), Duration(i.Jitter), Rate(i.Rate)
	return Impair{Loss: &i.Loss, Delay: &delay, Jitter: &jitter, Rate: &rate}.Validate()
}

// String prints i as in "loss 10%, delay 5ms ± 1ms, rate 100 kB/s".
func (i Impairment) String() string {
	var c Impair
	if i.Loss != 0 {
		c.Loss = &i.Loss
	}
	if i.Delay != 0 {
		c.Delay = new(Duration(i.Delay))
	}
	if i.Jitter != 0 {
		c.Jitter = new(Duration(i.Jitter))
	}
	if i.Rate != 0 {
		c.Rate = new(Rate(i.Rate))
	}
	return c.String()
}

// Validate reports every figure that is out of range or contradicts another, and an impairment of
// nothing.
func (c Impair) Validate() error {
	if c == (Impair{}) {
		return errors.New("impair without a figure: say what is to suffer, such as loss 10% or delay 5ms")
	}
	var errs document.Errors
	if c.Loss != nil {
		errs.Add(c.Loss.check("loss"))
	}
	if c.Delay != nil {
		errs.Add(c.Delay.check("delay"))
	}
	if c.Jitter != nil {
		errs.Add(c.Jitter.check("jitter"))
	}
	if c.Delay != nil && c.Jitter != nil && *c.Jitter > *c.Delay {
		errs.Add(fmt.Errorf("jitter %v is more than the delay of %v: packets would arrive before they are sent", *c.Jitter,
			*c.Delay))
	}
	if c.Rate != nil {
		errs.Add(c.Rate.check())
	}
	return errs.Err()
}

// String prints c as in "loss 10%, delay 5ms ± 1ms, rate 100 kB/s".
func (c Impair) String() string {
	var parts []string
	if c.Loss != nil {
		parts = append(parts, "loss "+c.Loss.String())
	}
	switch {
	case c.Delay != nil && c.Jitter != nil && *c.Jitter != 0:
		parts = append(parts, fmt.Sprintf("delay %v ± %v", *c.Delay, *c.Jitter))
	case c.Delay != nil:
		parts = append(parts, fmt.Sprintf("delay %v", *c.Delay))
	case c.Jitter != nil:
		parts = append(parts, fmt.Sprintf("jitter %v", *c.Jitter))
	}
	if c.Rate != nil {
		parts = append(parts, "rate "+c.Rate.String())
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
