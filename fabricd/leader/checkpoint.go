package leader

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// FaultCheckpoint is a fault in force.
type FaultCheckpoint struct {
	Spec     fault.Spec          `json:"spec"`
	Incident int                 `json:"report"` // its number
	Link     string              `json:"link,omitempty"`
	Switch   string              `json:"switch,omitempty"`
	Cuts     [2]bool             `json:"cuts"`    // the directions that it cuts
	Impair   [2]bool             `json:"impair"`  // that it impairs
	Suffer   [2]fault.Impairment `json:"suffer"`  // all that these suffer
	FlapUp   bool                `json:"resting"` // of a flap: the link is up for now
}

// IncidentCheckpoint is a report with what it takes to go on with it.
type IncidentCheckpoint struct {
	Report              fault.Report `json:"report"`
	Began               weft.Time    `json:"began"`
	Closes              weft.Time    `json:"closes"`
	DegradationMeasured bool         `json:"dipped,omitempty"`
	DetectedByAll       bool         `json:"seen,omitempty"`
	FirstGeneration     uint16       `json:"first_era"`
	// but for those of a host, whose name is the report's target
	Links  []weft.LinkID `json:"links,omitempty"`
	Switch string        `json:"switch,omitempty"`
}

// maxEnds bounds the ends that a report of a checkpoint names. Chosen by us.
const maxEnds = 32

// Faults are the faults in force, for the next leader.
func (s *State) Faults() (list []FaultCheckpoint) {
	taken := map[int]bool{0: true}
	for i := range s.Links {
		l := &s.Links[i]
		for d := range both {
			for _, id := range []int{l.Cut[d], l.Impaired[d]} {
				if !taken[id] {
					taken[id] = true
					list = append(list, s.faultCheckpoint(s.faults[id]))
				}
			}
		}
	}
	for _, id := range s.Crashed {
		if id != 0 {
			list = append(list, s.faultCheckpoint(s.faults[id]))
		}
	}
	return list
}

func (s *State) faultCheckpoint(f *Fault) FaultCheckpoint {
	k := FaultCheckpoint{Spec: f.Spec, Incident: f.ID, FlapUp: f.FlapUp}
	if f.Crash {
		k.Switch = s.cfg.Graph.Switches[f.Switch].Name
		return k
	}
	k.Link = s.link(f.Link).Name
	l := &s.Links[f.Link]
	for d := range both {
		k.Cuts[d] = l.Cut[d] == f.ID
		if k.Impair[d] = l.Impaired[d] == f.ID; k.Impair[d] {
			k.Suffer[d] = l.Suffers[d]
		}
	}
	return k
}

// IncidentCheckpoints are the incidents of these numbers, which ascend: those in the ledger's
// checkpoint. That has the cost of all others as a sum.
func (s *State) IncidentCheckpoints(ids []int) (list []IncidentCheckpoint) {
	for _, n := range s.Incidents {
		if _, found := slices.BinarySearch(ids, n.Report.ID); found {
			list = append(list, s.incidentCheckpoint(n))
		}
	}
	return list
}

func (s *State) incidentCheckpoint(n *Incident) IncidentCheckpoint {
	k := IncidentCheckpoint{
		Report: n.Report.Clone(), Began: n.Began, Closes: n.Closes,
		DegradationMeasured: n.Measured, DetectedByAll: n.Seen, FirstGeneration: n.First,
	}
	k.Report.Detected = k.Report.Detected[:min(len(k.Report.Detected), maxEnds)]
	if n.Report.Kind != fault.KindHost {
		k.Links = n.Links
	}
	if n.HasSwitch {
		k.Switch = s.cfg.Graph.Switches[n.Switch].Name
	}
	return k
}

// Restored is what the leader before has left.
type Restored struct {
	Generation uint16
	Rounds     RoundCounts
	Incidents  []IncidentCheckpoint
	Faults     []FaultCheckpoint
	Absent     map[ledger.HostID]int // the incident of the absence of each host that had one
	Running    []ledger.HostID       // hosts of switches alone that run them
	Moves      []Move
	HeldUntil  weft.Time
	Traffic    Traffic
	Tempo      Tempo
}

// Restore puts the state into what the leader before has left. Faults change and end by themselves
// from [Resume] on.
func (s *State) Restore(r Restored) error {
	s.Generation, s.Rounds, s.HeldUntil, s.Traffic = r.Generation, r.Rounds, r.HeldUntil, r.Traffic
	s.Tempo = tempoOf(r.Tempo)
	for _, k := range r.Incidents {
		if err := s.restoreIncident(k); err != nil {
			return fmt.Errorf("report %d: %w", k.Report.ID, err)
		}
	}
	for _, id := range r.Running {
		s.Host(id).Runs = true
	}
	if err := s.restoreMoves(r.Moves); err != nil {
		return err
	}
	for i := range s.Hosts {
		if n := s.Incident(r.Absent[s.Hosts[i].ID]); n != nil {
			s.Hosts[i].Incident = n.Report.ID
		}
	}
	for _, k := range r.Faults {
		if err := s.restoreFault(k); err != nil {
			return fmt.Errorf("fault %s: %w", k.Spec, err)
		}
	}
	return nil
}

// restoreIncident goes on with an incident of the leader before.
func (s *State) restoreIncident(k IncidentCheckpoint) error {
	n := &Incident{
		Report: k.Report, Began: k.Began, Closes: k.Closes, Measured: true, Seen: k.DetectedByAll,
		First: k.FirstGeneration,
	}
	if !k.DegradationMeasured {
		n.Report.Degradation = fault.Degradation{} // of a throughput that nobody sampled while there was no leader
	}
	if i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == k.Report.Target }); i >= 0 &&
		k.Report.Kind == fault.KindHost {
		n.Links = s.Hosts[i].links()
	}
	for _, id := range k.Links {
		if int(id) >= len(s.Links) {
			return fmt.Errorf("link %d: there are %d", id, len(s.Links))
		}
		n.Links = append(n.Links, id)
	}
	if k.Switch != "" && k.Report.Open {
		id, err := s.cfg.Graph.SwitchByName(k.Switch)
		if err != nil {
			return err
		}
		n.Switch, n.HasSwitch = id, true
	}
	s.Incidents = append(s.Incidents, n)
	// Who has found out is in the report, and nobody else is waited for.
	d := &n.seen
	if d.rerouted = weft.Never; !k.Report.Open {
		return nil
	}
	d.ends, d.list = map[weft.End]bool{}, n.Report.Detected
	d.last = n.Began + weft.Time(n.Report.SeenAfter*float64(weft.Second))
	if n.Report.FirstReroute != nil {
		d.rerouted = n.Began + weft.Time(*n.Report.FirstReroute*float64(weft.Second))
	}
	s.open = append(s.open, n)
	return nil
}

// restoreFault puts a fault of the leader before in force again, which its links are told of with
// all else.
func (s *State) restoreFault(k FaultCheckpoint) error {
	if s.Incident(k.Incident) == nil {
		return errors.New("its report was not kept")
	}
	f := &Fault{ID: k.Incident, Spec: k.Spec, FlapUp: k.FlapUp}
	if k.Switch != "" {
		id, err := s.cfg.Graph.SwitchByName(k.Switch)
		if err != nil {
			return err
		}
		f.Switch, f.Crash, s.Crashed[id] = id, true, f.ID
	} else {
		l, err := s.cfg.Graph.LinkByName(k.Link)
		if err != nil {
			return err
		}
		f.Link = l.ID
		to := &s.Links[l.ID]
		for d := range both {
			if k.Cuts[d] {
				to.Cut[d] = f.ID
			}
			if k.Impair[d] {
				to.Impaired[d], to.Suffers[d] = f.ID, k.Suffer[d]
			}
		}
	}
	s.faults[f.ID], s.restored = f, append(s.restored, f)
	return nil
}

// resume has restored faults change and end by themselves as they should have.
func (s *State) resume() {
	s.resumeHold()
	for _, f := range s.restored {
		n := s.Incident(f.ID)
		switch {
		case f.Spec.Do == fault.VerbFlap:
			f.start, f.next = n.Began, s.changesLeft(f, n.Began)
			if id := s.flap(f); id != 0 {
				s.do(Attend{id})
			}
		case f.Spec.For > 0:
			s.endAt(f, max(s.now, n.Began+length(f)))
		}
	}
	s.restored = nil
}

// changesLeft are the changes of a flap that are not past, and the last before.
func (s *State) changesLeft(f *Fault, began weft.Time) func() (fault.Edge, bool) {
	changes := s.changes(f)
	last, more := changes()
	next, after := changes()
	for more && after && began+weft.FromDuration(next.At) <= s.now {
		last = next
		next, after = changes()
	}
	returned := 0
	return func() (fault.Edge, bool) {
		switch returned++; returned {
		case 1:
			return last, more
		case 2:
			return next, after
		}
		return changes()
	}
}
