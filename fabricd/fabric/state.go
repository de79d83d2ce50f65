package fabric

import (
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// States of a link.
const (
	LinkUp     = leader.LinkUp
	LinkCut    = leader.LinkCut    // nothing comes through, in one direction at least
	LinkDown   = leader.LinkDown   // a switch at one of its ends has crashed
	LinkComing = leader.LinkComing // it has signal, but its ends have not answered each other yet
)

// How a direction of a link is cut.
const (
	CutSignalled = leader.CutSignalled // its ends were told
	CutSilent    = leader.CutSilent    // nobody was
)

// reader is the side of a fabric that is looked at: status, the page and metrics ask it. It changes
// nothing, and touches nothing that only the loop touches. Any goroutine may call it.
type reader struct {
	*site
	notices *notices
	latency *hdrhistogram.Histogram // of all NICs, in virtual time, where they share a goroutine; live each has its own
}

func newReader(si *site, n *notices) *reader {
	rd := &reader{site: si, notices: n}
	if si.Virtual() {
		rd.latency = nic.NewLatency()
	}
	return rd
}

// LinkState is the state of one link.
type LinkState struct {
	Link  string `json:"link"`
	A     string `json:"a"`
	APort int    `json:"a_port"`
	B     string `json:"b"`
	BPort int    `json:"b_port"`
	State string `json:"state"`

	// What has been done to the directions A to B and B to A; empty: nothing.
	CutAB     string `json:"cut_ab"` // CutSignalled or CutSilent
	CutBA     string `json:"cut_ba"`
	Flapping  bool   `json:"flapping"`   // cut again and again, whether it is now or not
	SuffersAB string `json:"suffers_ab"` // as "loss 10%, delay 5ms ± 1ms"
	SuffersBA string `json:"suffers_ba"`

	// What the ends make of it.
	AUp   bool `json:"a_up"` // A takes the link for up
	BUp   bool `json:"b_up"`
	HeldA bool `json:"held_a"` // damping keeps A from using it
	HeldB bool `json:"held_b"`

	// Switches at its ends, by name.
	Dead    []string `json:"dead,omitempty"`    // have crashed, or their process is gone
	Suspect []string `json:"suspect,omitempty"` // are processes that do not answer; what they see is what they last said
	Quiet   []string `json:"quiet,omitempty"`   // the same, under their old name: until 0.2.0

	SentAB     uint64 `json:"sent_ab"` // packets A has sent to B since the start
	SentBA     uint64 `json:"sent_ba"`
	LostWire   uint64 `json:"lost_wire"`
	LostQueued uint64 `json:"lost_queued"`
}

// LinkStates returns the state of every link.
func (rd *reader) LinkStates() []LinkState {
	rd.lookAtNodes()
	out := make([]LinkState, len(rd.links))
	sums, totals, seen := rd.ledger.seen().Links, map[*hostState][]ledger.LinkTotal{}, rd.seen()
	for i, l := range rd.links {
		v, lost := seen.Links[i], lossOf(&sums[i])
		dead, suspect := rd.absentEnds(l, seen.Crashed)
		out[i] = LinkState{
			Dead: dead, Suspect: suspect, Quiet: suspect,
			Link: l.Name, A: l.dirs[0].From, APort: int(l.A.Port), B: l.dirs[0].To, BPort: int(l.B.Port), State: v.State,
			CutAB: v.Cut[0], CutBA: v.Cut[1], Flapping: v.Flaps, SuffersAB: suffering(v.Suffers[0]),
			SuffersBA: suffering(v.Suffers[1]),
			AUp:       v.Up[0], BUp: v.Up[1], HeldA: rd.hostOf(l.A.Node).held(l.A), HeldB: rd.hostOf(l.B.Node).held(l.B),
			SentAB: rd.sentAt(l.A, totals), SentBA: rd.sentAt(l.B, totals), LostWire: lost.Wire, LostQueued: lost.Queued,
		}
	}
	return out
}

// absentEnds names the switches at the ends of l that are down, and those that do not answer.
func (rd *reader) absentEnds(l *link, crashed []int) (dead, suspect []string) {
	for _, e := range l.ends() {
		switch h := rd.hostOf(e.Node); {
		case h.failed.Load(), e.Node.IsSwitch() && crashed[e.Node.Index] != 0:
			dead = append(dead, rd.graph.Name(e.Node))
		case h.suspect.Load():
			suspect = append(suspect, rd.graph.Name(e.Node))
		}
	}
	return dead, suspect
}

// SwitchProcess is a switch that is a process of its own.
type SwitchProcess struct {
	Switch  string `json:"switch"`
	PID     int    `json:"pid"`
	Host    string `json:"host"`
	Answers bool   `json:"answers"` // false: it has stopped, or cannot be reached
}

// SwitchProcesses are the switches that are processes, in the order of the topology.
func (rd *reader) SwitchProcesses() []SwitchProcess {
	list := []SwitchProcess{}
	for _, s := range rd.switches {
		if !s.moved.Load() {
			continue
		}
		h := s.own.Load()
		if o := h.owner.Load(); o != nil && o.agent == "" {
			list = append(list, SwitchProcess{s.name, o.pid, o.machine, !h.suspect.Load()})
		}
	}
	return list
}

// ImpairedLinks names the links that lose, delay or slow what they carry.
func (rd *reader) ImpairedLinks() []string {
	return rd.linksThat(func(v *leader.View) bool { return !v.Suffers[0].IsZero() || !v.Suffers[1].IsZero() })
}

// Well reports whether the link is up and nothing has been done to it.
func (s LinkState) Well() bool {
	return s.State == LinkUp && s.CutAB == "" && s.CutBA == "" && !s.Flapping && s.SuffersAB == "" && s.SuffersBA == ""
}

func suffering(i fault.Impairment) string {
	if i.IsZero() {
		return ""
	}
	return i.String()
}

// LinksDown names the links that are not up.
func (rd *reader) LinksDown() []string {
	return rd.linksThat(func(v *leader.View) bool { return v.State != LinkUp })
}

// CutLinks names the links that are cut.
func (rd *reader) CutLinks() []string {
	return rd.linksThat(func(v *leader.View) bool { return v.State == LinkCut })
}

// linksThat names links. It makes no picture of all, which in a large fabric is megabytes a second.
func (rd *reader) linksThat(ok func(v *leader.View) bool) []string {
	names := []string{}
	rd.read(func(s *leader.State) {
		var v leader.View
		for i, l := range rd.links {
			if v = s.View(weft.LinkID(i)); ok(&v) {
				names = append(names, l.Name)
			}
		}
	})
	return names
}

// CrashedSwitches names the switches that have crashed.
func (rd *reader) CrashedSwitches() []string {
	names, seen := []string{}, rd.seen()
	for _, s := range rd.switches {
		if seen.Crashed[s.id] != 0 || rd.hostOf(s.id.Node()).failed.Load() {
			names = append(names, s.name)
		}
	}
	return names
}

// Firmware is the firmware of the switches.
func (rd *reader) Firmware() switching.Firmware { return rd.opts.Firmware }

// SwitchState names the state of a switch: SwitchUp, SwitchDown or SwitchSuspect.
func (rd *reader) SwitchState(id weft.SwitchID) string {
	return rd.switches[id].state(rd.crashOf(rd.switches[id]) != 0)
}

// ProcessOf names the process or the host that a switch is run by, "" for a switch of the fabric's
// own.
func (rd *reader) ProcessOf(id weft.SwitchID) string {
	if h := rd.hostOf(id.Node()); h.late() {
		return h.String()
	}
	return ""
}

// state names the state of s, which has crashed or not.
func (s *liveSwitch) state(crashed bool) string {
	h := s.home.site.hostOf(s.id.Node())
	switch {
	case crashed, h.failed.Load():
		return SwitchDown
	case h.suspect.Load():
		return SwitchSuspect
	}
	return SwitchUp
}

// RegisterText puts the registers that are not zero into words, as "p0.1: 0b10, p1.2: 0b1".
func RegisterText(registers []switching.RegisterSnapshot) string {
	var parts []string
	for _, r := range registers {
		if r.Value != 0 {
			parts = append(parts, fmt.Sprintf("%s: %#b", r.Name, r.Value))
		}
	}
	return strings.Join(parts, ", ")
}
