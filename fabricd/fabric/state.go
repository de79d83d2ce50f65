package fabric

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// States of a link.
const (
	LinkUp     = "up"
	LinkCut    = "cut"  // nothing comes through, in one direction at least
	LinkDown   = "down" // a switch at one of its ends has crashed
	LinkComing = "init" // it has signal, but its ends have not answered each other yet
)

// How a direction of a link is cut.
const (
	CutSignalled = "signalled" // its ends were told
	CutSilent    = "silent"    // nobody was
)

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
	Dead  []string `json:"dead,omitempty"`  // have crashed, or their process is gone
	Quiet []string `json:"quiet,omitempty"` // are processes that do not answer; what they see is what they last said

	SentAB     uint64 `json:"sent_ab"` // packets A has sent to B since the start
	SentBA     uint64 `json:"sent_ba"`
	LostWire   uint64 `json:"lost_wire"`
	LostQueued uint64 `json:"lost_queued"`
}

// LinkStates returns the state of every link.
func (f *Fabric) LinkStates() []LinkState {
	f.lookAtHosts(f.readAll)
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]LinkState, len(f.links))
	sums, passed := f.ledger.onLinks(), map[*hostState][]ledger.Passed{}
	for i, l := range f.links {
		lost := lossOf(&sums[i])
		dead, quiet := f.troubled(l)
		out[i] = LinkState{
			Dead: dead, Quiet: quiet,
			Link: l.Name, A: l.dirs[0].From, APort: int(l.A.Port), B: l.dirs[0].To, BPort: int(l.B.Port), State: f.state(l),
			CutAB: l.howCut(0), CutBA: l.howCut(1), Flapping: l.flaps(0) || l.flaps(1),
			SuffersAB: suffering(l.suffers[0]), SuffersBA: suffering(l.suffers[1]),
			AUp: l.up[0].Load(), BUp: l.up[1].Load(), HeldA: f.hostOf(l.A.Node).held(l.A), HeldB: f.hostOf(l.B.Node).held(l.B),
			SentAB: f.sentAt(l.A, passed), SentBA: f.sentAt(l.B, passed), LostWire: lost.Wire, LostQueued: lost.Queued,
		}
	}
	return out
}

// troubled names the switches at the ends of l that are down, and those that do not answer. The caller holds mu.
func (f *Fabric) troubled(l *link) (dead, quiet []string) {
	for _, e := range l.ends() {
		switch h := f.hostOf(e.Node); {
		case h.failed.Load(), e.Node.IsSwitch() && f.switches[e.Node.Index].crash != nil:
			dead = append(dead, f.graph.Name(e.Node))
		case h.suspect.Load():
			quiet = append(quiet, f.graph.Name(e.Node))
		}
	}
	return dead, quiet
}

// SwitchProcess is a switch that is a process of its own.
type SwitchProcess struct {
	Switch  string `json:"switch"`
	PID     int    `json:"pid"`
	Host    string `json:"host"`
	Answers bool   `json:"answers"` // false: it has stopped, or cannot be reached
}

// SwitchProcesses are the switches that are processes, in the order of the topology.
func (f *Fabric) SwitchProcesses() []SwitchProcess {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []SwitchProcess{}
	for _, s := range f.switches {
		if h := s.process(); h != nil {
			proc := h.owner.Load()
			list = append(list, SwitchProcess{s.name, proc.pid, proc.host, !h.suspect.Load()})
		}
	}
	return list
}

// ImpairedLinks names the links that lose, delay or slow what they carry.
func (f *Fabric) ImpairedLinks() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := []string{}
	for _, l := range f.links {
		if !l.suffers[0].IsZero() || !l.suffers[1].IsZero() {
			names = append(names, l.Name)
		}
	}
	return names
}

// Well reports whether the link is up and nothing has been done to it.
func (s LinkState) Well() bool {
	return s.State == LinkUp && s.CutAB == "" && s.CutBA == "" && !s.Flapping && s.SuffersAB == "" && s.SuffersBA == ""
}

// howCut says how direction d is cut now. The caller holds Fabric.mu.
func (l *link) howCut(d int) string {
	switch {
	case !l.isCut(d):
		return ""
	case l.signalled(d):
		return CutSignalled
	}
	return CutSilent
}

func (l *link) flaps(d int) bool { return l.cut[d] != nil && l.cut[d].spec.Do == fault.VerbFlap }

func suffering(i fault.Impairment) string {
	if i.IsZero() {
		return ""
	}
	return i.String()
}

// state names the state of l. The caller holds mu.
func (f *Fabric) state(l *link) string {
	switch {
	case l.isCut(0) || l.isCut(1):
		return LinkCut
	case !f.alive(l):
		return LinkDown
	case l.up[0].Load() && l.up[1].Load():
		return LinkUp
	}
	return LinkComing
}

// LinksDown names the links that are not up.
func (f *Fabric) LinksDown() []string { return f.linksThat(func(s string) bool { return s != LinkUp }) }

// CutLinks names the links that are cut.
func (f *Fabric) CutLinks() []string { return f.linksThat(func(s string) bool { return s == LinkCut }) }

func (f *Fabric) linksThat(ok func(state string) bool) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := []string{}
	for _, l := range f.links {
		if ok(f.state(l)) {
			names = append(names, l.Name)
		}
	}
	return names
}

// CrashedSwitches names the switches that have crashed.
func (f *Fabric) CrashedSwitches() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := []string{}
	for i, s := range f.switches {
		if s.crash != nil || s.home.failed.Load() {
			names = append(names, f.graph.Switches[i].Name)
		}
	}
	return names
}

// Traffic is what the NICs inject now.
func (f *Fabric) Traffic() nic.Traffic {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.traffic
}

// Firmware is the firmware of the switches.
func (f *Fabric) Firmware() switching.Firmware {
	fw := f.opts.Firmware
	if w, ok := fw.(interface{ Unwrap() switching.Firmware }); ok {
		return w.Unwrap()
	}
	return fw
}

// SwitchState names the state of a switch: SwitchUp, SwitchDown or SwitchQuiet.
func (f *Fabric) SwitchState(id weft.SwitchID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.switches[id].state()
}

// ProcessOf names the process or the host that a switch is run by, "" for a switch of the fabric's own.
func (f *Fabric) ProcessOf(id weft.SwitchID) string {
	if h := f.hostOf(id.Node()); h.late() {
		return h.String()
	}
	return ""
}

// state names the state of s. The caller holds Fabric.mu.
func (s *liveSwitch) state() string {
	if s.crash != nil || s.home.failed.Load() {
		return SwitchDown
	}
	if h := s.process(); h != nil && h.suspect.Load() || s.home.suspect.Load() {
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
