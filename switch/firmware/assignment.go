package firmware

import (
	"fmt"
	"math"

	"github.com/weft-fabric/weft"
)

// Assignment is the traffic assignment function T and the address assignment function A of Lysne, Skeie, Reinemo, Theiss: Layered
// Routing in Irregular Networks (definitions 2 and 10): by which addresses, and in which layers, the NICs of a switch send to a NIC.
// Read by any number of goroutines.
type Assignment struct {
	nics  int
	first []uint32 // per source switch and destination NIC: where its addresses begin in list
	list  []weft.Address
}

// NewAssignment asks for the addresses of each destination at each source switch, in the order of their numbers, and copies them.
// VCs beyond vcs, and paths beyond those that each NIC has, are refused.
func NewAssignment(switches, nics, vcs, paths int, of func(weft.SwitchID, weft.NICID) []weft.Address) (*Assignment, error) {
	a := &Assignment{nics: nics, first: make([]uint32, 1, switches*nics+1)}
	for s := range weft.SwitchID(switches) {
		for d := range weft.NICID(nics) {
			for _, x := range of(s, d) {
				if int(x.VC) >= vcs || int(x.Path) >= paths || x.Layers>>vcs != 0 || x.Layers != 0 && x.Layers>>x.VC&1 == 0 {
					return nil, fmt.Errorf("switch %d sends to NIC %d by path %d in %v of layers %b: there are %d paths and %d layers, and it enters in one of its own",
						s, d, x.Path, x.VC, x.Layers, paths, vcs)
				}
				a.list = append(a.list, x)
			}
			if len(a.list) > math.MaxUint32 {
				return nil, fmt.Errorf("a traffic assignment of more than %d addresses: allow fewer paths", uint32(math.MaxUint32))
			}
			a.first = append(a.first, uint32(len(a.list)))
		}
	}
	return a, nil
}

// Addresses are those by which the NICs of switch s send to d, not to be written to; none when there is no such switch or NIC.
func (a *Assignment) Addresses(s weft.SwitchID, d weft.NICID) []weft.Address {
	i := int(s)*a.nics + int(d)
	if int(d) >= a.nics || i+1 >= len(a.first) {
		return nil
	}
	return a.list[a.first[i]:a.first[i+1]]
}
