package mirror

import (
	"cmp"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

// States of a switch.
const (
	SwitchUp      = "up"
	SwitchDown    = "down"    // it has crashed, or its process is gone
	SwitchSuspect = "suspect" // it is a process that does not answer
)

// Trouble is the worst that is wrong with a link, in one word.
type Trouble uint8

// Kinds of trouble, the least first.
const (
	Well       Trouble = iota
	Impaired           // it loses, delays or slows what it carries
	Flapping           // it is cut again and again, and up at the moment
	Coming             // it has signal, but its ends have not answered each other yet, or damping holds it down
	Down               // a switch at one of its ends has crashed
	Silent             // cut silently, and its ends have not noticed
	Cut                // cut, and its ends know
	Deadlocked         // packets wait for it in a ring of channels that wait for each other
)

// String is the word for t.
func (t Trouble) String() string {
	return [...]string{"up", "impaired", "flapping", "init", "down", "silent", "cut", "deadlock"}[t]
}

// Trouble is the worst that is wrong with a link now.
func (m *Mirror) Trouble(link int) Trouble {
	for _, d := range m.Deadlock {
		if d.Link == link {
			return Deadlocked
		}
	}
	return trouble(m.Links[link])
}

func trouble(l api.LinkView) Trouble {
	switch {
	case l.State == fabric.LinkCut && l.AUp && l.BUp && cmp.Or(l.CutAB, l.CutBA) == fabric.CutSilent:
		return Silent
	case l.State == fabric.LinkCut:
		return Cut
	case l.State == fabric.LinkDown:
		return Down
	case l.State == fabric.LinkComing || l.HeldA || l.HeldB:
		return Coming
	case l.Flapping:
		return Flapping
	case l.SuffersAB != "" || l.SuffersBA != "":
		return Impaired
	}
	return Well
}

// LinkState is the state of a link with its names, as the fabric itself tells it but for what it
// has carried.
func (m *Mirror) LinkState(link int) fabric.LinkState {
	v, l := m.Links[link], m.Topology.Links[link]
	s := fabric.LinkState{
		Link: l.ID, A: l.A, APort: l.APort, B: l.B, BPort: l.BPort, State: v.State,
		CutAB: v.CutAB, CutBA: v.CutBA, Flapping: v.Flapping, SuffersAB: v.SuffersAB, SuffersBA: v.SuffersBA,
		AUp: v.AUp, BUp: v.BUp, HeldA: v.HeldA, HeldB: v.HeldB,
	}
	for _, name := range []string{l.A, l.B} {
		if i := m.Topology.Switch(name); i >= 0 {
			switch m.Switches[i].State {
			case SwitchDown:
				s.Dead = append(s.Dead, name)
			case SwitchSuspect:
				s.Suspect = append(s.Suspect, name)
				s.Quiet = s.Suspect
			}
		}
	}
	return s
}

// Count is how many links suffer each kind of trouble.
func (m *Mirror) Count() (by [Deadlocked + 1]int) {
	for _, l := range m.Links {
		by[trouble(l)]++
	}
	return by
}

// SwitchesUp is how many switches run.
func (m *Mirror) SwitchesUp() (n int) {
	for _, s := range m.Switches {
		if s.State != SwitchDown {
			n++
		}
	}
	return n
}
