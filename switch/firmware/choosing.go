package firmware

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Choice settles one choice that a firmware leaves open: of the candidates for packets that come
// into Switch by one of the ports In, those at one of the ports To.
type Choice struct {
	Switch weft.SwitchID
	In, To []weft.PortID
	VC     *weft.VC // only candidates in this VC; nil: in any
	// Hop, unless 0, limits the choice to packets that have come to so many switches, this one
	// included.
	Hop int
	// Every, unless 0, repeats it each time that a packet has crossed so many switches more.
	Every int
}

// Choosing runs f with the choices settled: where f leaves several candidates, the first choice
// that is about such a packet and has some of the candidates leaves only these. It adds no
// candidate, so a packet goes only where f would let it go; but a blocked packet waits for what is
// left only. It is how a path that an adversary has chosen is followed again.
//
// The result has the registers of f and starts packets as f does. It is no [Requeuer].
func Choosing(f Firmware, choices []Choice) Firmware {
	c := &choosing{Firmware: f, at: map[weft.SwitchID][]Choice{}}
	for _, choice := range choices {
		c.at[choice.Switch] = append(c.at[choice.Switch], choice)
	}
	return c
}

// choosing is constant, as every firmware.
type choosing struct {
	Firmware
	at map[weft.SwitchID][]Choice
}

// Unwrap is the firmware whose choices are settled. It has a name, this one has none.
func (c *choosing) Unwrap() Firmware { return c.Firmware }

// Check implements [Checker].
func (c *choosing) Check(place *weft.Place, vcs int) error {
	for _, choice := range c.at[place.Switch] {
		if choice.VC != nil && int(*choice.VC) >= vcs {
			return fmt.Errorf("a choice at %s names VC %d, and there are %d: the first is 0", place.Name, *choice.VC, vcs)
		}
	}
	if k, ok := c.Firmware.(Checker); ok {
		return k.Check(place, vcs)
	}
	return nil
}

// LeastRoom implements [switching.Roomy].
func (c *choosing) LeastRoom(place *weft.Place) int {
	if r, ok := c.Firmware.(switching.Roomy); ok {
		return r.LeastRoom(place)
	}
	return 1
}

// Registers implements [Stateful].
func (c *choosing) Registers(place *weft.Place) []Register {
	if s, ok := c.Firmware.(Stateful); ok {
		return s.Registers(place)
	}
	return nil
}

// Source implements [Sourcer].
func (c *choosing) Source(leaf *weft.Place, at weft.PortID, h *weft.Header) {
	if s, ok := c.Firmware.(Sourcer); ok {
		s.Source(leaf, at, h)
	}
}

// Addresses implements [Assigner].
func (c *choosing) Addresses(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address {
	if a, ok := c.Firmware.(Assigner); ok {
		return a.Addresses(leaf, at, dst)
	}
	return nil
}

// HeaderBytes implements [Sizer].
func (c *choosing) HeaderBytes(f *weft.Fields) int {
	if z, ok := c.Firmware.(Sizer); ok {
		return z.HeaderBytes(f)
	}
	return 0
}

// MostHops implements [Bounded].
func (c *choosing) MostHops() int {
	if b, ok := c.Firmware.(Bounded); ok {
		return b.MostHops()
	}
	return weft.MaxHops
}

// Route implements [Firmware].
func (c *choosing) Route(pkt *weft.Header, at Arrival, sw View) Decision {
	d := c.Firmware.Route(pkt, at, sw)
	if len(d.Candidates) < 2 {
		return d
	}
	choices := c.at[sw.Place().Switch]
	for i := range choices {
		choice := &choices[i]
		if !choice.about(pkt, at) {
			continue
		}
		taken := func(k Candidate) bool {
			return slices.Contains(choice.To, k.Port) && (choice.VC == nil || *choice.VC == k.VC)
		}
		if slices.ContainsFunc(d.Candidates, taken) {
			left := sw.Scratch() // which may be where the candidates are: what is written has been read
			for _, k := range d.Candidates {
				if taken(k) {
					left = append(left, k)
				}
			}
			d.Candidates = left
			break
		}
	}
	return d
}

// about reports whether a packet came as the choice says.
func (c *Choice) about(pkt *weft.Header, at Arrival) bool {
	if !slices.Contains(c.In, at.Port) {
		return false
	}
	past := int(pkt.Hops) + 1 - c.Hop
	return c.Hop == 0 || past == 0 || c.Every > 0 && past > 0 && past%c.Every == 0
}
