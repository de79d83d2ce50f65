package firmware

import (
	"fmt"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// DimensionOrder routes meshes, tori and rings one dimension after the other: x first, then y, then
// z (e-cube). It is the baseline: all packets of a pair take one shortest path, and a dead link on
// it discards them.
//
// In a torus the shorter way around is taken. Half way round both are as short: from an even
// coordinate up, from an odd one down, so that the links of both directions carry as much. Two
// virtual channels keep a ring of links from being a ring of channels (Dally and Seitz:
// Deadlock-Free Message Routing in Multiprocessor Interconnection Networks, 1987): a packet that
// goes around the end is in VC 0 until it has, and in VC 1 from there to the end of the dimension,
// so that no channel in VC 1 goes around. Packets that do not go around keep to one VC in each
// dimension, VC 0 when they end in its first half and VC 1 when they end in the second, which is
// where the others leave room. A mesh needs one virtual channel.
func DimensionOrder() Firmware {
	return Firmware{
		Name: "dimension-order", On: Grids, VCs: 1,
		About: "meshes and tori: x first, then y, then z, the shorter way; discards at a dead link (the baseline)",
		Route: dimensionOrder, Check: checkDateline, ChannelNumber: dimensionNumber,
		CheckRequeue:     mayRequeue, // a packet is sent to the same link, and discarded if it is dead
		DestinationBased: true,
	}
}

// checkDateline refuses a single virtual channel where a dimension goes around.
func checkDateline(place *weft.Place, vcs int) error {
	if vcs < 2 && goesAround(place.Grid) {
		return fmt.Errorf("needs 2 virtual channels, there are %d: raise the number", vcs)
	}
	return nil
}

// dimensions are the names of the dimensions, as many as a generator makes.
var dimensions = [...]string{"x", "y", "z", "w"}

// dimensionRules are the rules of one dimension in one direction.
type dimensionRules struct{ step, half, other, dead string }

// orderRules has the rules by dimension, down and up.
var orderRules = func() (rules [len(dimensions)][2]dimensionRules) {
	for i, name := range dimensions {
		for up, sign := range [...]string{"-", "+"} {
			from := [...]string{"an odd", "an even"}[up]
			rules[i][up] = dimensionRules{
				step:  name + sign + ": towards the destination",
				half:  name + sign + ": half way round, from " + from + " coordinate",
				other: name + sign + ": half way round, the other way",
				dead:  name + sign + ": the link is dead",
			}
		}
	}
	return rules
}()

const ruleDeliver = "deliver"

// dimensionNumber numbers channels by dimension, VC, and the coordinate counted in the direction of
// the channel.
func dimensionNumber(place *weft.Place, p weft.PortID, vc weft.VC) int {
	g := place.Grid
	base := uint32(0)
	for i, d := range g.Dims {
		switch p {
		case g.Up(i):
			return int(base + uint32(vc)*d.Size + d.At)
		case g.Down(i):
			return int(base + uint32(vc)*d.Size + d.Size - 1 - d.At)
		}
		base += 2 * d.Size
	}
	return int(base)
}

func dimensionOrder(pkt *weft.Header, at Arrival, sw View) (answer Decision) {
	g := sw.Place().Grid
	rest := uint32(pkt.Dst) / g.NICs
	for i := range g.Dims {
		d := &g.Dims[i]
		to := rest / d.Stride
		rest -= to * d.Stride
		switch {
		case to == d.At:
			continue
		case to >= d.Size: // nobody's: only the first coordinate can be too large
			return switching.Discard(ruleNever)
		}
		dimensionStep(pkt, at, sw, i, to, &answer)
		return answer
	}
	p := g.NICPort(pkt.Dst)
	if !sw.PortUp(p) {
		return switching.Discard(ruleNodeDead)
	}
	answer.Candidates, answer.Rule = only(sw, p, at.VC, &pkt.Fields), ruleDeliver
	return answer
}

// dimensionStep goes towards coordinate to of dimension i: it writes into answer, which is empty.
func dimensionStep(pkt *weft.Header, at Arrival, sw View, i int, to uint32, answer *Decision) {
	g := sw.Place().Grid
	up, half := ShorterWay(g, i, to)
	out, back, rules := g.Down(i), g.Up(i), &orderRules[i][0]
	if up {
		out, back, rules = back, out, &orderRules[i][1]
	}
	// A packet that turns back, or into a dimension before the one it came by, is not one that this
	// firmware has sent.
	straight := at.From == weft.RolePeer && at.Port == back
	if at.From == weft.RolePeer && !straight && at.Port >= g.Down(i) {
		answer.Rule = ruleNever
		return
	}
	vc := weft.VC(0)
	if g.Around(i) {
		var ok bool
		if vc, ok = datelineVC(g.Dims[i], up, to, straight, at.VC); !ok {
			answer.Rule = ruleNever
			return
		}
	}
	if !sw.PortUp(out) {
		answer.Rule = rules.dead
		return
	}
	answer.Rule = rules.step
	if half {
		answer.Rule = rules.half
	}
	answer.Candidates = only(sw, out, vc, &pkt.Fields)
}

// ShorterWay is the direction of the shorter way to a coordinate of dimension i, and whether the
// other is as short. Half way round it is up from an even coordinate and down from an odd one.
func ShorterWay(g *weft.Grid, i int, to uint32) (up, half bool) {
	return shorter(g, i, g.Dims[i].At, to)
}

// shorter is ShorterWay from another coordinate than that of the switch.
func shorter(g *weft.Grid, i int, from, to uint32) (up, half bool) {
	if !g.Around(i) {
		return to > from, false
	}
	size := g.Dims[i].Size
	ahead := to - from
	if to < from {
		ahead += size
	}
	if 2*ahead == size {
		return from%2 == 0, true
	}
	return 2*ahead < size, false
}

// datelineVC is the virtual channel in which a packet goes on in a dimension that goes around.
// Straight says that it came by the same dimension, in VC came. It reports false for a packet that
// would go around in VC 1.
func datelineVC(d weft.Dim, up bool, to uint32, straight bool, came weft.VC) (vc weft.VC, ok bool) {
	here := d.At
	if !up { // count the other way
		here, to = d.Size-1-here, d.Size-1-to
	}
	switch {
	case straight && here == 0: // it has just been around
		return 1, came == 0
	case straight:
		return came, came == 0 || came == 1 && to > here
	case to < here || 2*to < d.Size:
		return 0, true
	}
	return 1, true
}
