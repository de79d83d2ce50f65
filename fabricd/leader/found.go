package leader

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// HasFound reports whether the ledger may have begun incidents by itself.
func (s *State) HasFound() bool { return s.Ledger.Last() > s.found }

// reportFound opens reports of incidents that have none: the ledger has begun them by itself, for
// it heard of a host that is gone and that nobody had missed.
func (s *State) reportFound() {
	if !s.HasFound() {
		return
	}
	list, some := s.Ledger.Incidents(s.found), false
	s.found = s.Ledger.Last()
	for i := range list {
		in := &list[i]
		if s.Incident(in.ID) != nil {
			continue
		}
		n := &Incident{Began: in.Began, Closes: weft.Never, Measured: true, Report: s.reportOfIncident(in)}
		if in.Repaired != weft.Never {
			n.Closes = in.Repaired + ledger.Settle
			n.Report.RestoredAt = in.Repaired.Duration().Seconds()
		}
		if h := s.Host(in.Host); h != nil {
			n.Links = h.links()
		}
		s.file(n)
		s.watch.add(s, n, nil)
		some = true
	}
	if some {
		s.nextGeneration()
	}
}

// reportOfIncident says what an incident is that the ledger has begun.
func (s *State) reportOfIncident(in *ledger.Incident) fault.Report {
	r := fault.Report{
		ID: in.ID, Kind: fault.KindHost, Target: in.Target,
		Note: "the leader before has not written it down",
	}
	h, process := s.Host(in.Host), int(in.Host)-int(s.cfg.Processes)
	switch {
	case in.Kind != ledger.KindHost:
		r.Kind, r.What = in.Kind, in.Kind+" "+in.Target
	case in.Host == 0:
		r.What = in.Target + " is gone: nobody but its neighbours knows it"
	case h != nil && !h.Remote:
		r.What, r.Note = "the process of the leader before is gone, with the nodes that it ran", ""
	case process >= 0:
		r.Kind, r.Target = fault.KindProcess, s.cfg.Graph.Switches[process].Name
		r.What, r.Note = fmt.Sprintf("process of %s is gone", r.Target), "another leader goes on without it"
	case h != nil:
		r.Target, r.What = h.Name, fmt.Sprintf("%s is gone, and another has taken its place", h.Name)
	}
	return r
}
