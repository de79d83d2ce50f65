package direct

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// oracle finds ways as naively as it can: hop by hop over the links of the graph, and by trying
// every intermediate node. It shares no code with the package.
type oracle struct {
	g    *topology.Graph
	m    Mechanisms
	dead map[weft.LinkID]bool

	memo  map[[3]int]price
	clear map[[2]weft.SwitchID]bool // whether it is adaptive
}

// price is what ways are compared by.
type price struct {
	hops, misroutes, fixed, via int
	never                       bool
}

var never = price{never: true}

func (p price) compare(q price) int {
	return cmp.Or(
		cmp.Compare(truth(p.never), truth(q.never)),
		cmp.Compare(p.hops, q.hops), cmp.Compare(p.misroutes, q.misroutes), cmp.Compare(p.fixed, q.fixed),
		cmp.Compare(p.via, q.via),
	)
}

func (p price) plus(q price) price {
	return price{p.hops + q.hops, p.misroutes + q.misroutes, p.fixed + q.fixed, p.via + q.via, p.never || q.never}
}

func newOracle(g *topology.Graph, m Mechanisms, dead []weft.LinkID) *oracle {
	o := &oracle{g: g, m: m, dead: map[weft.LinkID]bool{}, memo: map[[3]int]price{}, clear: map[[2]weft.SwitchID]bool{}}
	for _, id := range dead {
		o.dead[id] = true
	}
	return o
}

func (o *oracle) cuts(l *topology.Link) bool { return o.dead[l.ID] }

// step goes by a port, and reports whether there is a link and whether it is alive.
func (o *oracle) step(u weft.SwitchID, p weft.PortID) (v weft.SwitchID, there, alive bool) {
	end, id, ok := o.g.Peer(weft.End{Node: u.Node(), Port: p})
	if !ok || !end.Node.IsSwitch() {
		return 0, false, false
	}
	return weft.SwitchID(end.Node.Index), true, !o.dead[id]
}

// order are the ports of switches in direction order.
func (o *oracle) order() (ports []weft.PortID) {
	dims := len(o.g.Switches[0].Coord)
	for i := range dims {
		ports = append(ports, weft.PortID(2*i+1))
	}
	for i := range dims {
		ports = append(ports, weft.PortID(2*i))
	}
	return ports
}

// nearer are the ports that lead from u towards v.
func (o *oracle) nearer(u, v weft.SwitchID) (ports []weft.PortID) {
	for _, p := range o.order() {
		if w, ok, _ := o.step(u, p); ok && o.g.SwitchDistance(w, v) < o.g.SwitchDistance(u, v) {
			ports = append(ports, p)
		}
	}
	return ports
}

// adaptive walks all shortest paths.
func (o *oracle) adaptive(u, v weft.SwitchID) (alive bool) {
	if u == v {
		return true
	}
	key := [2]weft.SwitchID{u, v}
	if alive, ok := o.clear[key]; ok {
		return alive
	}
	defer func() { o.clear[key] = alive }()
	for _, p := range o.nearer(u, v) {
		w, _, alive := o.step(u, p)
		if !alive || !o.adaptive(w, v) {
			return false
		}
	}
	return true
}

// fixedPort is the port of the deterministic sub-path at u, where other are the dimensions in which
// a packet goes the other way half way round.
func (o *oracle) fixedPort(u, v weft.SwitchID, other [4]bool) weft.PortID {
	near := o.nearer(u, v)
	var use []weft.PortID
	for _, p := range near {
		both := false
		for _, q := range near {
			both = both || q == p^1
		}
		up := p%2 == 1
		even := o.g.Switches[u].Coord[p/2]%2 == 0
		if !both || up == (even != other[p/2]) {
			use = append(use, p)
		}
	}
	best := use[0] // near is in direction order
	if !o.m.Misroute && !o.m.DirectionOrder {
		for _, p := range use {
			if p/2 < best/2 {
				best = p
			}
		}
	}
	return best
}

func (o *oracle) fixed(u, v weft.SwitchID, other [4]bool) bool {
	for u != v {
		w, _, alive := o.step(u, o.fixedPort(u, v, other))
		if !alive {
			return false
		}
		u = w
	}
	return true
}

// choices are what a source may say of the ways half way round.
func (o *oracle) choices() (list [][4]bool) {
	list = append(list, [4]bool{})
	if o.m.Either {
		for x := 1; x < 16; x++ {
			list = append(list, [4]bool{x&1 > 0, x&2 > 0, x&4 > 0, x&8 > 0})
		}
	}
	return list
}

// sub is the best sub-path from u to v.
func (o *oracle) sub(u, v weft.SwitchID) price {
	if u == v {
		return price{}
	}
	key := [3]int{int(u), int(v), -1}
	if p, ok := o.memo[key]; ok {
		return p
	}
	best := never
	if o.adaptive(u, v) {
		best = price{hops: o.g.SwitchDistance(u, v)}
	} else {
		if o.m.Deterministic {
			for _, other := range o.choices() {
				if o.fixed(u, v, other) {
					best = price{hops: o.g.SwitchDistance(u, v), fixed: 1}
				}
			}
		}
		if o.m.Misroute {
			o.misroute(u, v, 0, -1, 0, &best)
		}
	}
	o.memo[key] = best
	return best
}

func (o *oracle) misroute(u, v weft.SwitchID, legs, last, hops int, best *price) {
	order := o.order()
	rank := func(p weft.PortID) int {
		for r, q := range order {
			if p == q {
				return r
			}
		}
		panic("no such port")
	}
	if legs > 0 {
		later := true
		for _, p := range o.nearer(u, v) {
			later = later && rank(p) >= last
		}
		p := price{hops: hops + o.g.SwitchDistance(u, v), misroutes: 1}
		if later && o.adaptive(u, v) && p.compare(*best) < 0 {
			*best = p
		}
		p.fixed = 1
		if o.m.Deterministic && p.compare(*best) < 0 {
			for _, other := range o.choices() {
				if (u == v || rank(o.fixedPort(u, v, other)) >= last) && o.fixed(u, v, other) {
					*best = p
				}
			}
		}
	}
	if legs == 3 {
		return
	}
	for r := last + 1; r < len(order); r++ {
		w := u
		for h := 1; h <= 8; h++ {
			next, there, alive := o.step(w, order[r])
			if !there || !alive || next == u {
				break
			}
			w = next
			o.misroute(w, v, legs+1, r, hops+h, best)
		}
	}
}

// way is the best way from u to v by at most so many intermediate nodes.
func (o *oracle) way(u, v weft.SwitchID, via int) price {
	if via == 0 {
		return o.sub(u, v)
	}
	key := [3]int{int(u), int(v), via}
	if p, ok := o.memo[key]; ok {
		return p
	}
	best := o.way(u, v, via-1)
	for i := range o.g.Switches {
		if w := weft.SwitchID(i); w != u && w != v {
			if p := o.sub(u, w).plus(o.way(w, v, via-1)).plus(price{via: 1}); p.compare(best) < 0 {
				best = p
			}
		}
	}
	o.memo[key] = best
	return best
}

// joined reports whether live links lead from u to v.
func (o *oracle) joined(u, v weft.SwitchID) bool {
	seen := map[weft.SwitchID]bool{u: true}
	queue := []weft.SwitchID{u}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, p := range o.order() {
			if w, _, alive := o.step(queue[0], p); alive && !seen[w] {
				seen[w] = true
				queue = append(queue, w)
			}
		}
	}
	return seen[v]
}

// walk follows a way as switches would, by every choice that they have, and returns an error if any
// meets a fault or goes wrong.
func (o *oracle) walk(w Way) error {
	u, hops := w.Src, 0
	subs := w.Subs
	if len(subs) == 0 {
		subs = []weft.SubHeader{weft.NewSubHeader(0)}
	}
	for i, h := range subs {
		to := h.To()
		if i == len(subs)-1 {
			to = w.Dst
		}
		last := -1
		for j := range weft.MaxMisroutes {
			p, n := h.Misroute(j)
			for range n {
				next, there, alive := o.step(u, p)
				if !there || !alive {
					return fmt.Errorf("sub-path %d meets a fault at switch %d port %d", i, u, p)
				}
				u, hops = next, hops+1
			}
			for r, q := range o.order() {
				if q == p && n > 0 {
					if r <= last {
						return fmt.Errorf("sub-path %d: misroutes are not in direction order", i)
					}
					last = r
				}
			}
		}
		var other [4]bool
		for j := range other {
			other[j] = h.OtherWay(j)
		}
		switch {
		case h.Deterministic() && !o.fixed(u, to, other):
			return fmt.Errorf("sub-path %d: the deterministic path from %d to %d is dead", i, u, to)
		case !h.Deterministic() && !o.adaptive(u, to):
			return fmt.Errorf("sub-path %d: some path from %d to %d is dead", i, u, to)
		}
		hops += o.g.SwitchDistance(u, to)
		u = to
	}
	if u != w.Dst || hops != w.Length {
		return fmt.Errorf("it ends at switch %d after %d hops", u, hops)
	}
	return nil
}

func generate(tb testing.TB, spec string) (*topology.Graph, *Net) {
	tb.Helper()
	g, err := topology.Generate(spec)
	if err != nil {
		tb.Fatal(err)
	}
	n, err := New(g)
	if err != nil {
		tb.Fatal(err)
	}
	return g, n
}

func parse(tb testing.TB, text string) Mechanisms {
	tb.Helper()
	m, err := Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// draw draws dead links between switches.
func draw(g *topology.Graph, faults int, random *rand.Rand) (dead []weft.LinkID) {
	var all []weft.LinkID
	for i := range g.Links {
		if g.Links[i].BetweenSwitches() {
			all = append(all, g.Links[i].ID)
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(faults, len(all))]
}
