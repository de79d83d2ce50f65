package leader

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// maxDetected bounds the ends that one report names: those that found out first. The report says
// all the same when the last one did. Chosen by us.
const maxDetected = 1024

// explains bounds the delay after a silence until the fault that explains it is noticed, such as
// the end of a process.
const explains = 500 * weft.Millisecond

// watch has what the ends have found out.
type watch struct {
	last   map[weft.End]*lastDown
	wait   []*lastDown // of these, those since which no packet was re-routed
	silent []silentEnd // silences that may need a report
}

// lastDown says how an end last lost its link.
type lastDown struct {
	at       weft.Time
	node     string
	why      weft.Cause
	rerouted weft.Time // first re-route since; Never: none yet

	explained bool // an incident is the cause
}

// clockError is how far the clock of a host may be behind the leader's. Chosen by us: a clock is
// behind by about as long as an order takes to reach the host.
const clockError = 5 * weft.Millisecond

// mayFollow reports whether an end may have lost its link because of n. A host dates a loss of
// carrier by its own clock. So a loss that no other incident explains may have a date before n
// began.
func (d *lastDown) mayFollow(n *Incident) bool {
	return d.at >= n.Began || d.why == weft.BySignal && !d.explained && d.at >= n.Began-clockError
}

// silentEnd is an end that lost its link by silence. An incident may cover it.
type silentEnd struct {
	end  weft.End
	at   weft.Time
	note string // of one that only what it cost tells of; empty: it has told that it heard nothing
}

// detected has what the ends of an incident have found out.
type detected struct {
	ends     map[weft.End]bool // those that should find out, and whether they have
	missing  int               // of them, those that have not
	list     []fault.Detection
	last     weft.Time // when the last of them had
	rerouted weft.Time // first re-route; Never: none yet
	news     bool      // the last end has found out, and nobody has acted on that yet
}

// add starts watching the ends of n.
func (w *watch) add(s *State, n *Incident, expect []weft.End) {
	d := &n.seen
	d.ends, d.rerouted = map[weft.End]bool{}, weft.Never
	for _, e := range expect {
		d.ends[e] = false
	}
	d.missing = len(d.ends)
	for _, e := range expect {
		if last, ok := w.last[e]; ok && last.mayFollow(n) { // the fault is noticed later than what it did
			s.detect(n, e, last)
			d.rerouted = min(d.rerouted, last.rerouted)
		}
	}
}

// portChanged notes that an end has lost its link or has it back.
func (s *State) portChanged(c PortChanged) {
	id, side, ok := s.at(c.End)
	if !ok {
		return
	}
	s.Links[id].Up[side] = c.Up
	if !c.Up && c.Started {
		s.linkLost(c)
	}
}

// linkLost notes that an end has lost its link.
func (s *State) linkLost(c PortChanged) {
	w := &s.watch
	d := &lastDown{at: c.At, node: s.cfg.Graph.Name(c.End.Node), why: c.Why, rerouted: weft.Never}
	if old := w.last[c.End]; old != nil {
		w.wait = slices.DeleteFunc(w.wait, func(o *lastDown) bool { return o == old })
	}
	w.last[c.End], w.wait = d, append(w.wait, d)
	for _, n := range s.open {
		s.detect(n, c.End, d)
	}
	if c.Why == weft.BySilence {
		w.silent = append(w.silent, silentEnd{end: c.End, at: c.At})
	}
}

// detect notes in n that an end has found out, unless the end is not n's or found out before.
func (s *State) detect(n *Incident, e weft.End, d *lastDown) {
	w := &n.seen
	if known, ok := w.ends[e]; !ok || known || !d.mayFollow(n) {
		return
	}
	if (d.why == weft.BySignal || d.why == weft.ByCrash) && fault.Verb(n.Report.Kind) == fault.VerbImpair {
		return // no impairment takes carrier away: another fault did
	}
	w.ends[e], d.explained = true, true
	w.missing--
	w.last = max(w.last, d.at)
	by := cmp.Or(n.how, how(d.why))
	if d.why == weft.BySignal && (n.Report.Kind == fault.KindProcess || n.Report.Kind == fault.KindHost) {
		by = fault.ByProcess // they have no carrier because the leader saw it go
	}
	if len(w.list) < maxDetected {
		after := seconds(max(0, d.at-n.Began))
		w.list = append(w.list, fault.Detection{End: d.node, Port: int(e.Port), AfterSeconds: after, How: by})
	}
	if w.missing == 0 {
		w.news = true
		s.do(Notice{})
	}
}

func how(c weft.Cause) string {
	switch c {
	case weft.BySilence:
		return fault.BySilence
	case weft.ByNeighbour:
		return fault.ByNeighbour
	}
	return fault.BySignal
}

// rerouted notes that packets were sent another way.
func (w *watch) rerouted(s *State, at weft.Time) {
	for _, n := range s.open {
		if n.seen.rerouted == weft.Never && at >= n.Began {
			n.seen.rerouted = at
		}
	}
	for _, d := range w.wait {
		d.rerouted = at
	}
	w.wait = w.wait[:0]
}

// since reports whether an end has lost its link at or after a time, unless that is 0.
func (w *watch) since(e weft.End, at weft.Time) bool {
	d, ok := w.last[e]
	return ok && at > 0 && d.at >= at
}

// report copies what was found out into a report.
func (d *detected) report(p *fault.Report, began weft.Time) {
	p.Detected = slices.Clone(d.list)
	if len(d.list) > 0 {
		p.SeenAfter = seconds(max(0, d.last-began))
	}
	if d.rerouted != weft.Never {
		p.FirstReroute = new(seconds(d.rerouted - began))
	}
}

// reportSilences opens incidents for unexplained silences before a time. In a silence an end did
// not hear its neighbour although no fault explains that: a switch process or a broker was held up,
// or a machine stood still. An incident keeps its cost in sight. A silence whose explanation was
// closed before its cost became known gets an incident, too.
func (s *State) reportSilences(before weft.Time) {
	var due []silentEnd
	s.watch.silent = slices.DeleteFunc(s.watch.silent, func(e silentEnd) bool {
		if e.at > before {
			return false
		}
		due = append(due, e)
		return true
	})
	if len(due) == 0 {
		return
	}
	unattributed, switches := s.unattributed()
	for _, e := range due {
		if sw := weft.SwitchID(e.end.Node.Index); e.end.Port == weft.NoPort {
			if slices.Contains(switches, sw) {
				s.reportLostInside(sw, e)
			}
			continue
		}
		id, _, _ := s.at(e.end)
		if (e.note != "" || s.explained(id, e.at)) && !slices.Contains(unattributed, id) {
			continue
		}
		l, note := s.link(id), e.note
		if note == "" {
			note = fmt.Sprintf("%s heard nothing for %v; perhaps this machine or the broker stood still",
				s.cfg.Graph.Name(e.end.Node), s.cfg.Detection)
		}
		unattributed = slices.DeleteFunc(unattributed, func(k weft.LinkID) bool { return k == id })
		n := s.beginLate(e.at, fault.Report{
			Kind: fault.KindSilence, Target: l.Name, What: fmt.Sprintf("silence on %s that no fault explains", l.Name),
			Note: note,
		}, subject{links: []weft.LinkID{id}}, []weft.End{l.A, l.B})
		s.refresh(n)
		s.publish(Published{Kind: fault.KindSilence, Link: l.Name, Fault: new(n.Report.Clone())})
	}
}

// reportLostInside opens the incident of packets that a switch has lost inside, which became known
// when the fault that explains them was closed. It ends at once.
func (s *State) reportLostInside(sw weft.SwitchID, e silentEnd) {
	name := s.cfg.Graph.Switches[sw].Name
	n := s.beginLate(e.at, fault.Report{
		Kind: fault.KindSilence, Target: name, What: fmt.Sprintf("packets lost inside %s that no fault explains", name),
		Note: e.note,
	}, subject{sw: sw, hasSwitch: true}, nil)
	s.repaired(n)
	s.refresh(n)
	s.publish(Published{Kind: fault.KindSilence, Switch: name, Fault: new(n.Report.Clone())})
}

// unattributed are the links with losses of no fault.
func (s *State) unattributed() (links []weft.LinkID, switches []weft.SwitchID) {
	for _, u := range s.Ledger.State().Pending {
		switch {
		case u.Lost.Sum() == 0:
		case u.Node.Kind == 0:
			links = append(links, u.Link)
		case u.Node.IsSwitch():
			switches = append(switches, weft.SwitchID(u.Node.Index))
		}
	}
	return links, switches
}

// unexplained is the note of a silence that the leader knows only by its cost.
const unexplained = "it lost packets, and what its ends told of that did not reach the leader"

// suspectSilences treats links with losses of no fault as silent, unless a fault explains them in
// time. Nobody led when their ends found out, or what the ends told was lost, as when the broker is
// gone for them and for the leader.
func (s *State) suspectSilences(note string) {
	suspect := func(at silentEnd, or weft.End) {
		if !slices.ContainsFunc(s.watch.silent, func(e silentEnd) bool { return e.end == at.end || e.end == or }) {
			s.watch.silent = append(s.watch.silent, at)
		}
	}
	links, switches := s.unattributed()
	for _, id := range links {
		l := s.link(id)
		suspect(silentEnd{l.A, s.now, note}, l.B)
	}
	for _, sw := range switches {
		e := weft.End{Node: sw.Node(), Port: weft.NoPort}
		suspect(silentEnd{e, s.now, note}, e)
	}
}

// explained reports whether a fault on a link was in force, or its effects counted, at that time.
func (s *State) explained(id weft.LinkID, at weft.Time) bool {
	return slices.ContainsFunc(s.Incidents, func(n *Incident) bool {
		lasts := n.Report.Kind == fault.KindSilence && n.Closes == weft.Never
		return (lasts || n.Began <= at) && at <= n.Closes && slices.Contains(n.Links, id)
	})
}

// endSilences ends the incidents of links that are heard again.
func (s *State) endSilences() {
	for _, n := range s.open {
		if n.Report.Kind != fault.KindSilence || n.Closes != weft.Never {
			continue
		}
		if l := &s.Links[n.Links[0]]; l.Up[0] && l.Up[1] {
			s.repaired(n)
			s.nextGeneration()
		}
	}
}
