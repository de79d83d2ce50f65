package leader

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// action is what changes links and switches at one instant, collected before anything is done,
// until what it has repaired is back.
type action struct {
	steps    []step
	cut      []Direction // nothing comes through from now on
	restored []Direction // and here again
	touched  []weft.LinkID
	toggled  []weft.End  // told that nothing comes to them, while they may still speak
	impair   []Direction // suffer something else now
	crash    []weft.SwitchID
	restart  []weft.SwitchID
	back     []weft.LinkID // carry packets again
}

// step is an order with its names resolved.
type step struct {
	spec     fault.Spec
	link     weft.LinkID
	dirs     [2]bool
	sw       weft.SwitchID
	onLink   bool // it is about link
	onSwitch bool // it is about sw
	begun    *Incident
	ended    []*Incident
	healed   []string
	changed  bool
	note     string
	report   *fault.Report // what was published of begun
}

// Outcome is what came of one of the specs of an action.
type Outcome struct {
	Do      fault.Verb    `json:"do"`
	Target  string        `json:"target"`
	Changed bool          `json:"changed"` // false: it was so already, nothing was done
	Fresh   bool          `json:"fresh"`   // the same, under its old name: until 0.2.0
	Fault   *fault.Report `json:"fault,omitempty"`
	Healed  []string      `json:"healed,omitempty"` // of heal: what was repaired
	Note    string        `json:"note,omitempty"`   // what else there is to know
}

// apply resolves and plans what is asked for, and does it.
func (s *State) apply(specs []fault.Spec) {
	a := &action{}
	var errs []error
	suffer := map[weft.LinkID][2]fault.Impairment{} // what links suffer once the orders before are done
	for _, spec := range specs {
		st, err := s.resolve(spec, suffer)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", spec, err))
		}
		a.steps = append(a.steps, st)
	}
	if err := errors.Join(errs...); err != nil {
		s.do(Refused{err})
		return
	}
	for i := range a.steps {
		s.plan(a, &a.steps[i])
	}
	s.do(Begun{s.act(a)})
}

func (s *State) resolve(spec fault.Spec, suffer map[weft.LinkID][2]fault.Impairment) (st step, err error) {
	if err := spec.Validate(); err != nil {
		return st, err
	}
	st = step{spec: spec, dirs: both}
	switch spec.Do {
	case fault.VerbHeal:
		return st, nil
	case fault.VerbCrash, fault.VerbRestart:
		st.sw, err = s.cfg.Graph.SwitchByName(spec.A)
		st.onSwitch = err == nil
		return st, err
	case fault.VerbRestore:
		if spec.B == "" {
			st.sw, err = s.cfg.Graph.SwitchByName(spec.A)
			if st.onSwitch = err == nil; err == nil || !strings.Contains(spec.A, "-") {
				return st, err
			}
		}
	}
	if st.link, st.dirs, err = s.linkOf(spec); err != nil {
		return st, err
	}
	st.onLink = true
	if spec.Do == fault.VerbImpair {
		now, ok := suffer[st.link]
		if !ok {
			now = s.Links[st.link].Suffers
		}
		for d, yes := range st.dirs {
			if yes && err == nil {
				before := now[d]
				now[d] = before.Merge(*spec.Impair)
				err = s.checkImpairment(before, now[d])
			}
		}
		suffer[st.link] = now
	}
	return st, err
}

// checkImpairment refuses what would make a link useless: figures that contradict each other, or
// frames so slow that neighbours take each other for dead.
func (s *State) checkImpairment(before, now fault.Impairment) error {
	if err := now.Validate(); err != nil {
		if before.IsZero() {
			return err
		}
		return fmt.Errorf("it suffers %v already: %w", before, err)
	}
	packet := weft.Time(float64(s.cfg.PacketBytes) / now.Rate * float64(weft.Second))
	if detect := s.cfg.Detection; now.Rate > 0 && detect > 0 && packet > detect/2 {
		return fmt.Errorf("a packet of %d bytes would take %v, too long beside the %v after which a neighbour counts as "+
			"dead: give a higher rate",
			s.cfg.PacketBytes, packet, detect)
	}
	return nil
}

// linkOf finds the link that a spec names, and the directions it means.
func (s *State) linkOf(spec fault.Spec) (id weft.LinkID, dirs [2]bool, err error) {
	g := s.cfg.Graph
	find := func() (topology.Link, error) {
		if spec.B == "" {
			return g.LinkByName(spec.A)
		}
		return g.LinkBetween(spec.A, spec.B)
	}
	found, err := find()
	if err != nil {
		return 0, both, err
	}
	first := g.Name(found.A.Node)
	reversed := spec.A != found.Name && spec.A != first && !strings.HasPrefix(spec.A, first+"-") &&
		!strings.HasPrefix(spec.A, first+":")
	return found.ID, directions(spec.Direction, reversed), nil
}

// directions says which directions of a link a spec means whose first end is the link's B if
// reversed.
func directions(d fault.Direction, reversed bool) [2]bool {
	if reversed {
		return [2]bool{d.BtoA(), d.AtoB()}
	}
	return [2]bool{d.AtoB(), d.BtoA()}
}

// directionOf is the direction that dirs are of a link.
func directionOf(dirs [2]bool) fault.Direction {
	switch dirs {
	case [2]bool{true, false}:
		return fault.To
	case [2]bool{false, true}:
		return fault.From
	}
	return ""
}

// plan works out what a step changes, and opens its incident.
func (s *State) plan(a *action, st *step) {
	switch st.spec.Do {
	case fault.VerbCut, fault.VerbFlap:
		s.planCut(a, st)
	case fault.VerbImpair:
		s.planImpair(a, st)
	case fault.VerbCrash:
		s.planCrash(a, st)
	case fault.VerbRestore, fault.VerbRestart:
		s.planRestore(a, st)
	case fault.VerbHeal:
		s.planHeal(a, st)
	}
}

func (s *State) planHeal(a *action, st *step) {
	for i := range s.Links {
		one := step{spec: st.spec, link: weft.LinkID(i), onLink: true, dirs: both}
		s.repairCuts(a, &one)
		s.repairImpair(a, &one)
		if one.changed {
			st.healed = append(st.healed, s.link(one.link).Name)
		}
		st.ended = append(st.ended, one.ended...)
	}
	for i := range s.Crashed {
		one := step{spec: st.spec, sw: weft.SwitchID(i), onSwitch: true}
		if s.repairCrash(a, &one); one.changed {
			st.healed = append(st.healed, s.cfg.Graph.Switches[i].Name)
		}
		st.ended = append(st.ended, one.ended...)
	}
	st.changed = len(st.healed) > 0
}

// reportOf is the report of a fault that begins in those directions of target. It names the ends of
// a link in the order of target, whichever the order named first.
func reportOf(spec fault.Spec, target string, dirs [2]bool) fault.Report {
	spec.A, spec.B, spec.Direction = target, "", directionOf(dirs)
	r := fault.Report{
		Kind: string(spec.Do), Target: target, What: spec.String(), Direction: spec.Direction,
		Silent: spec.Silent,
	}
	if spec.By != "" {
		r.Note = "by " + spec.By
	}
	return r
}

// beginFault opens the incident of a step and puts its fault in force.
func (s *State) beginFault(st *step, r fault.Report, links []weft.LinkID, expect []weft.End) *Fault {
	of := subject{links: links, sw: st.sw, hasSwitch: st.onSwitch}
	st.begun = s.begin(r, of, expect)
	f := &Fault{ID: st.begun.Report.ID, Spec: st.spec, Link: st.link, Switch: st.sw, Crash: st.onSwitch}
	s.faults[f.ID] = f
	return f
}

func (s *State) planCut(a *action, st *step) {
	l := &s.Links[st.link]
	var dirs [2]bool
	for d := range dirs {
		if !st.dirs[d] {
			continue
		}
		if f := s.faults[l.Cut[d]]; f != nil && f.Spec.Do == fault.VerbFlap && st.spec.Do == fault.VerbCut {
			s.endCut(a, f, d, st) // a cut takes the place of a flap
		}
		dirs[d] = l.Cut[d] == 0
	}
	if dirs == [2]bool{} {
		return
	}
	st.changed = true
	f := s.beginFault(st, reportOf(st.spec, s.link(st.link).Name, dirs), []weft.LinkID{st.link}, s.up(st.link))
	for d, yes := range dirs {
		if yes {
			l.Cut[d] = f.ID
			s.cutNow(a, f, d)
		}
	}
	s.timeout(f)
}

// cutNow lets nothing through in direction d.
func (s *State) cutNow(a *action, f *Fault, d int) {
	a.cut = append(a.cut, direction(f.Link, d))
	a.touched = append(a.touched, f.Link)
	if !f.Spec.Silent {
		a.toggled = append(a.toggled, ends(s.link(f.Link))[1-d])
	}
}

func (s *State) planImpair(a *action, st *step) {
	l, name := &s.Links[st.link], s.link(st.link).Name
	var now [2]fault.Impairment
	for d, yes := range st.dirs {
		if yes {
			now[d] = l.Suffers[d].Merge(*st.spec.Impair)
			st.changed = st.changed || !now[d].IsZero() || l.Impaired[d] != 0
			if old := s.faults[l.Impaired[d]]; old != nil {
				s.endImpair(a, old, d, st)
			}
		}
	}
	if st.changed && (s.IsCut(st.link, 0) || s.IsCut(st.link, 1)) && now != [2]fault.Impairment{} {
		st.note = name + " is cut: the impairment is kept and acts when the link is restored"
	}
	var f *Fault
	for d, yes := range st.dirs {
		if !yes {
			continue
		}
		l.Suffers[d] = now[d]
		a.impair = append(a.impair, direction(st.link, d))
		if now[d].IsZero() {
			continue
		}
		if f == nil {
			f = s.beginFault(st, reportOf(st.spec, name, st.dirs), []weft.LinkID{st.link}, s.up(st.link))
			if sum := now[d].String(); sum != st.spec.Impair.String() {
				st.begun.Report.What += " (now " + sum + ")" // with what it suffered already
			}
		}
		l.Impaired[d] = f.ID
	}
	if f != nil {
		s.timeout(f)
	}
}

func (s *State) planCrash(a *action, st *step) {
	if s.Crashed[st.sw] != 0 {
		return
	}
	st.changed = true
	links := s.attached[st.sw]
	var expect []weft.End
	for _, id := range links {
		for i, e := range ends(s.link(id)) {
			if e.Node != st.sw.Node() && s.Links[id].Up[i] {
				expect = append(expect, e)
			}
		}
	}
	f := s.beginFault(st, reportOf(st.spec, s.cfg.Graph.Switches[st.sw].Name, both), links, expect)
	s.Crashed[st.sw] = f.ID
	a.crash = append(a.crash, st.sw)
	a.touched = append(a.touched, links...)
	s.timeout(f)
}

// planRestore brings a switch or a link back; a link that is only impaired is healed of that.
func (s *State) planRestore(a *action, st *step) {
	if st.onSwitch {
		s.repairCrash(a, st)
	} else if s.repairCuts(a, st); st.changed && s.Links[st.link].Suffers != [2]fault.Impairment{} {
		st.note = fmt.Sprintf("%s is still impaired: restore it once more, or heal all, to end that", s.link(st.link).Name)
	} else if !st.changed {
		s.repairImpair(a, st)
	}
	if !st.changed && st.note == "" {
		st.note = s.othersOn(st)
	}
}

// maxActing bounds the faults that othersOn names, chosen by us.
const maxActing = 3

// othersOn says what else acts on the link or switch of a step, and what ends that.
func (s *State) othersOn(st *step) string {
	var ids []int
	var list []string
	links := []weft.LinkID{st.link}
	if st.onSwitch {
		links = s.attached[st.sw]
	}
	for _, id := range links {
		for d, e := range ends(s.link(id)) {
			ids = append(ids, s.Links[id].Cut[d], s.Links[id].Impaired[d])
			if e.Node.IsSwitch() {
				ids = append(ids, s.Crashed[e.Node.Index])
			}
			if why := s.unanswered(e.Node); why != "" && st.onLink {
				list = append(list, why)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if f, n := s.faults[id], s.Incident(id); f != nil && n != nil {
			verb := fault.VerbRestore
			if f.Crash {
				verb = fault.VerbRestart
			}
			list = append(list, fmt.Sprintf("fault %d acts on it, %s: linkmon %s %s ends that",
				id, n.Report.Name(), verb, n.Report.Target))
		}
	}
	if more := len(list) - maxActing; more > 0 {
		list = append(list[:maxActing], fmt.Sprintf("so do %d more: linkmon heal --all ends all", more))
	}
	return strings.Join(list, "; ")
}

// unanswered says that nobody answers for a node; empty: its host does.
func (s *State) unanswered(n weft.Node) string {
	h := s.home(n)
	if !h.Failed {
		return ""
	}
	return fmt.Sprintf("nobody answers for %s, which runs %s: it is down until its host makes it anew",
		h.Label, s.cfg.Graph.Name(n))
}

func (s *State) repairCuts(a *action, st *step) {
	for d, id := range s.Links[st.link].Cut {
		if id != 0 && st.dirs[d] {
			s.endCut(a, s.faults[id], d, st)
			st.changed = true
		}
	}
}

func (s *State) repairImpair(a *action, st *step) {
	for d, id := range s.Links[st.link].Impaired {
		if id != 0 && st.dirs[d] {
			s.endImpair(a, s.faults[id], d, st)
			st.changed = true
		}
	}
}

func (s *State) repairCrash(a *action, st *step) {
	st.note = s.unanswered(st.sw.Node())
	id := s.Crashed[st.sw]
	if id == 0 {
		return
	}
	if i := s.process[st.sw]; i >= 0 && s.Hosts[i].Failed { // the process still counts as the switch
		st.note = fmt.Sprintf("the process of %s is gone, and what it held is being written off: repair it again",
			s.cfg.Graph.Switches[st.sw].Name)
		return
	}
	st.changed = true
	s.over(s.faults[id], st)
	s.Crashed[st.sw] = 0
	s.do(TakeBack{st.sw})
	links := s.attached[st.sw]
	a.touched, a.back, a.restart = append(a.touched, links...), append(a.back, links...), append(a.restart, st.sw)
}

// endCut ends what f does to direction d, and f with its last direction.
func (s *State) endCut(a *action, f *Fault, d int, st *step) {
	l := &s.Links[f.Link]
	l.Cut[d] = 0
	a.restored = append(a.restored, direction(f.Link, d))
	a.touched, a.back = append(a.touched, f.Link), append(a.back, f.Link)
	if l.Cut[1-d] != f.ID {
		s.over(f, st)
	}
}

func (s *State) endImpair(a *action, f *Fault, d int, st *step) {
	l := &s.Links[f.Link]
	l.Impaired[d], l.Suffers[d] = 0, fault.Impairment{}
	a.impair = append(a.impair, direction(f.Link, d))
	if l.Impaired[1-d] != f.ID {
		s.over(f, st)
	}
}

// over ends a fault.
func (s *State) over(f *Fault, st *step) {
	delete(s.faults, f.ID)
	s.do(StopTimer{f.ID})
	if n := s.Incident(f.ID); n != nil {
		st.ended = append(st.ended, n)
	}
}

// Outcomes is what came of the specs of an action; nil: there is no such action any more.
func (s *State) Outcomes(id int) []Outcome {
	a := s.actions[id]
	if a == nil {
		return nil
	}
	out := make([]Outcome, len(a.steps))
	for i := range a.steps {
		st := &a.steps[i]
		o := Outcome{Do: st.spec.Do, Target: s.target(st), Changed: st.changed, Fresh: st.changed}
		o.Healed, o.Note = st.healed, st.note
		if st.report != nil {
			o.Fault = new(st.report.Clone())
		}
		out[i] = o
	}
	return out
}

// target names what a step is about; empty: everything.
func (s *State) target(st *step) string {
	switch {
	case st.onLink:
		return s.link(st.link).Name
	case st.onSwitch:
		return s.cfg.Graph.Switches[st.sw].Name
	}
	return ""
}

// Back are the links that an action has repaired and that should carry packets again.
func (s *State) Back(id int) (list []weft.LinkID) {
	if a := s.actions[id]; a != nil {
		for _, l := range a.back {
			if s.Usable(l) {
				list = append(list, l)
			}
		}
	}
	return list
}

// Pending reports whether what an action repaired is to be waited for.
func (s *State) Pending(id int) bool { return s.actions[id] != nil }
