package leader

import (
	"cmp"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// maxIncidents bounds the incidents that are kept. Of older ones only the sum of losses is.
const maxIncidents = 4096

// Incident is a fault or another failure, with its report.
type Incident struct {
	Report    fault.Report
	Began     weft.Time
	Closes    weft.Time     // when its effects are no longer counted; Never while it lasts
	Links     []weft.LinkID // what it acts on, or did
	Switch    weft.SwitchID
	HasSwitch bool   // it acts on Switch
	First     uint16 // the fault generation when it began
	Measured  bool   // the throughput has been
	Seen      bool   // by the last of its ends

	how  string // how its ends find out, when they cannot say themselves
	seen detected
}

// subject is what an incident acts on.
type subject struct {
	links     []weft.LinkID
	sw        weft.SwitchID
	hasSwitch bool
	how       string
}

// begin opens an incident that is about to act. expect are the ends that should find out. The hosts
// of this process have told their counters just before.
func (s *State) begin(r fault.Report, of subject, expect []weft.End) *Incident {
	return s.beginAt(s.now, false, r, of, expect)
}

// beginLate is begin for an incident that is noticed only now. It gets what its links and switch
// have lost before and no fault has cost. at is when it began to act; 0: nobody knows.
func (s *State) beginLate(at weft.Time, r fault.Report, of subject, expect []weft.End) *Incident {
	at = cmp.Or(at, s.now)
	return s.beginAt(at, true, r, of, expect)
}

func (s *State) beginAt(at weft.Time, late bool, r fault.Report, of subject, expect []weft.End) *Incident {
	s.reportFound()
	b := ledger.FaultBegan{Kind: r.Kind, Target: r.Target, Links: of.links, Late: late}
	if of.hasSwitch {
		b.Switches = []weft.SwitchID{of.sw}
	}
	s.Ledger.Step(s.now, b)
	r.ID = s.Ledger.Last()
	s.found = r.ID
	n := &Incident{
		Report: r, Began: at, Closes: weft.Never, Links: of.links, Switch: of.sw, HasSwitch: of.hasSwitch,
		how: of.how,
	}
	s.file(n)
	s.watch.add(s, n, expect)
	return n
}

// file inserts an incident that opens among the others.
func (s *State) file(n *Incident) {
	r := &n.Report
	r.Open, r.Generation, n.First = true, s.Generation, s.Generation
	r.At, r.CountedFrom = n.Began.Duration().Seconds(), s.now.Duration().Seconds()
	for _, o := range s.open {
		share(&o.Report, r.ID)
		share(r, o.Report.ID)
	}
	at, _ := s.indexOf(r.ID)
	s.Incidents, s.open = slices.Insert(s.Incidents, at, n), append(s.open, n)
	if len(s.Incidents) > maxIncidents {
		s.forget()
	}
}

// indexOf is the index of the incident with a number, or where it would be.
func (s *State) indexOf(id int) (at int, ok bool) {
	return slices.BinarySearchFunc(s.Incidents, id, func(n *Incident, id int) int { return n.Report.ID - id })
}

// forget drops the oldest closed incident.
func (s *State) forget() {
	if i := slices.IndexFunc(s.Incidents, func(n *Incident) bool { return !n.Report.Open }); i >= 0 {
		s.Incidents = slices.Delete(s.Incidents, i, i+1)
	}
}

func share(r *fault.Report, with int) {
	if !slices.Contains(r.SharedWith, with) {
		r.SharedWith = append(r.SharedWith, with)
	}
	r.Shared = fault.FabricWide()
}

// repaired notes that the fault has been repaired; its effects are counted a little longer.
func (s *State) repaired(n *Incident) {
	if n.Closes != weft.Never {
		return
	}
	s.Ledger.Step(s.now, ledger.FaultEnded{Incident: n.Report.ID})
	n.Report.RestoredAt = s.now.Duration().Seconds()
	in, _ := s.Ledger.Incident(n.Report.ID)
	n.Closes = in.Repaired + ledger.Settle
	if !n.final() {
		n.Report.Generation = s.Generation
	}
}

// final reports whether the fault costs nothing any more once the last of its ends has seen it.
func (n *Incident) final() bool {
	kind := fault.Verb(n.Report.Kind)
	return (kind == fault.VerbCut || kind == fault.VerbCrash || kind == fault.KindBroker) && n.Seen
}

// refresh brings the report of an open incident up to date with what hosts have told.
func (s *State) refresh(n *Incident) {
	if n.Report.Open {
		in, _ := s.Ledger.Incident(n.Report.ID)
		n.Report = s.report(n, in)
	}
}

// report is the report of an incident with the costs that the ledger has. Some may become known
// later.
func (s *State) report(n *Incident, in ledger.Incident) fault.Report {
	p := n.Report
	if in.ID != 0 {
		p.LostWire, p.LostQueued, p.LostCrash = in.Lost.Wire, in.Lost.Queued, in.Lost.Crash
	}
	if !p.Open {
		return p
	}
	sw, nics := &in.Counted.Switches, &in.Counted.NICs
	p.CountedTo = s.now.Duration().Seconds()
	p.Rerouted, p.Requeued, p.Reordered, p.Duplicated = sw.Rerouted, sw.Requeued, nics.Reordered, nics.Duplicated
	p.Discarded, p.DiscardedBy = sw.Discarded+nics.Wrong, rules(in.Discards)
	if p.Extra.Packets = nics.Rerouted; p.Extra.Packets > 0 {
		p.Extra.Mean = float64(nics.Detour) / float64(p.Extra.Packets)
		p.Extra.Most = s.mostExtra(n)
	}
	if !n.Measured {
		p.Degradation = s.samples.degradation(n.Began, min(s.now, n.Closes))
	}
	n.seen.report(&p, n.Began)
	if e := s.counted.Effect; e >= n.Began {
		p.LastEffect = new(seconds(e - n.Began))
	}
	return p
}

// rules are packets discarded, by the name of the rule.
func rules(list []ledger.Rule) map[string]uint64 {
	by := make(map[string]uint64, len(list))
	for _, r := range list {
		by[r.Name] = r.Packets
	}
	return by
}

// mostExtra is the largest number of extra hops of a re-routed packet that arrived while n was in
// force or just after.
func (s *State) mostExtra(n *Incident) (most int) {
	for _, h := range s.counted.Extra {
		for i, extra := range h.Most {
			if h.First+i >= int(n.First) {
				most = max(most, extra)
			}
		}
	}
	return most
}

// Reports are the reports of incidents with higher numbers. Those that are open are brought up to
// date.
func (s *State) Reports(now weft.Time, after int) []fault.Report {
	s.now = now
	from, _ := s.indexOf(after + 1)
	out := make([]fault.Report, 0, len(s.Incidents)-from)
	list := s.Ledger.Incidents(after)
	for _, n := range s.Incidents[from:] {
		for len(list) > 0 && list[0].ID < n.Report.ID {
			list = list[1:]
		}
		in := ledger.Incident{}
		if len(list) > 0 && list[0].ID == n.Report.ID {
			in = list[0]
			n.Report = s.report(n, in)
		}
		out = append(out, n.Report.Clone())
	}
	return out
}

// closeIncident stops counting for n.
func (s *State) closeIncident(n *Incident) {
	s.refresh(n)
	n.Report.Open = false
	s.open = slices.DeleteFunc(s.open, func(o *Incident) bool { return o == n })
	s.publish(Published{Kind: EventReport, Fault: new(n.Report.Clone())})
	s.do(Changed{})
}

// suffered notes what connections have suffered, while effects are counted.
func (s *State) suffered(e Suffered) {
	i, ok := s.indexOf(e.Incident)
	if !ok || !s.Incidents[i].Report.Open {
		return
	}
	r := &s.Incidents[i].Report
	r.Connections = &e.Connections
	if len(r.SharedWith) > 0 && !slices.Contains(r.Shared, "connections") {
		r.Shared = append(slices.Clone(r.Shared), "connections") // a report without them names none
	}
}

// Counting are the incidents whose effects are counted: their numbers, and when they began.
func (s *State) Counting() (ids []int, began []weft.Time) {
	for _, n := range s.open {
		ids, began = append(ids, n.Report.ID), append(began, n.Began)
	}
	return ids, began
}

// Due reports whether an incident may be about to begin for a silence, or to be closed.
func (s *State) Due(now weft.Time) bool {
	silent := slices.ContainsFunc(s.watch.silent, func(e silentEnd) bool { return e.at <= now-explains })
	return silent || slices.ContainsFunc(s.open, func(n *Incident) bool { return now >= n.Closes })
}

// tick begins and ends the incidents of silences, closes incidents that were due when hosts were
// asked, and settles the degradation of those that last.
func (s *State) tick(asked weft.Time) {
	s.reportFound()
	s.suspectSilences(unexplained)
	s.reportSilences(asked - explains)
	s.endSilences()
	s.Ledger.Step(asked, ledger.Tick{})
	for _, n := range slices.Clone(s.open) {
		switch {
		case asked >= n.Closes:
			s.closeIncident(n)
		case !n.Measured && s.now > n.Began+degradationSpan:
			n.Report.Degradation, n.Measured = s.samples.degradation(n.Began, s.now), true
		}
	}
}

// closeAll stops counting effects for all repaired faults.
func (s *State) closeAll() {
	s.reportFound()
	s.suspectSilences(unexplained)
	s.reportSilences(weft.Never)
	s.endSilences()
	for _, n := range slices.Clone(s.open) {
		if n.Closes != weft.Never {
			s.closeIncident(n)
		}
	}
}

// settleDegradations measures the throughput of all incidents that still count, before the traffic
// changes.
func (s *State) settleDegradations() {
	for _, n := range s.open {
		if !n.Measured {
			n.Report.Degradation, n.Measured = s.samples.degradation(n.Began, min(s.now, n.Closes)), true
		}
	}
	s.samples.advance(s.now)
}

// noteSeen begins a fault generation for incidents that the last of their ends has seen.
func (s *State) noteSeen() {
	some := false
	for _, n := range s.open {
		if n.seen.news {
			n.seen.news, some = false, true
			n.Report.Generation, n.Seen = s.Generation, true
		}
	}
	if some {
		s.nextGeneration()
	}
}

func seconds(t weft.Time) float64 { return t.Duration().Seconds() }
