package fabric

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// reportFound opens reports of incidents that have none: the ledger has begun them by itself, for it heard
// of a host that is gone and that nobody had missed. The caller holds mu.
func (f *Fabric) reportFound() {
	var list []ledger.Incident
	f.ledger.read(func(l *ledger.Ledger) {
		if l.Last() > f.found {
			list, f.found = l.Incidents(f.found), l.Last()
		}
	})
	some := false
	for i := range list {
		in := &list[i]
		if _, ok := f.incidentAt(in.ID); ok {
			continue
		}
		rec := &incident{began: in.Began, closes: in.Repaired + ledger.Settle, dipMeasured: true, report: f.reportOfIncident(in)}
		if in.Repaired == weft.Never {
			rec.closes = weft.Never
		} else {
			rec.report.RestoredAt = in.Repaired.Duration().Seconds()
		}
		if p := f.hostNumbered(in.Host); p != nil {
			rec.links = slices.Concat(p.border, p.inside)
		}
		f.file(rec)
		f.monitor.add(rec, nil)
		some = true
	}
	if some {
		f.nextEra()
	}
}

// reportOfIncident says what an incident is that the ledger has begun.
func (f *Fabric) reportOfIncident(in *ledger.Incident) fault.Report {
	r := fault.Report{ID: in.ID, Kind: KindHost, Target: in.Target, Note: "the leader before has not written it down"}
	p, process := f.hostNumbered(in.Host), int(in.Host)-int(f.hostOfProcess(0))
	switch {
	case in.Kind != ledger.KindHost:
		r.Kind, r.What = in.Kind, in.Kind+" "+in.Target
	case in.Host == 0:
		r.What = in.Target + " is gone: nobody but its neighbours knows it"
	case in.Host == localHostID:
		r.What, r.Note = "the process of the leader before is gone, with the nodes that it ran", ""
	case process >= 0:
		r.Kind, r.Target = KindProcess, f.switches[process].name
		r.What, r.Note = fmt.Sprintf("process of %s is gone", r.Target), "another leader goes on without it"
	case p != nil:
		r.Target, r.What = p.name, fmt.Sprintf("%s is gone, and another has taken its place", p.name)
	}
	return r
}

// hostOfProcess is the number of the processes that are a switch.
func (f *Fabric) hostOfProcess(s weft.SwitchID) ledger.HostID {
	return localHostID + 1 + ledger.HostID(len(f.remote)) + ledger.HostID(s)
}

// hostNumbered is the host of that number; nil: there is none.
func (f *Fabric) hostNumbered(id ledger.HostID) *hostState {
	for _, p := range *f.hosts.Load() {
		if p.id == id {
			return p
		}
	}
	return nil
}
