package firmware

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Mixed is f, but with other firmwares at some switches, as while switches get a new one. A NIC
// does as the firmware of its switch says. What one firmware writes into a packet the others find
// there. The name is that of f, and there are no tables that could be replaced.
func Mixed(f Firmware, at map[weft.SwitchID]Firmware) Firmware {
	first, others := f, map[weft.SwitchID]*Firmware{}
	all := []*Firmware{&first}
	for id, fw := range at {
		others[id] = &fw
		all = append(all, &fw)
	}
	of := func(place *weft.Place) *Firmware {
		if fw, ok := others[place.Switch]; ok {
			return fw
		}
		return &first
	}
	f.On, f.VCs, f.Options = Anything, 1, nil // Check asks for what each needs
	f.Symmetric, f.Cyclic, f.Vectors = false, false, false
	f.ChannelNumber, f.Program, f.Programmed = nil, nil, nil
	slow := false
	for _, fw := range all {
		f.DestinationBased, f.Notifies = f.DestinationBased && fw.DestinationBased, f.Notifies || fw.Notifies
		if fw.Registers != nil {
			f.Registers = func(place *weft.Place) []Register { return of(place).RegistersAt(place) }
		}
		if fw.Addresses != nil {
			f.Addresses = func(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address {
				if own := of(leaf).Addresses; own != nil {
					return own(leaf, at, dst)
				}
				return nil
			}
		}
		f.MostHops = max(f.MostHops, cmp.Or(fw.MostHops, weft.MaxHops))
		slow = slow || fw.Batch != nil
	}
	f.Route = func(pkt *weft.Header, arrival Arrival, sw View) Decision {
		return of(sw.Place()).Route(pkt, arrival, sw)
	}
	if slow {
		f.Reads = switching.Asked{Queues: true, Draw: true, Now: true} // as a Route may
		f.Batch = func(asks []*switching.Ask) func() {                 // of one switch
			fw := of(asks[0].View.Place())
			if fw.Batch != nil {
				return fw.Batch(asks)
			}
			routeAll(fw, asks)
			return func() {}
		}
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
	f.HeaderBytes = func(fields *weft.Fields) (most int) { // no place says whose: the most that any says
		for _, fw := range all {
			if fw.HeaderBytes != nil {
				most = max(most, fw.HeaderBytes(fields))
			}
		}
		return most
	}
	return f
}

// routeAll answers asks by the Route of a firmware.
func routeAll(fw *Firmware, asks []*switching.Ask) {
	for _, k := range asks {
		func() {
			defer func() {
				if v := recover(); v != nil {
					k.Err = errors.New(switching.PanicReason(v))
				}
			}()
			k.Decision = fw.Route(&k.Packet, k.At, k.View)
			k.Decision.Candidates = slices.Clone(k.Decision.Candidates) // they may be in the one Scratch of all
		}()
	}
}
