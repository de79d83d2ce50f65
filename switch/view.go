package switching

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// view is a Switch as its firmware sees it.
type view Switch

func (v *view) sw() *Switch        { return (*Switch)(v) }
func (v *view) Place() *weft.Place { return v.place }
func (v *view) VCs() int           { return v.vcs }
func (v *view) Draw() uint64       { return v.cfg.Rand.Uint64() }
func (v *view) Now() weft.Time     { return v.now }

func (v *view) Scratch() []Candidate {
	if v.scratch == nil {
		v.scratch = make([]Candidate, 0, len(v.in))
	}
	return v.scratch[:0]
}

// Register panics for one that is not declared: the panic is what becomes of the packet.
func (v *view) Register(i int) uint64 {
	if uint(i) >= uint(len(v.registers)) {
		undeclared(i, v.place, len(v.registers))
	}
	return v.registers[i].value
}

func undeclared(i int, place *weft.Place, declared int) {
	panic(fmt.Sprintf("it reads register %d of %s and declares %d: declare it, or read another",
		i, place.Name, declared))
}

// PortUp is false for a port there is not: a destination from outside may be one that the topology
// does not have.
func (v *view) PortUp(p weft.PortID) bool { return int(p) < len(v.ports) && v.sw().portUp(p) }

func (v *view) Room(p weft.PortID, vc weft.VC) int {
	return v.sw().room(v.sw().channel(p, vc))
}

func (v *view) Occupancy(p weft.PortID, vc weft.VC) int {
	return int(v.out[v.sw().channel(p, vc)].n)
}

func (v *view) Credits(p weft.PortID, vc weft.VC) int { return v.ports[p].end.Credits(vc) }
