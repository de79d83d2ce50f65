package leader

import (
	"maps"
	"slices"

	"github.com/weft-fabric/weft"
)

// Outcomes of a round of the subnet manager.
const (
	OutcomeRunning    = "running"    // new tables in all switches, while packets travelled
	OutcomeStatic     = "static"     // likewise, in an empty fabric
	OutcomeIncomplete = "incomplete" // not every switch has acknowledged, or something else was not as it should be
	OutcomeFailed     = "failed"     // no new tables
)

// Outcomes are all of them.
var Outcomes = []string{OutcomeRunning, OutcomeStatic, OutcomeIncomplete, OutcomeFailed}

// Phases of a round, as in a fault.Reconfiguration.
const (
	PhaseDetect     = "detect" // of rounds that a fault began
	PhaseCompute    = "compute"
	PhaseDrain      = "drain" // of rounds for which the fabric was emptied
	PhaseDistribute = "distribute"
	PhaseSettle     = "settle" // from new tables in force until the packets of older ones were gone, of such rounds
)

// PhaseBounds are the upper bounds in seconds by which the lengths of phases are counted.
var PhaseBounds = []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10}

// PhaseCount is how long a phase took, in all rounds since the start.
type PhaseCount struct {
	Count   uint64
	Seconds float64  // all together
	Within  []uint64 // how many took no longer than each of PhaseBounds
}

// RoundCounts counts what subnet managers have done since the start, by the words above.
type RoundCounts struct {
	Outcomes map[string]uint64
	Phases   map[string]PhaseCount
}

// Clone is a copy that shares nothing with c.
func (c RoundCounts) Clone() RoundCounts {
	copied := RoundCounts{Outcomes: maps.Clone(c.Outcomes), Phases: maps.Clone(c.Phases)}
	for phase, n := range c.Phases {
		n.Within = slices.Clone(n.Within)
		copied.Phases[phase] = n
	}
	return copied
}

// outcome is what became of a round.
func (r Round) outcome() string {
	switch {
	case r.InForce == 0:
		return OutcomeFailed
	case r.Error != "":
		return OutcomeIncomplete
	case r.Static:
		return OutcomeStatic
	}
	return OutcomeRunning
}

// count notes a round; from is the fault that began it, Never when none did.
func (c *RoundCounts) count(r Round, from weft.Time) {
	if c.Outcomes == nil {
		c.Outcomes = map[string]uint64{}
	}
	c.Outcomes[r.outcome()]++
	if from != weft.Never {
		c.took(PhaseDetect, r.Began-from)
	}
	c.took(PhaseCompute, r.Computed-r.Began)
	if r.InForce > 0 {
		if r.Static {
			c.took(PhaseDrain, r.Drain)
		}
		c.took(PhaseDistribute, r.distribute())
	}
}

func (c *RoundCounts) took(phase string, d weft.Time) {
	if c.Phases == nil {
		c.Phases = map[string]PhaseCount{}
	}
	n := c.Phases[phase]
	if n.Within == nil {
		n.Within = make([]uint64, len(PhaseBounds))
	}
	seconds := max(0, d).Duration().Seconds()
	n.Count++
	n.Seconds += seconds
	for i, bound := range PhaseBounds {
		if seconds <= bound {
			n.Within[i]++
		}
	}
	c.Phases[phase] = n
}
