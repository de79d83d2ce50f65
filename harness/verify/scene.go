package verify

import (
	"math/bits"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// scene is one fault set as the switches see it. A moment is a subset of the set that is dead at
// one time; before all else the whole set is the only moment.
type scene struct {
	set     []Element
	moments []moment
	all     int     // the moment at which the whole set is dead
	near    []int32 // per switch: 1 + its place in the moments' lists, 0 when no fault is at it
	around  []int32 // the switches that have one
	gone    []bool  // per switch: it is in the set
}

// moment is what is dead at one time.
type moment struct {
	never bool    // more are dead than can be at once
	dead  []int32 // per switch of scene.around: its dead ports, as the space numbers them
	down  []bool  // per switch of scene.around: it is dead itself
}

// setTo makes the scene that of a set.
func (c *scene) setTo(s *space, set []Element) {
	m := s.m
	if c.near == nil {
		c.near, c.gone = make([]int32, len(m.g.Switches)), make([]bool, len(m.g.Switches))
	}
	for _, sw := range c.around {
		c.near[sw], c.gone[sw] = 0, false
	}
	c.set, c.around, c.moments = set, c.around[:0], c.moments[:0]
	for _, e := range set {
		m.ends(e, func(sw int, _ weft.PortID) {
			if c.near[sw] == 0 {
				c.around = append(c.around, int32(sw))
				c.near[sw] = int32(len(c.around))
			}
		})
		if e.Switch {
			c.gone[e.ID] = true
		}
	}
	count := 1
	if m.when != Before {
		count <<= len(set) // at most maxMoving
	}
	for mask := range count {
		ports := make([]switching.PortSet, len(c.around))
		now := moment{dead: make([]int32, len(c.around)), down: make([]bool, len(c.around)), never: m.most > 0 &&
			bits.OnesCount(uint(mask)) > m.most}
		for i, e := range set {
			if m.when != Before && mask>>i&1 == 0 {
				continue
			}
			m.ends(e, func(sw int, p weft.PortID) { ports[c.near[sw]-1].Add(p) })
			if e.Switch && c.near[e.ID] > 0 {
				now.down[c.near[e.ID]-1] = true
			}
		}
		for i := range ports {
			now.dead[i] = s.deads.id(ports[i])
		}
		c.moments = append(c.moments, now)
	}
	c.all = len(c.moments) - 1
}

// starts lists the moments at which packets set out.
func (c *scene) starts(when When) (moments []int32) {
	if when != Repaired {
		return []int32{0}
	}
	for i := range c.moments {
		if !c.moments[i].never {
			moments = append(moments, int32(i))
		}
	}
	return moments
}

// ends calls f for every port of a switch that e takes down.
func (m *model) ends(e Element, f func(sw int, p weft.PortID)) {
	if !e.Switch {
		l := m.g.Links[e.ID]
		for _, end := range []weft.End{l.A, l.B} {
			if end.Node.IsSwitch() {
				f(int(end.Node.Index), end.Port)
			}
		}
		return
	}
	for p := range m.ports(int(e.ID)) {
		to := m.peer(int(e.ID), weft.PortID(p))
		if to.kind == 0 {
			continue
		}
		f(int(e.ID), weft.PortID(p))
		if to.kind == weft.KindSwitch {
			f(int(to.node), to.port)
		}
	}
}

// dead is the ports that are dead at sw at a moment, and whether the switch is dead itself.
func (c *scene) dead(sw int32, at int) (ports int32, down bool) {
	i := c.near[sw]
	if i == 0 {
		return 0, false
	}
	now := &c.moments[at]
	return now.dead[i-1], now.down[i-1]
}
