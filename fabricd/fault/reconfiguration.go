package fault

import (
	"fmt"
	"strings"
)

// Reconfiguration is how the subnet manager repaired the routes after a fault. Its times, in
// seconds, follow each other: detecting ends where computing begins, and so on; those until the
// tables are in force add up to InForceSeconds. InForceSeconds and SettledSeconds count from the
// fault.
type Reconfiguration struct {
	Version uint64 `json:"version"` // of the tables
	Method  string `json:"method"`

	// from the fault until nothing more was heard of it and computing began
	DetectSeconds  float64 `json:"detect_seconds"`
	ComputeSeconds float64 `json:"compute_seconds"` // until the new tables were known
	// from then on until the fabric was empty; 0 where it need not be
	DrainSeconds float64 `json:"drain_seconds"`
	// the tables were written down and uploaded, until the last acknowledgement
	DistributeSeconds float64 `json:"distribute_seconds"`
	InForceSeconds    float64 `json:"in_force_seconds"` // the last of the switches forwards by them
	SettledSeconds    float64 `json:"settled_seconds"`  // the packets that travelled by older tables are gone; 0: not yet

	// Of a manager of InfiniBand, as OpenSM, detecting ends when it begins to sweep, and computing
	// when it writes the first table. TrapSeconds and LastTableSeconds count from the fault; 0: no
	// trap was sent, or another manager.
	TrapSeconds      float64 `json:"trap_seconds,omitempty"`       // a switch sent the first trap
	LastTableSeconds float64 `json:"last_table_seconds,omitempty"` // the last table was written
	// Lost is what the fault cost in each of these phases, in their order: nil with another manager.
	Lost []PhaseLoss `json:"lost_by_phase,omitempty"`

	Switches int `json:"switches"` // that were told something new
	Entries  int `json:"entries"`  // table entries and addresses that changed

	FlowsTotal    int `json:"flows_total"`      // ordered pairs of different NICs
	FlowsRerouted int `json:"flows_rerouted"`   // of them, those with a new path
	Unroutable    int `json:"unroutable_pairs"` // of them, those without one
	Isolated      int `json:"isolated_pairs"`   // of these, those that no live links join
	// Without names the first of those without one by their switches, "s0.0 to s1.2", with method
	// direct.
	Without []string `json:"unroutable,omitempty"`

	Acyclic bool `json:"cdg_acyclic"` // the dependencies of old and new tables together have no cycle
	Static  bool `json:"static"`      // so the fabric was emptied first, or it was, because they have

	// NoSpare says which virtual channels it would have taken to leave the fabric running, or to
	// connect more pairs.
	NoSpare string `json:"no_spare,omitempty"`

	Error string `json:"error,omitempty"` // what did not come off
}

// PhaseLoss is what was lost and discarded from the end of the phase before until the end of this
// one; in the first, since the fault.
type PhaseLoss struct {
	Until   string `json:"until"`   // one of the Until constants
	Packets uint64 `json:"packets"` // looked at just after that moment
}

// Ends of the phases of a manager of InfiniBand, in their order.
const (
	UntilTrap    = "trap"        // a switch sent the first
	UntilSweep   = "sweep"       // it began
	UntilFirst   = "first table" // was written
	UntilLast    = "last table"  // was written
	UntilForce   = "in force"    // switches forward by all tables
	UntilSettled = "settled"     // packets that travelled by older tables are gone
)

// PhaseLosses are the losses of phases of which it is known how much was lost until the end of
// each.
func PhaseLosses(until map[string]uint64) (list []PhaseLoss) {
	var before uint64
	for _, phase := range []string{UntilTrap, UntilSweep, UntilFirst, UntilLast, UntilForce} {
		if n, ok := until[phase]; ok {
			list = append(list, PhaseLoss{phase, n - min(n, before)})
			before = max(before, n)
		}
	}
	return list
}

// Settle adds the last phase, at the end of which so much was lost since the fault.
func (c *Reconfiguration) Settle(lost uint64) {
	if len(c.Lost) == 0 {
		return
	}
	for _, l := range c.Lost {
		lost -= min(lost, l.Packets)
	}
	c.Lost = append(c.Lost, PhaseLoss{UntilSettled, lost})
}

// losses tells them.
func (c Reconfiguration) losses() string {
	var list []string
	for _, l := range c.Lost {
		list = append(list, fmt.Sprintf("%d until %s", l.Packets, l.Until))
	}
	return strings.Join(list, ", ")
}

// String tells it in one line: "new tables in force after 12.3 ms (detect 3.0, compute 2.1,
// distribute 7.2)".
func (c Reconfiguration) String() string {
	var b strings.Builder
	if c.InForceSeconds > 0 {
		fmt.Fprintf(&b, "new tables in force after %.1f ms (%s)", ms(c.InForceSeconds), c.phases())
	} else {
		b.WriteString("no new tables")
	}
	if c.Static {
		b.WriteString(", the fabric emptied meanwhile")
	}
	if c.Unroutable > 0 {
		fmt.Fprintf(&b, ", %d of %d pairs without a path", c.Unroutable, c.FlowsTotal)
		switch {
		case c.Isolated == c.Unroutable:
			b.WriteString(", joined by no live links")
		case c.Isolated > 0:
			fmt.Fprintf(&b, ", of which no live links join %d", c.Isolated)
		}
		if len(c.Without) > 0 {
			fmt.Fprintf(&b, ", as %s", c.Without[0])
		}
	}
	if c.NoSpare != "" {
		b.WriteString(" (" + c.NoSpare + ")")
	}
	if c.Error != "" {
		b.WriteString(": " + c.Error)
	}
	return b.String()
}

// phases are the times that make up InForceSeconds, but for those that there was nothing to wait
// for.
func (c Reconfiguration) phases() string {
	var b strings.Builder
	if c.LastTableSeconds > 0 {
		if c.TrapSeconds > 0 {
			fmt.Fprintf(&b, "trap sent after %.1f, ", ms(c.TrapSeconds))
		}
		fmt.Fprintf(&b, "sweep begun after %.1f, first table written after %.1f, last after %.1f",
			ms(c.DetectSeconds), ms(c.DetectSeconds+c.ComputeSeconds), ms(c.LastTableSeconds))
		return b.String()
	}
	if c.DetectSeconds > 0 { // 0: not for a fault, links came back
		fmt.Fprintf(&b, "detect %.1f, ", ms(c.DetectSeconds))
	}
	fmt.Fprintf(&b, "compute %.1f, ", ms(c.ComputeSeconds))
	if c.DrainSeconds > 0 {
		fmt.Fprintf(&b, "drain %.1f, ", ms(c.DrainSeconds))
	}
	fmt.Fprintf(&b, "distribute %.1f", ms(c.DistributeSeconds))
	return b.String()
}

// settled tells when the packets of older tables were gone.
func (c Reconfiguration) settled() string {
	if c.SettledSeconds == 0 {
		return ""
	}
	return fmt.Sprintf(", settled after %.1f ms", ms(c.SettledSeconds))
}

// ms is seconds in milliseconds, as people read them.
func ms(seconds float64) float64 { return 1000 * seconds }
