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
// Packets that it routes are not routed a second time.
func Choosing(f Firmware, choices []Choice) Firmware {
	at := map[weft.SwitchID][]Choice{}
	for _, choice := range choices {
		at[choice.Switch] = append(at[choice.Switch], choice)
	}
	route, batch, check := f.Route, f.Batch, f.Check
	f.CheckRequeue = nil
	f.Route = func(pkt *weft.Header, arrival Arrival, sw View) Decision {
		d := route(pkt, arrival, sw)
		settle(&d, at[sw.Place().Switch], pkt, arrival, sw.Scratch())
		return d
	}
	if batch != nil {
		f.Batch = func(asks []*switching.Ask) func() {
			decide, choices := batch(asks), at[asks[0].View.Place().Switch] // all are of one switch
			return func() {
				decide()
				for _, k := range asks {
					settle(&k.Decision, choices, &k.Packet, k.At, nil)
				}
			}
		}
	}
	f.Check = func(place *weft.Place, vcs int) error {
		for _, choice := range at[place.Switch] {
			if choice.VC != nil && int(*choice.VC) >= vcs {
				return fmt.Errorf("is to settle a choice at %s in VC %d, and there are %d: the first is 0",
					place.Name, *choice.VC, vcs)
			}
		}
		if check == nil {
			return nil
		}
		return check(place, vcs)
	}
	return f
}

// settle leaves of the candidates of d those that the first choice about the packet has. It puts
// them into left, which may be where the candidates are: what is written has been read.
func settle(d *Decision, choices []Choice, pkt *weft.Header, at Arrival, left []Candidate) {
	for i := range choices {
		choice := &choices[i]
		if len(d.Candidates) < 2 || !choice.about(pkt, at) {
			continue
		}
		taken := func(k Candidate) bool {
			return slices.Contains(choice.To, k.Port) && (choice.VC == nil || *choice.VC == k.VC)
		}
		if slices.ContainsFunc(d.Candidates, taken) {
			for _, k := range d.Candidates {
				if taken(k) {
					left = append(left, k)
				}
			}
			d.Candidates = left
			return
		}
	}
}

// about reports whether a packet came as the choice says.
func (c *Choice) about(pkt *weft.Header, at Arrival) bool {
	if !slices.Contains(c.In, at.Port) {
		return false
	}
	past := int(pkt.Hops) + 1 - c.Hop
	return c.Hop == 0 || past == 0 || c.Every > 0 && past > 0 && past%c.Every == 0
}
