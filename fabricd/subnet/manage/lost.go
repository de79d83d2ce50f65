package manage

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// keeps refuses a plan by whose tables some pair has no path that the tables in force carry without
// what is dead. Destinations for which nothing has changed are not looked at.
func (p *planner) keeps(now, plan *Plan, changed []bool) error {
	old, next := newCarrier(now.Routing, &plan.Dead), newCarrier(plan.Routing, &plan.Dead)
	lost, names := 0, []string(nil)
	for d := range weft.NICID(len(p.g.NICs)) {
		home, _ := p.g.SwitchOf(d)
		if !changed[d] {
			continue
		}
		old.begin(d)
		next.begin(d)
		for s := range weft.SwitchID(len(p.g.Switches)) {
			if p.nics[s] == 0 || s == home || !old.carries(s) || next.carries(s) {
				continue
			}
			if lost += p.nics[s]; len(names) < mostNamed {
				names = append(names, p.g.Switches[s].Name+" to "+p.g.NICs[d].Name)
			}
		}
	}
	if lost == 0 {
		return nil
	}
	return fmt.Errorf("%d pairs that the tables in force carry would be without a path by the new ones, as %s: the "+
		"tables stay; choose another method, and report this as a fault of the method",
		lost, strings.Join(names, ", "))
}

// carrier follows packets to one destination after the other.
type carrier struct {
	r        *layered.Routing
	dead     *subnet.Dead
	channels *layered.Channels
	dst      weft.NICID
	state    []uint8 // per channel, for each path
	way      []int
	all      int
}

// What is known of packets that came by a channel.
const (
	unknown uint8 = iota
	open          // on the way that is followed
	arrives
	fails
)

func newCarrier(r *layered.Routing, dead *subnet.Dead) *carrier {
	c := &carrier{r: r, dead: dead, channels: layered.NewChannels(r.Graph)}
	c.all = c.channels.Len() * r.Layers
	c.state = make([]uint8, c.all*r.Tables.Paths())
	return c
}

func (c *carrier) begin(d weft.NICID) {
	c.dst = d
	clear(c.state)
}

// carries reports whether packets of the NICs of a switch arrive by each of the addresses that they
// take; of routings that leave a choice, whether some way does.
func (c *carrier) carries(s weft.SwitchID) bool {
	list := c.r.Assignment.Addresses(s, c.dst)
	for _, a := range list {
		ok := false
		if in := c.r.Injected(s); c.r.Kind == layered.Deterministic {
			ok = c.arrive(s, in, a)
		} else {
			ok = c.some(s, in, a)
		}
		if !ok {
			return false
		}
	}
	return len(list) > 0
}

// arrive follows the one way of packets that came to a switch by a port.
func (c *carrier) arrive(s weft.SwitchID, in weft.PortID, a weft.Address) bool {
	c.way = c.way[:0]
	verdict := fails
	for layer := a.VC; ; {
		hops := c.r.Tables.Choices(s, c.dst, a.Path, in, layer)
		if len(hops) == 0 || hops[0].Port == weft.NoPort {
			break
		}
		to, link, ok := c.r.Graph.Peer(weft.End{Node: s.Node(), Port: hops[0].Port})
		if !ok || c.cut(link) {
			break
		}
		if !to.Node.IsSwitch() {
			if to.Node == c.dst.Node() {
				verdict = arrives
			}
			break
		}
		layer = hops[0].In(layer)
		n := int(a.Path)*c.all + c.channels.Number(s, hops[0].Port, layer)
		if c.state[n] != unknown {
			if c.state[n] == arrives {
				verdict = arrives
			}
			break // or it goes round
		}
		c.state[n] = open
		c.way = append(c.way, n)
		s, in = weft.SwitchID(to.Node.Index), to.Port
	}
	for _, n := range c.way {
		c.state[n] = verdict
	}
	return verdict == arrives
}

func (c *carrier) cut(l weft.LinkID) bool { return c.dead.Cuts(&c.r.Graph.Links[l]) }

// some looks for one way among all that packets may take, whichever layers they may be in.
func (c *carrier) some(s weft.SwitchID, in weft.PortID, a weft.Address) bool {
	type at struct {
		s     weft.SwitchID
		in    weft.PortID
		layer weft.VC
	}
	layers := a.Layers | 1<<a.VC
	if c.r.Kind == layered.Escape {
		layers |= 1 << c.r.Escape
	}
	todo := []at{}
	enter := func(s weft.SwitchID, in weft.PortID) {
		for l := range weft.VC(c.r.Layers) {
			if layers>>l&1 == 1 {
				todo = append(todo, at{s, in, l})
			}
		}
	}
	enter(s, in)
	seen := map[at]bool{}
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[x] {
			continue
		}
		seen[x] = true
		for _, h := range c.r.Tables.Choices(x.s, c.dst, a.Path, x.in, x.layer) {
			if h.Port == weft.NoPort {
				continue
			}
			to, link, ok := c.r.Graph.Peer(weft.End{Node: x.s.Node(), Port: h.Port})
			switch {
			case !ok || c.cut(link):
			case to.Node == c.dst.Node():
				return true
			case to.Node.IsSwitch():
				next := weft.SwitchID(to.Node.Index)
				todo = append(todo, at{next, to.Port, h.In(x.layer)})
				enter(next, weft.NoPort)
			}
		}
	}
	return false
}
