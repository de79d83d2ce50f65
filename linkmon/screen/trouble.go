package screen

import (
	"cmp"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

// States of a switch.
const (
	switchUp      = "up"
	switchDown    = "down"    // it has crashed, or its process is gone
	switchSuspect = "suspect" // it is a process that does not answer
)

// troubleOf is the worst that is wrong with a link, in one word.
type trouble uint8

// Kinds of trouble, the least first.
const (
	linkWell       trouble = iota
	linkImpaired           // it loses, delays or slows what it carries
	linkFlapping           // it is cut again and again, and up at the moment
	linkComing             // it has signal, but its ends have not answered each other yet, or damping holds it down
	linkDown               // a switch at one of its ends has crashed
	linkSilent             // cut silently, and its ends have not noticed
	linkCut                // cut, and its ends know
	linkDeadlocked         // packets wait for it in a ring of channels that wait for each other
)

// String is the word for t.
func (t trouble) String() string {
	return [...]string{"up", "impaired", "flapping", "init", "down", "silent", "cut", "deadlock"}[t]
}

// troubleOf is the worst that is wrong with a link now.
func (m *mirror) Trouble(link int) trouble {
	for _, d := range m.Deadlock {
		if d.Link == link {
			return linkDeadlocked
		}
	}
	return troubleOf(m.Links[link])
}

func troubleOf(l api.LinkView) trouble {
	switch {
	case l.State == fabric.LinkCut && l.AUp && l.BUp && cmp.Or(l.CutAB, l.CutBA) == fabric.CutSilent:
		return linkSilent
	case l.State == fabric.LinkCut:
		return linkCut
	case l.State == fabric.LinkDown:
		return linkDown
	case l.State == fabric.LinkComing || l.HeldA || l.HeldB:
		return linkComing
	case l.Flapping:
		return linkFlapping
	case l.SuffersAB != "" || l.SuffersBA != "":
		return linkImpaired
	}
	return linkWell
}

// LinkState is the state of a link with its names, as the fabric itself tells it but for what it
// has carried.
func (m *mirror) LinkState(link int) fabric.LinkState {
	v, l := m.Links[link], m.Topology.Links[link]
	s := fabric.LinkState{
		Link: l.ID, A: l.A, APort: l.APort, B: l.B, BPort: l.BPort, State: v.State,
		CutAB: v.CutAB, CutBA: v.CutBA, Flapping: v.Flapping, SuffersAB: v.SuffersAB, SuffersBA: v.SuffersBA,
		AUp: v.AUp, BUp: v.BUp, HeldA: v.HeldA, HeldB: v.HeldB,
	}
	for _, name := range []string{l.A, l.B} {
		if i := m.Topology.Switch(name); i >= 0 {
			switch m.Switches[i].State {
			case switchDown:
				s.Dead = append(s.Dead, name)
			case switchSuspect:
				s.Suspect = append(s.Suspect, name)
				s.Quiet = s.Suspect
			}
		}
	}
	return s
}

// Count is how many links suffer each kind of trouble.
func (m *mirror) Count() (by [linkDeadlocked + 1]int) {
	for _, l := range m.Links {
		by[troubleOf(l)]++
	}
	return by
}

// SwitchesUp is how many switches run.
func (m *mirror) SwitchesUp() (n int) {
	for _, s := range m.Switches {
		if s.State != switchDown {
			n++
		}
	}
	return n
}
