package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-fabric/weft"
)

// Assignment is the traffic assignment function T and the address assignment function A of Lysne,
// Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks (definitions 2 and 10): by which
// addresses, and in which layers, the NICs of a switch send to a NIC. Read by any number of
// goroutines.
type Assignment struct {
	nics int
	base weft.SwitchID // of the first switch
	at   []sending
}

// sending is how the NICs of one switch send.
type sending struct {
	first []uint32 // per destination NIC, and after the last: where its addresses begin in list
	list  []weft.Address
	own   map[weft.NICID][]ownAddresses // per destination, by port: of NICs that send otherwise than others of the switch
}

// ownAddresses are those by which the NIC at a port sends.
type ownAddresses struct {
	port weft.PortID
	list []weft.Address
}

// NewAssignment asks for the addresses of each destination at each source switch, in the order of
// their numbers, and copies them. VCs beyond vcs, and paths beyond those that each NIC has, are
// refused.
func NewAssignment(switches, nics, vcs, paths int, of func(weft.SwitchID, weft.NICID) []weft.Address) (*Assignment,
	error,
) {
	a := &Assignment{nics: nics, at: make([]sending, switches)}
	for s := range weft.SwitchID(switches) {
		if err := a.ask(s, vcs, paths, of); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Edited is a copy for which the addresses at those switches are asked for anew, as [NewAssignment]
// does. The other switches share theirs with the one before, which stays as it was.
func (a *Assignment) Edited(switches []weft.SwitchID, vcs, paths int,
	of func(weft.SwitchID, weft.NICID) []weft.Address,
) (*Assignment, error) {
	b := *a
	b.at = slices.Clone(a.at)
	before := a.at
	for _, s := range switches {
		if s < b.base || int(s-b.base) >= len(b.at) {
			return nil, fmt.Errorf("a traffic assignment of %d switches has none at switch %d: ask for another", len(b.at), s)
		}
		if err := b.ask(s, vcs, paths, of); err != nil {
			return nil, err
		}
		was, is := &before[s-b.base], &b.at[s-b.base]
		for d, own := range was.own {
			if slices.Equal(was.to(d), is.to(d)) {
				is.setOwn(d, own)
			}
		}
	}
	return &b, nil
}

// NICAddresses are the addresses by which the NIC at a port of a switch sends to another NIC.
type NICAddresses struct {
	Switch weft.SwitchID
	Port   weft.PortID
	Dst    weft.NICID
	List   []weft.Address
}

// WithOwn is the assignment with addresses for single NICs. They must be among those by which the
// NICs of the switch send to that destination. The lists are kept.
func (a *Assignment) WithOwn(own []NICAddresses) (*Assignment, error) {
	b := *a
	b.at = slices.Clone(a.at)
	copied := make(map[weft.SwitchID]bool)
	for _, x := range own {
		all := a.Addresses(x.Switch, x.Dst)
		for _, to := range x.List {
			if !slices.Contains(all, to) {
				return nil, fmt.Errorf("port %d of switch %d sends to NIC %d by path %d in %v, by which the switch does not send",
					x.Port, x.Switch, x.Dst, to.Path, to.VC)
			}
		}
		i := uint(x.Switch - a.base)
		if i >= uint(len(a.at)) {
			return nil, fmt.Errorf("a traffic assignment of %d switches has none at switch %d: ask for another", len(a.at),
				x.Switch)
		}
		if !copied[x.Switch] {
			copied[x.Switch] = true
			was := b.at[i].own
			b.at[i].own = nil
			for d, list := range was {
				b.at[i].setOwn(d, list)
			}
		}
		list := slices.Clone(b.at[i].own[x.Dst])
		at, found := slices.BinarySearchFunc(list, x.Port,
			func(o ownAddresses, p weft.PortID) int { return cmp.Compare(o.port, p) })
		if found {
			return nil, fmt.Errorf("port %d of switch %d has addresses of its own for NIC %d twice", x.Port, x.Switch, x.Dst)
		}
		b.at[i].setOwn(x.Dst, slices.Insert(list, at, ownAddresses{x.Port, x.List}))
	}
	return &b, nil
}

func (x *sending) setOwn(d weft.NICID, own []ownAddresses) {
	if x.own == nil {
		x.own = make(map[weft.NICID][]ownAddresses)
	}
	x.own[d] = own
}

// to are the addresses by which the NICs of the switch send to d, those of all its NICs together.
func (x *sending) to(d weft.NICID) []weft.Address { return x.list[x.first[d]:x.first[d+1]] }

func (a *Assignment) ask(s weft.SwitchID, vcs, paths int, of func(weft.SwitchID, weft.NICID) []weft.Address) error {
	x := sending{first: make([]uint32, 1, a.nics+1), list: make([]weft.Address, 0, a.nics)}
	for d := range weft.NICID(a.nics) {
		for _, to := range of(s, d) {
			if err := checkAddress(s, d, to, vcs, paths); err != nil {
				return err
			}
			x.list = append(x.list, to)
		}
		if len(x.list) > math.MaxUint32 {
			return fmt.Errorf("a traffic assignment of more than %d addresses at switch %d: allow fewer paths",
				uint32(math.MaxUint32), s)
		}
		x.first = append(x.first, uint32(len(x.list)))
	}
	x.list = slices.Clip(x.list)
	a.at[s-a.base] = x
	return nil
}

func checkAddress(s weft.SwitchID, d weft.NICID, x weft.Address, vcs, paths int) error {
	if int(x.VC) >= vcs || int(x.Path) >= paths || x.Layers>>vcs != 0 || x.Layers != 0 && x.Layers>>x.VC&1 == 0 {
		return fmt.Errorf("switch %d sends to NIC %d by path %d in %v of layers %b: there are %d paths and %d layers, and "+
			"it enters in one of its own",
			s, d, x.Path, x.VC, x.Layers, paths, vcs)
	}
	return nil
}

// Addresses are those by which the NICs of switch s send to d, those of all its NICs together, not
// to be written to; none when there is no such switch or NIC.
func (a *Assignment) Addresses(s weft.SwitchID, d weft.NICID) []weft.Address {
	i := uint(s - a.base)
	if int(d) >= a.nics || i >= uint(len(a.at)) {
		return nil
	}
	return a.at[i].to(d)
}

// From are the addresses by which the NIC at a port of switch s sends to d, not to be written to.
func (a *Assignment) From(s weft.SwitchID, p weft.PortID, d weft.NICID) []weft.Address {
	for _, own := range a.own(s, d) {
		if own.port == p {
			return own.list
		}
	}
	return a.Addresses(s, d)
}

// own are the addresses of single NICs of switch s for d.
func (a *Assignment) own(s weft.SwitchID, d weft.NICID) []ownAddresses {
	if i := uint(s - a.base); i < uint(len(a.at)) {
		return a.at[i].own[d]
	}
	return nil
}

// Of is the assignment at switch s alone, which shares what it holds; an empty one if there is no
// such switch.
func (a *Assignment) Of(s weft.SwitchID) *Assignment {
	one := &Assignment{nics: a.nics, base: s}
	if i := uint(s - a.base); i < uint(len(a.at)) {
		one.at = a.at[i : i+1 : i+1]
	}
	return one
}

// shares reports whether two assignments hold the same storage at switch s, and so send alike.
func (a *Assignment) shares(b *Assignment, s weft.SwitchID) bool {
	i, j := uint(s-a.base), uint(s-b.base)
	return a.nics == b.nics && i < uint(len(a.at)) && j < uint(len(b.at)) && &a.at[i].first[0] == &b.at[j].first[0] &&
		len(a.at[i].own) == 0 && len(b.at[j].own) == 0
}
