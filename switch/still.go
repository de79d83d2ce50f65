package switching

import (
	"math/bits"

	"github.com/weft-fabric/weft"
)

// PortSet is a set of ports of one switch.
type PortSet [weft.MaxPorts / 64]uint64

// Add puts p into the set.
func (s *PortSet) Add(p weft.PortID) { s[p/64] |= 1 << (p % 64) }

// Remove takes p out of the set.
func (s *PortSet) Remove(p weft.PortID) { s[p/64] &^= 1 << (p % 64) }

// Has reports whether p is in the set. A port that no switch can have is not.
func (s *PortSet) Has(p weft.PortID) bool { return int(p) < weft.MaxPorts && s[p/64]>>(p%64)&1 == 1 }

// Len is how many ports the set has.
func (s *PortSet) Len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Union is the set of the ports that s or t has.
func (s *PortSet) Union(t *PortSet) (both PortSet) {
	for i := range s {
		both[i] = s[i] | t[i]
	}
	return both
}

// Still is a switch that stands still: what a firmware would see of it, set by whoever wants to
// know what the firmware would do. It is what explores, explains and tests firmwares without a
// pipeline.
type Still struct {
	At        *weft.Place
	Dead      PortSet  // ports whose link is down; so is a port that leads nowhere
	Channels  int      // what VCs says; 0 means 1
	Registers []uint64 // values of the declared registers, all of them
	Free      int      // what Room and Credits say of every output queue that is not named in Queued
	Queued    map[Output]int
	Random    uint64 // what Draw returns
	Time      weft.Time
	// Asked is what the firmware has looked at since it was last set to zero.
	Asked Asked

	scratch []Candidate
}

// Asked tells what a firmware looks at beside the packet, its arrival and which ports are up.
type Asked struct {
	Register bool // a register
	Queues   bool // room, occupancy or credits
	Draw     bool
	Now      bool
}

// Place implements [View].
func (s *Still) Place() *weft.Place { return s.At }

// VCs implements [View].
func (s *Still) VCs() int { return max(1, s.Channels) }

// PortUp implements [View].
func (s *Still) PortUp(p weft.PortID) bool {
	return int(p) < len(s.At.Roles) && s.At.Roles[p] != weft.RoleNone && !s.Dead.Has(p)
}

// Room implements [View].
func (s *Still) Room(p weft.PortID, vc weft.VC) int {
	return max(0, s.Credits(p, vc)-s.Occupancy(p, vc))
}

// Occupancy implements [View].
func (s *Still) Occupancy(p weft.PortID, vc weft.VC) int {
	s.Asked.Queues = true
	return s.Queued[Output{Port: p, VC: vc}]
}

// Credits implements [View].
func (s *Still) Credits(weft.PortID, weft.VC) int {
	s.Asked.Queues = true
	return s.Free
}

// Register implements [View].
func (s *Still) Register(i int) uint64 {
	s.Asked.Register = true
	if uint(i) >= uint(len(s.Registers)) {
		undeclared(i, s.At, len(s.Registers))
	}
	return s.Registers[i]
}

// Draw implements [View].
func (s *Still) Draw() uint64 {
	s.Asked.Draw = true
	return s.Random
}

// Now implements [View].
func (s *Still) Now() weft.Time {
	s.Asked.Now = true
	return s.Time
}

// Scratch implements [View].
func (s *Still) Scratch() []Candidate {
	if s.scratch == nil {
		s.scratch = make([]Candidate, 0, len(s.At.Roles)*weft.MaxVCs)
	}
	return s.scratch[:0]
}
