package fabric

import (
	"fmt"
	"strings"
)

// Summary describes v in one line, without the packet's name, and what else there is to know in
// indented lines.
func (v HopView) Summary() string {
	var b strings.Builder
	more := func(format string, args ...any) { fmt.Fprintf(&b, "\n    "+format, args...) }
	switch {
	case v.End == EndDelivered:
		fmt.Fprintf(&b, "%s has it, %s after it was generated", v.Node, micros(v.Age))
	case v.End == EndLost:
		b.WriteString(v.loss())
	case v.End == EndDiscarded && v.In < 0:
		fmt.Fprintf(&b, "%s discards it: %s", v.Node, v.Rule)
	case v.Egress && v.In < 0 && len(v.Why) == 0:
		fmt.Fprintf(&b, "%s sends it to %s", v.Node, v.To)
		if v.Waited >= 1 {
			fmt.Fprintf(&b, ", after %s in its send queue", micros(v.Waited))
		}
		if v.Bytes > 0 {
			more("it carries %s", v.payload())
		}
	case v.Egress:
		fmt.Fprintf(&b, "%s sends it on by p%d vc%d, %s after it decided: %s", v.Node, v.Out, v.OutVC, micros(v.Waited),
			strings.Join(v.Why, ", "))
	default:
		fmt.Fprintf(&b, "%-8s in p%d vc%d", v.Node, v.In, v.InVC)
		if v.Out < 0 {
			b.WriteString(", discards it")
		} else {
			fmt.Fprintf(&b, ", out p%d vc%d to %s", v.Out, v.OutVC, v.To)
		}
		fmt.Fprintf(&b, "  rule %s", v.Rule)
		if v.Rerouted {
			b.WriteString("  REROUTED")
		}
		v.because(more)
	}
	return b.String()
}

// payload is what the packet carries.
func (v HopView) payload() string {
	text := fmt.Sprintf("%d bytes", v.Bytes)
	if v.Carries != "" {
		text += ", " + v.Carries
	}
	return text
}

func (v HopView) loss() string {
	where := " in " + v.Node
	switch {
	case v.Link != "":
		where = fmt.Sprintf(" from %s to %s, on link %s", v.Node, v.To, v.Link)
	case v.In < 0:
		where = " at " + v.Node
	}
	text := v.Detail + where
	if v.Fault != "" {
		text += " (" + v.Fault + ")"
	}
	return text
}

// because names the reasons for a decision.
func (v HopView) because(more func(format string, args ...any)) {
	if len(v.Why) > 0 {
		more("waited %s: %s", micros(v.Waited), strings.Join(v.Why, ", "))
	}
	if len(v.Candidates) > 1 || len(v.Candidates) == 1 && v.Candidates[0].Down {
		list := make([]string, len(v.Candidates))
		for i, k := range v.Candidates {
			list[i] = k.String()
		}
		more("candidates %s", strings.Join(list, ", "))
	}
	for _, d := range v.Dead {
		why := d.Fault
		if why == "" {
			why = "no fault of ours"
		}
		more("dead: p%d, link %s (%s)", d.Port, d.Link, why)
	}
	if v.Before != v.After && v.Out >= 0 {
		more("header: %s, then %s", orNothing(v.Before), orNothing(v.After))
	}
}

// String prints a candidate: its class unless that is 0, and the room in its queue and at the
// neighbour.
func (k CandidateView) String() string {
	text := fmt.Sprintf("p%d vc%d", k.Port, k.VC)
	if k.To != "" {
		text += " to " + k.To
	}
	if k.Class > 0 {
		text += fmt.Sprintf(" class %d", k.Class)
	}
	text += fmt.Sprintf(" room %d+%d", k.Room, k.Credits)
	if k.Down {
		text += " down"
		if k.Fault != "" {
			text += " (" + k.Fault + ")"
		}
	}
	if k.Chosen {
		text += " chosen"
	}
	return text
}

func orNothing(fields string) string {
	if fields == "" {
		return "nothing"
	}
	return fields
}

// micros prints microseconds in the unit that suits them.
func micros(us float64) string {
	switch {
	case us < 1000:
		return fmt.Sprintf("%.0f us", us)
	case us < 1e6:
		return fmt.Sprintf("%.1f ms", us/1e3)
	}
	return fmt.Sprintf("%.2f s", us/1e6)
}
