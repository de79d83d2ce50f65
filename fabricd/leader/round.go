package leader

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// EventReconfigured is the kind of the event that a subnet manager has brought new tables into
// force.
const EventReconfigured = "reconfigured"

// Round is a subnet manager's account of tables that it has brought into force, with the times of
// its phases on the fabric's clock.
type Round struct {
	fault.Reconfiguration               // but for its times
	Died                  []weft.LinkID `json:"died"`     // links that were alive when the tables before were computed
	Began                 weft.Time     `json:"began"`    // computing
	Computed              weft.Time     `json:"computed"` // and was done
	// of the time after that, so long was waited for the fabric to be empty
	Drain   weft.Time `json:"drain"`
	InForce weft.Time `json:"in_force"` // the last switch had acknowledged; 0: it came to nothing

	// Of a manager of InfiniBand alone, else 0: when a switch sent it the first trap, and when it had
	// written the last table. It began with a sweep, and had computed when it wrote the first.
	Trap      weft.Time `json:"trap,omitempty"`
	LastTable weft.Time `json:"last_table,omitempty"`
	// Until is what each fault had cost, by its number, at the end of each of these phases.
	Until map[string]map[int]uint64 `json:"until,omitempty"`
}

// since is the report of the round with times relative to a fault at that moment.
func (r Round) since(at weft.Time) fault.Reconfiguration {
	c := r.Reconfiguration
	c.DetectSeconds, c.ComputeSeconds = seconds(max(0, r.Began-at)), seconds(r.Computed-r.Began)
	if r.Trap > 0 {
		c.TrapSeconds = seconds(max(0, r.Trap-at))
	}
	if r.LastTable > 0 {
		c.LastTableSeconds = seconds(r.LastTable - at)
	}
	if r.InForce > 0 {
		c.DrainSeconds, c.DistributeSeconds, c.InForceSeconds = seconds(r.Drain), seconds(r.distribute()),
			seconds(r.InForce-at)
	}
	return c
}

// distribute is how long uploading took, with writing down the job.
func (r Round) distribute() weft.Time { return max(0, r.InForce-r.Computed-r.Drain) }

// managed writes into the reports of the faults that made links die how the routes were repaired,
// and publishes it with times since the first of these faults.
func (s *State) managed(r Round) {
	p := Published{Kind: EventReconfigured}
	repair, from := r.since(r.Began), weft.Never
	for _, n := range slices.Backward(s.Incidents) {
		old := n.Report.Reconfiguration
		if !n.caused(r) || old != nil && (old.Error == "" || old.Version > r.Version) {
			continue
		}
		repair, from = r.since(n.Began), n.Began
		repair.Lost = r.lost(n.Report.ID)
		n.Report.Reconfiguration = new(repair)
		p.Fault = new(n.Report.Clone())
	}
	s.Rounds.count(r, from)
	p.Detail = repair.String()
	s.publish(p)
	s.do(Reconfigured{repair})
}

// lost is what a fault cost in each phase.
func (r Round) lost(id int) []fault.PhaseLoss {
	until := map[string]uint64{}
	for phase, costs := range r.Until {
		if n, ok := costs[id]; ok {
			until[phase] = n
		}
	}
	return fault.PhaseLosses(until)
}

// Costs is what each fault that is still counted has cost so far, by its number.
func (s *State) Costs() map[int]uint64 {
	costs := make(map[int]uint64, len(s.open))
	for _, n := range s.open {
		costs[n.Report.ID] = s.cost(n)
	}
	return costs
}

// cost is how many packets were lost and discarded because of a fault.
func (s *State) cost(n *Incident) uint64 {
	in, _ := s.Ledger.Incident(n.Report.ID)
	return in.Lost.Sum() + in.Counted.Switches.Discarded + in.Counted.NICs.Wrong
}

// caused reports whether the manager acted on the fault.
func (n *Incident) caused(r Round) bool {
	return n.Began <= r.Began && slices.ContainsFunc(n.Links,
		func(id weft.LinkID) bool { return slices.Contains(r.Died, id) })
}

// settled notes in the reports of faults that the packets of tables before a version are gone.
func (s *State) settled(version uint64) {
	took := weft.Never
	for _, n := range s.Incidents {
		if c := n.Report.Reconfiguration; c != nil && c.Version == version && c.SettledSeconds == 0 {
			c.SettledSeconds = seconds(s.now - n.Began)
			c.Settle(s.cost(n))
			took = s.now - n.Began - weft.Time(c.InForceSeconds*float64(weft.Second))
		}
	}
	if took != weft.Never {
		s.Rounds.took(PhaseSettle, took)
	}
}
