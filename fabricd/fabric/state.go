package fabric

import (
	"github.com/weft-fabric/weft/nic"
)

// States of a link.
const (
	LinkUp     = "up"
	LinkCut    = "cut"  // signalled
	LinkDown   = "down" // a switch at one of its ends has crashed
	LinkComing = "init" // it has signal, but its ends have not answered each other yet
)

// LinkState is the state of one link.
type LinkState struct {
	Link  string `json:"link"`
	A     string `json:"a"`
	APort int    `json:"a_port"`
	B     string `json:"b"`
	BPort int    `json:"b_port"`
	State string `json:"state"`

	SentAB     uint64 `json:"sent_ab"` // packets A has sent to B since the start
	SentBA     uint64 `json:"sent_ba"`
	LostWire   uint64 `json:"lost_wire"`
	LostQueued uint64 `json:"lost_queued"`
}

// LinkStates returns the state of every link.
func (f *Fabric) LinkStates() []LinkState {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readProcesses()
	out := make([]LinkState, len(f.links))
	for i, l := range f.links {
		a, b := f.endState(l.A), f.endState(l.B)
		lost, _ := f.linkLoss(l)
		out[i] = LinkState{
			Link: l.Name, A: l.dirs[0].From, APort: int(l.A.Port), B: l.dirs[0].To, BPort: int(l.B.Port), State: f.state(l),
			SentAB: a.sent, SentBA: b.sent, LostWire: lost.Wire, LostQueued: lost.Queued,
		}
	}
	return out
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
		if s.crash != nil {
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
