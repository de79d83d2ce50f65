package firmware

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// Mixed is f, but with other firmwares at some switches, as while switches get a new one. A NIC does
// as the firmware of its switch says. What one firmware writes into a packet the others find there.
// The name is that of f, and there are no tables that could be replaced.
func Mixed(f Firmware, at map[weft.SwitchID]Firmware) Firmware {
	first, others := f, map[weft.SwitchID]*Firmware{}
	f.On, f.VCs, f.Options = Anything, 1, nil // Check asks for what each needs
	f.Symmetric, f.ChannelNumber, f.Program, f.Programmed = false, nil, nil, nil
	registers, addresses := f.Registers != nil, f.Addresses != nil
	for id, fw := range at {
		others[id] = &fw
		f.DestinationBased, f.Notifies = f.DestinationBased && fw.DestinationBased, f.Notifies || fw.Notifies
		registers, addresses = registers || fw.Registers != nil, addresses || fw.Addresses != nil
		f.MostHops = larger(f.MostHops, fw.MostHops)
	}
	of := func(place *weft.Place) *Firmware {
		if fw, ok := others[place.Switch]; ok {
			return fw
		}
		return &first
	}
	f.Route = func(pkt *weft.Header, arrival Arrival, sw View) Decision {
		return of(sw.Place()).Route(pkt, arrival, sw)
	}
	if registers {
		f.Registers = func(place *weft.Place) []Register { return of(place).RegistersAt(place) }
	}
	f.CheckRequeue = func(place *weft.Place) error { return of(place).Requeues(place) }
	f.Check = func(place *weft.Place, vcs int) error {
		if err := of(place).Fits(place, vcs); err != nil {
			return fmt.Errorf("is mixed with others: %w", err)
		}
		return nil
	}
	f.LeastRoom = func(place *weft.Place) int {
		if need := of(place).LeastRoom; need != nil {
			return need(place)
		}
		return 1
	}
	f.Source = func(leaf *weft.Place, at weft.PortID, h *weft.Header) {
		if source := of(leaf).Source; source != nil {
			source(leaf, at, h)
		}
	}
	if addresses {
		f.Addresses = func(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address {
			if own := of(leaf).Addresses; own != nil {
				return own(leaf, at, dst)
			}
			return nil
		}
	}
	f.HeaderBytes = func(fields *weft.Fields) int { // no place says whose: the most that any says
		most := bytes(&first, fields)
		for _, fw := range others {
			most = max(most, bytes(fw, fields))
		}
		return most
	}
	return f
}

// larger is the larger of two bounds, of which 0 is none.
func larger(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

func bytes(f *Firmware, fields *weft.Fields) int {
	if f.HeaderBytes == nil {
		return 0
	}
	return f.HeaderBytes(fields)
}
