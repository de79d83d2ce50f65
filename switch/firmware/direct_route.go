package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

const (
	ruleNowhere  = "nowhere: the source knows no way"
	ruleSubPaths = "sub-headers: more intermediate nodes than there are escape channels for"
	ruleRound    = "misroute: all the way round a dimension"
	ruleOrder    = "misroute: a direction before it is still to go"
)

// directRules are the rules of a step in one direction.
type directRules struct {
	order, fixed                                 dimensionRules
	adaptive, escapeDead, misroute, misrouteDead string
}

// after are the rules of d behind what else is said of the step.
func (d *dimensionRules) after(text string) dimensionRules {
	return dimensionRules{step: text + d.step, half: text + d.half, other: text + d.other, dead: text + d.dead}
}

// going is the rule of a step, half way round or not, in the direction that the order takes there
// by itself or not.
func (d *dimensionRules) going(half, itself bool) string {
	switch {
	case !half:
		return d.step
	case itself:
		return d.half
	}
	return d.other
}

// allDirectRules has them by whether the packet is at an intermediate node, dimension, down and up.
var allDirectRules = func() (rules [2][len(dimensions)][2]directRules) {
	for via, at := range [...]string{"", "intermediate node; "} {
		for i, name := range dimensions {
			for up, sign := range [...]string{"-", "+"} {
				d, order := name+sign, &orderRules[i][up]
				rules[via][i][up] = directRules{
					order: order.after(at), fixed: order.after(at + "adaptive routing off; "),
					adaptive: at + "any shortest way, escape by " + d, escapeDead: at + "escape by " + d + ": the link is dead",
					misroute: at + "misroute " + d, misrouteDead: at + "misroute " + d + ": the link is dead",
				}
			}
		}
	}
	return rules
}()

// directStep is one decision of [Direct]. The view is not in it, so that it stays on the stack.
type directStep struct {
	f      *Direct
	g      *weft.Grid
	at     Arrival
	fields *weft.Fields // on the way out
	via    int          // 1: the packet is at an intermediate node
	left   int          // intermediate nodes still to come
	goal   coordinates  // of where the sub-path ends
}

// coordinates are those of a switch, by dimension.
type coordinates [len(dimensions)]uint32

// coordinatesOf are those of a switch; false: there is no such switch.
func coordinatesOf(g *weft.Grid, s weft.SwitchID) (c coordinates, ok bool) {
	rest := uint32(s)
	for i := range g.Dims {
		d := &g.Dims[i]
		c[i] = rest / d.Stride
		rest -= c[i] * d.Stride
	}
	return c, c[0] < g.Dims[0].Size // only the first can be too large
}

func (f Direct) route(pkt *weft.Header, at Arrival, sw View) Decision {
	place := sw.Place()
	s := directStep{f: &f, g: place.Grid, at: at, fields: &pkt.Fields}
	if !pkt.Sub[0].Leads() {
		return switching.Discard(ruleNowhere)
	}
	var fields weft.Fields
	goal := weft.SwitchID(uint32(pkt.Dst) / s.g.NICs)
	if pkt.Sub[0].Is() {
		fields = pkt.Fields
		s.fields = &fields
		sub := &fields.Sub
		for sub.Via() && sub[0].To() == place.Switch && !misrouting(sub[0]) {
			*sub, s.via = sub.Pop(), 1
		}
		if s.left = sub.Len() - 1; s.left >= f.subPaths() {
			return switching.Discard(ruleSubPaths)
		}
		if sub.Via() {
			goal = sub[0].To()
		}
	}
	var ok bool
	if s.goal, ok = coordinatesOf(s.g, goal); !ok {
		return switching.Discard(ruleNever)
	}
	if h := s.fields.Sub[0]; misrouting(h) {
		return s.misroute(sw, h)
	}
	out, half := s.next()
	if out != weft.NoPort {
		return s.step(sw, out, half)
	}
	if out = s.g.NICPort(pkt.Dst); !sw.PortUp(out) {
		return switching.Discard(ruleNodeDead)
	}
	return Decision{Candidates: only(sw, out, at.VC, s.fields), Rule: ruleDeliver}
}

func misrouting(h weft.SubHeader) bool {
	_, hops := h.Misroute(0)
	return hops > 0
}

// next is the direction in which the order goes on, NoPort at the goal, and whether the other way
// round is as short.
func (s *directStep) next() (out weft.PortID, half bool) {
	out = weft.NoPort
	for i := range s.g.Dims {
		if s.goal[i] == s.g.Dims[i].At {
			continue
		}
		up, both := s.way(i, s.g.Dims[i].At)
		switch {
		case up:
			return s.g.Up(i), both
		case s.f.Order == DimensionFirst:
			return s.g.Down(i), both
		case out == weft.NoPort:
			out, half = s.g.Down(i), both
		}
	}
	return out, half
}

// way is the direction of the order towards the goal from a coordinate of dimension i, and whether
// the other is as short.
//
// Half way round, an adaptive packet in direction order escapes up: it may still take either way,
// and an escape in a later direction before, while this one was down, would be out of order should
// it then go up.
func (s *directStep) way(i int, from uint32) (up, half bool) {
	h := s.fields.Sub[0]
	switch up, half = shorter(s.g, i, from, s.goal[i]); {
	case !half:
		return up, false
	case s.f.Adaptive && s.f.Order == DirectionFirst && !h.Deterministic():
		return true, true
	}
	return up != h.OtherWay(i), true
}

// step goes on towards the goal, of which direction out comes next in the order.
func (s *directStep) step(sw View, out weft.PortID, half bool) (answer Decision) {
	rules, i := &allDirectRules[s.via][out/2][out%2], int(out/2)
	fixed := s.fields.Sub[0].Deterministic()
	itself := (s.g.Dims[i].At%2 == 0) == (out%2 == 1)
	var dead string
	switch {
	case !s.f.Adaptive:
		answer.Rule, dead = rules.order.going(half, itself), rules.order.dead
	case fixed:
		answer.Rule, dead = rules.fixed.going(half, itself), rules.fixed.dead
	default:
		answer.Rule, dead = rules.adaptive, rules.escapeDead
	}
	if !sw.PortUp(out) {
		return switching.Discard(dead)
	}
	list := sw.Scratch()
	switch {
	case !s.f.Adaptive:
	case fixed:
		list = s.adaptive(sw, list, out)
	default:
		for i := range s.g.Dims {
			if s.goal[i] == s.g.Dims[i].At {
				continue
			}
			up, half := shorter(s.g, i, s.g.Dims[i].At, s.goal[i])
			if up || half {
				list = s.adaptive(sw, list, s.g.Up(i))
			}
			if !up || half {
				list = s.adaptive(sw, list, s.g.Down(i))
			}
		}
	}
	answer.Candidates = s.escape(list, out, s.goal[i])
	return answer
}

// misroute takes the next hop that the sub-header h asks for.
//
// What comes after it must be later in the order: else the packet, which may have escaped in this
// direction, would escape in an earlier one, and packets could wait for each other in a circle.
// Ways are computed so, and a packet that is not discarded in its last hop astray at the latest.
func (s *directStep) misroute(sw View, h weft.SubHeader) Decision {
	out, hops := h.Misroute(0)
	i := int(out / 2)
	if i >= len(s.g.Dims) || !s.f.Misroutes {
		return switching.Discard(ruleNever)
	}
	d := &s.g.Dims[i]
	then, others := h.Misroute(1)
	to, round := s.runs(out, uint32(hops), others == 0)
	rules := &allDirectRules[s.via][i][out%2]
	switch {
	case round && s.g.Around(i):
		return switching.Discard(ruleRound)
	case !s.g.Around(i) && (out%2 == 1) != (to > d.At), !sw.PortUp(out):
		return switching.Discard(rules.misrouteDead)
	case others > 0 && !tables.DirectionBefore(out, then), others == 0 && hops == 1 && s.goesBefore(out):
		return switching.Discard(ruleOrder)
	}
	s.fields.Sub[0] = h.Misrouted()
	list := sw.Scratch()
	if s.f.Adaptive {
		list = s.adaptive(sw, list, out)
	}
	return Decision{Candidates: s.escape(list, out, to), Rule: rules.misroute}
}

// goesBefore reports whether the packet may take a direction before out in the order after one hop
// in direction out.
func (s *directStep) goesBefore(out weft.PortID) bool {
	free := s.f.Adaptive && !s.fields.Sub[0].Deterministic()
	for i := range s.g.Dims {
		from := s.g.Dims[i].At
		if i == int(out/2) {
			from = s.along(out, 1)
		}
		if from == s.goal[i] {
			continue
		}
		up, half := s.way(i, from)
		if (up || half && free) && tables.DirectionBefore(s.g.Up(i), out) || (!up || half && free) &&
			tables.DirectionBefore(s.g.Down(i), out) {
			return true
		}
	}
	return false
}

// runs is the coordinate up to which a packet that is misrouted by so many hops goes on in
// direction out, and whether that is all the way round. After the last misroute it may go on in the
// same direction.
func (s *directStep) runs(out weft.PortID, hops uint32, last bool) (to uint32, round bool) {
	i := int(out / 2)
	size := s.g.Dims[i].Size
	to = s.along(out, hops)
	if last && s.goal[i] != to {
		if up, _ := s.way(i, to); up == (out%2 == 1) {
			for to != s.goal[i] && hops < size {
				hops++
				to = s.along(out, hops)
			}
		}
	}
	return to, hops >= size
}

// along is the coordinate so many hops on in direction out.
func (s *directStep) along(out weft.PortID, hops uint32) uint32 {
	d := &s.g.Dims[out/2]
	hops %= d.Size
	if out%2 == 0 {
		hops = d.Size - hops
	}
	return (d.At + hops) % d.Size
}

// adaptive adds the adaptive channels of a port, if it is live.
func (s *directStep) adaptive(sw View, list []Candidate, out weft.PortID) []Candidate {
	if !sw.PortUp(out) {
		return list
	}
	vcs := sw.VCs()
	for vc := s.f.escapes(s.g); vc < vcs; vc++ {
		list = append(list, Candidate{})
		c := &list[len(list)-1]
		c.Port, c.VC, c.Fields = out, weft.VC(vc), *s.fields
	}
	return list
}

// escape adds the escape channel of a port by which the packet goes on up to a coordinate.
func (s *directStep) escape(list []Candidate, out weft.PortID, to uint32) []Candidate {
	list = append(list, Candidate{})
	c := &list[len(list)-1]
	c.Port, c.VC, c.Fields = out, weft.VC(s.left), *s.fields
	if s.f.Adaptive {
		c.Class = 1
	}
	i := int(out / 2)
	switch around := s.g.Around(i); s.f.Ring {
	case Dateline:
		if goesAround(s.g) {
			c.VC *= 2
		}
		if at := s.g.Dims[i].At; around && (out%2 == 1) == (to > at) { // the end is not on the way
			c.VC++
		}
	case Bubble:
		if straight := s.at.From == weft.RolePeer && s.at.VC == c.VC && s.at.Port == out^1; around && !straight {
			c.Need = 2
		}
	}
	return list
}
