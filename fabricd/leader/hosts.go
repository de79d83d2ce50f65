package leader

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// Kinds of what is published about hosts, and about the processes that are a switch.
const (
	EventHostFailed     = "host_failed"  // nobody answers for it: its machine or its process is gone
	EventHostSuspect    = "host_suspect" // it is there, but does not answer
	EventHostBack       = "host_back"    // it answers again, or was made anew
	EventProcessFailed  = "process_failed"
	EventProcessSuspect = "process_suspect"
	EventProcessBack    = "process_back"
	EventBrokerLost     = "broker_lost" // a connection to the broker is gone, and its links with it
)

// ofProcess are those kinds for a switch process, by that for any other host.
var ofProcess = map[string]string{
	EventHostFailed: EventProcessFailed, EventHostSuspect: EventProcessSuspect, EventHostBack: EventProcessBack,
}

// publishHost publishes an event about a host. Who is the switch process as people call it.
func (s *State) publishHost(h *Host, kind, detail, who string, n *Incident) {
	p := Published{Kind: kind, Node: h.Name, Detail: detail, Fault: new(n.Report.Clone())}
	if h.Process {
		p.Kind, p.Node, p.Switch, p.Detail = ofProcess[kind], "", h.Name, who
	}
	s.publish(p)
}

// hostSuspect begins the incident of a host that does not answer. Its neighbours find out by
// themselves.
func (s *State) hostSuspect(e HostSuspect) {
	h := s.Host(e.Host)
	if h.Incident != 0 || h.Process && (!h.Runs || s.Crashed[h.Switch] != 0) {
		return
	}
	n := s.beginHost(h, e.Heard, e.What, "")
	s.Ledger.Step(s.now, ledger.HostSuspect{Host: h.ID, Incident: n.Report.ID})
	s.publishHost(h, EventHostSuspect, "", e.Who, n)
}

// beginHost opens the incident of a host, from when it was last heard.
func (s *State) beginHost(h *Host, heard weft.Time, what, note string) *Incident {
	r := fault.Report{Kind: fault.KindHost, Target: h.Name, What: what, Note: note}
	if h.Process {
		r.Kind = fault.KindProcess
	}
	if heard == 0 { // by another leader
		heard = min(s.Ledger.Heard(h.ID), s.now)
	}
	n := s.beginLate(heard, r, subject{links: h.links(), sw: h.Switch, hasSwitch: h.Process}, s.beside(h, heard))
	h.Incident = n.Report.ID
	s.refresh(n)
	return n
}

// beside are the ends beside a host that are up, or were at some time after at.
func (s *State) beside(h *Host, at weft.Time) (list []weft.End) {
	for _, id := range s.crossing(h) {
		for i, e := range ends(s.link(id)) {
			if s.runner(e.Node).ID != h.ID && (s.Links[id].Up[i] || s.watch.since(e, at)) {
				list = append(list, e)
			}
		}
	}
	return list
}

// hostFailed begins the incident of the loss of a host, or goes on with that of its silence, and
// takes carrier from its neighbours. Its switches and NICs count as crashed until it answers again
// or is made anew; a switch that was a process, until another joins or it is restarted.
func (s *State) hostFailed(e HostFailed) {
	h := s.Host(e.Host)
	n := s.Incident(h.Incident)
	switch {
	case h.Process && s.Crashed[h.Switch] != 0:
		if n != nil {
			s.repaired(n)
		}
		n = s.Incident(s.Crashed[h.Switch])
	case n == nil:
		n = s.beginHost(h, e.Heard, e.What, e.Note)
	default:
		n.Report.What, n.Report.Note = e.What, e.Note
	}
	if h.Incident = n.Report.ID; h.Process && s.Crashed[h.Switch] == 0 {
		s.crashed(h.Switch, n)
	}
	h.Failed = true
	s.sync(s.crossing(h))
	for _, id := range h.links() {
		for i, end := range ends(s.link(id)) {
			if s.runner(end.Node).ID == h.ID {
				s.Links[id].Up[i], s.Links[id].Carrier[i] = false, false
			}
		}
	}
	s.do(Concerns{n.Report.ID})
}

// crashed puts the fault of a switch that nobody runs in force.
func (s *State) crashed(id weft.SwitchID, n *Incident) {
	s.Crashed[id] = n.Report.ID
	s.faults[n.Report.ID] = &Fault{
		ID: n.Report.ID, Spec: fault.Spec{Do: fault.VerbCrash, A: s.cfg.Graph.Switches[id].Name}, Switch: id, Crash: true,
	}
}

func (s *State) hostWrittenOff(e HostWrittenOff) {
	s.noteSeen()
	n := s.Incident(e.Incident)
	s.refresh(n)
	s.do(Changed{})
	s.publishHost(s.Host(e.Host), EventHostFailed, "", e.Who, n)
}

// hostBack gives the links of a host that is back their carrier again.
func (s *State) hostBack(id ledger.HostID) {
	h := s.Host(id)
	n := s.Incident(h.Incident)
	if n == nil {
		return
	}
	h.Incident = 0
	s.do(Concerns{n.Report.ID})
	s.do(Begun{s.act(&action{touched: s.crossing(h), back: h.links(), steps: []step{{ended: []*Incident{n}}}})})
}

func (s *State) hostReported(e HostReported) {
	n := s.Incident(e.Incident)
	s.refresh(n)
	s.publishHost(s.Host(e.Host), EventHostBack, e.How, e.Who, n)
	s.do(Changed{})
}

func (s *State) hostLeft(e HostLeft) {
	h := s.Host(e.Host)
	if n := s.Incident(h.Incident); n != nil && e.Repaired {
		s.repaired(n)
	}
	h.Incident = 0
	s.ownEnded(h)
}

// revive brings a switch back.
func (s *State) revive(id weft.SwitchID) {
	a := &action{steps: []step{{spec: fault.Spec{Do: fault.VerbRestart}, sw: id, onSwitch: true, dirs: both}}}
	s.repairCrash(a, &a.steps[0])
	s.do(Begun{s.act(a)})
}

// connection names a connection to the broker in reports.
func connection(shard int) string { return fmt.Sprintf("connection %d", shard) }

// brokerLost takes the links of a connection down: its loss is as good as loss of carrier at all of
// them.
func (s *State) brokerLost(e BrokerLost) {
	var expect []weft.End
	for _, id := range e.Links {
		expect = append(expect, s.up(id)...)
	}
	n := s.begin(fault.Report{
		Kind: fault.KindBroker, Target: connection(e.Shard), What: connection(e.Shard) + " to the broker is lost",
		Note: e.Note,
	}, subject{links: e.Links, how: fault.ByBroker}, expect)
	for _, id := range e.Links {
		l := &s.Links[id]
		l.Outages = append(slices.DeleteFunc(l.Outages, func(d Outage) bool { return d.Shard == e.Shard }),
			Outage{e.Shard, n.Report.ID})
	}
	s.sync(e.Links)
	s.noteSeen()
	s.refresh(n)
	s.publish(Published{Kind: EventBrokerLost, Detail: e.Detail, Fault: new(n.Report.Clone())})
}

// brokerBack gives the links of a connection carrier again, unless something else keeps them down.
func (s *State) brokerBack(e BrokerBack) {
	var links []weft.LinkID
	for i := range s.Links {
		l := &s.Links[i]
		if at := slices.IndexFunc(l.Outages, func(d Outage) bool { return d.Shard == e.Shard }); at >= 0 {
			l.Outages = slices.Delete(l.Outages, at, at+1)
			links = append(links, weft.LinkID(i))
		}
	}
	var ended []*Incident
	for _, n := range s.open {
		if n.Report.Kind == fault.KindBroker && n.Report.Target == connection(e.Shard) && n.Closes == weft.Never {
			ended = append(ended, n)
		}
	}
	s.do(Begun{s.act(&action{touched: links, back: links, steps: []step{{ended: ended}}})})
}
