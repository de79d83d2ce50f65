package leader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// States of a link.
const (
	LinkUp     = "up"
	LinkCut    = "cut"  // nothing comes through, in one direction at least
	LinkDown   = "down" // a switch at one of its ends has crashed
	LinkComing = "init" // it has carrier, but its ends have not answered each other yet
)

// How a direction of a link is cut.
const (
	CutSignalled = "signalled" // its ends were told
	CutSilent    = "silent"    // nobody was
)

// View is the state of a link for viewers. Arrays are by direction, A to B first, or by end, A
// first.
type View struct {
	State   string
	Cut     [2]string // CutSignalled or CutSilent; empty: it is not
	Flaps   bool      // it is cut again and again, whether it is now or not
	Suffers [2]fault.Impairment
	Up      [2]bool // as the end sees it
}

// Picture is what there is to see of all links and switches at one moment.
type Picture struct {
	Links   []View // by number
	Crashed []int  // per switch, the fault; 0: it runs
}

// Picture is a copy of what there is to see now.
func (s *State) Picture() *Picture {
	p := &Picture{Links: make([]View, len(s.Links)), Crashed: slices.Clone(s.Crashed)}
	for i := range p.Links {
		p.Links[i] = s.View(weft.LinkID(i))
	}
	return p
}

// View returns the state of a link now.
func (s *State) View(id weft.LinkID) View {
	l := &s.Links[id]
	v := View{Suffers: l.Suffers, Up: l.Up, State: s.LinkState(id)}
	for d := range both {
		if f := s.faults[l.Cut[d]]; f != nil {
			v.Flaps = v.Flaps || f.Spec.Do == fault.VerbFlap
			switch {
			case f.FlapUp:
			case f.Spec.Silent:
				v.Cut[d] = CutSilent
			default:
				v.Cut[d] = CutSignalled
			}
		}
	}
	return v
}

// LinkState names the state of a link.
func (s *State) LinkState(id weft.LinkID) string {
	switch l := &s.Links[id]; {
	case s.IsCut(id, 0) || s.IsCut(id, 1):
		return LinkCut
	case !s.Alive(id):
		return LinkDown
	case l.Up[0] && l.Up[1]:
		return LinkUp
	}
	return LinkComing
}

// IsWell reports whether nothing is wrong with a link.
func (s *State) IsWell(id weft.LinkID) bool {
	l := &s.Links[id]
	return s.Usable(id) && l.Up[0] && l.Up[1] && l.Suffers[0].IsZero() && l.Suffers[1].IsZero()
}

// FaultOn names the faults in force on a link; empty: none.
func (s *State) FaultOn(id weft.LinkID) string {
	var list []string
	add := func(what string, incident int) {
		what += fmt.Sprintf(", fault %d", incident)
		if !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	l := &s.Links[id]
	for d := range both {
		switch {
		case !s.IsCut(id, d):
		case s.Signalled(id, d):
			add("cut", l.Cut[d])
		default:
			add("cut silently", l.Cut[d])
		}
		if !l.Suffers[d].IsZero() && l.Impaired[d] != 0 {
			add(l.Suffers[d].String(), l.Impaired[d])
		}
	}
	for _, e := range ends(s.link(id)) {
		if e.Node.IsSwitch() && s.Crashed[e.Node.Index] != 0 {
			add(s.cfg.Graph.Name(e.Node)+" is down", s.Crashed[e.Node.Index])
		}
	}
	for _, d := range l.Outages {
		add("no broker", d.Incident)
	}
	return strings.Join(list, "; ")
}
