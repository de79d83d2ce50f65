package direct

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// A cost is what ways are compared by, in this order: hops, sub-paths with misroutes, deterministic
// sub-paths, intermediate nodes. Costs of sub-paths add up to that of the way.
type cost uint32

// The parts of a cost, each with room for the sub-paths of one way.
const (
	costVia      cost = 1
	costFixed    cost = 1 << 5
	costMisroute cost = 1 << 10
	costHop      cost = 1 << 15
	costNever    cost = 1<<31 - 1 // two of them do not overflow
	costPart          = 1<<5 - 1
)

func (c cost) hops() int { return int(c / costHop) }
func (c cost) via() int  { return int(c & costPart) }
func (c cost) fixed() int {
	return int(c / costFixed & costPart)
}

func (c cost) misroutes() int { return int(c / costMisroute & costPart) }

func (c cost) use() Use { return newUse(c.via(), c.fixed() > 0, c.misroutes() > 0) }

// perfect reports whether no way without faults is better, but for its intermediate nodes.
func (c cost) perfect(distance int) bool { return c-c&costPart == cost(distance)*costHop }

// reach is what can be reached by one sub-path, under one set of faults.
type reach struct {
	net       *Net
	m         Mechanisms
	faults    faults
	component []int
	// per node u, the nodes v to which some shortest path has a fault: those not in T_RS; and then u
	// is affected for v
	affected []bits
	sub      []cost // from u to v at u*nodes+v, by one sub-path
}

// row computes what node u reaches without misroutes.
func (r *reach) row(u int) {
	n := r.net
	affected := newBits(n.nodes)
	for _, e := range r.faults.list {
		n.affected(u, e, affected)
	}
	r.affected[u] = affected
	row := r.sub[u*n.nodes : (u+1)*n.nodes]
	for v := range row {
		row[v] = cost(n.distance(u, v)) * costHop
	}
	for v := range row {
		if !affected.has(v) {
			continue
		}
		if _, ok := r.fixed(u, v); ok {
			row[v] += costFixed
		} else {
			row[v] = costNever
		}
	}
}

func (d *detour) cost() cost {
	c := cost(d.length)*costHop + costMisroute
	if d.fixed {
		c += costFixed
	}
	return c
}

// fixed is the first of the choices at the source for which the deterministic sub-path from u to v
// is alive.
func (r *reach) fixed(u, v int) (other uint8, ok bool) {
	if !r.m.Deterministic {
		return 0, false
	}
	var list [16]uint8
	for _, o := range r.net.others(u, v, r.m.Either, list[:0]) {
		if r.fixedAlive(u, v, o) {
			return o, true
		}
	}
	return 0, false
}

func (r *reach) fixedAlive(u, v int, other uint8) bool {
	return r.net.fixed(u, v, r.m.InDirectionOrder(), other, func(e int) bool { return !r.faults.dead.has(e) })
}

// Solve finds a way for every ordered pair of different switches of which any shortest path meets
// what is dead (none, if dead is nil), by theorems 1 and 2 and corollary 1. It calls each, if that
// is not nil, to run a function for 0 to n-1, in any order or at once; the solution does not depend
// on it. When each reports false, for it was interrupted, there is no solution: nil. Mechanisms are
// as [Mechanisms.Check] has them; more than maxIntermediate nodes are as many.
func (n *Net) Solve(m Mechanisms, dead func(*topology.Link) bool, each func(n int, run func(i int)) bool) *Solution {
	if each == nil {
		each = func(n int, run func(int)) bool {
			for i := range n {
				run(i)
			}
			return true
		}
	}
	m.Intermediate = min(max(m.Intermediate, 0), maxIntermediate)
	r := &reach{
		net: n, m: m, faults: n.faults(dead), affected: make([]bits, n.nodes),
		sub: make([]cost, n.nodes*n.nodes),
	}
	r.component = n.components(dead)
	if !each(n.nodes, r.row) {
		return nil
	}
	s := &Solution{
		Mechanisms: m, Pairs: n.nodes * (n.nodes - 1), net: n, to: make([]column, n.nodes),
		component: r.component,
	}
	if !each(n.nodes, func(d int) { s.to[d] = r.column(d) }) || m.Misroute && !r.misroute(s, each) {
		return nil
	}
	s.count()
	return s
}

// misroute adds misroutes to a solution without. They only help pairs whose way is not a shortest
// path, few as a rule, because ways of the same length without misroutes are preferred; so only
// such sub-paths are looked for as may be part of the ways of these pairs. It reports false when
// each was interrupted.
func (r *reach) misroute(s *Solution, each func(n int, run func(i int)) bool) bool {
	from, to := newBits(r.net.nodes), newBits(r.net.nodes)
	var columns []int
	for d := range s.to {
		for _, e := range s.to[d].entries {
			if e.cost.hops() == r.net.distance(int(e.src), d) {
				continue
			}
			from.set(int(e.src))
			if !to.has(d) {
				to.set(d)
				columns = append(columns, d)
			}
		}
	}
	whole := each(r.net.nodes, func(u int) {
		var x misrouter
		row := r.sub[u*r.net.nodes : (u+1)*r.net.nodes]
		for v := range row {
			wanted := len(columns) > 0 && r.m.Intermediate > 1 || from.has(u) && to.has(v) ||
				r.m.Intermediate == 1 && (from.has(u) || to.has(v))
			if wanted && row[v] == costNever && r.component[u] == r.component[v] {
				if d, ok := r.detour(&x, u, v); ok {
					row[v] = d.cost()
				}
			}
		}
	})
	return whole && each(len(columns), func(i int) { s.to[columns[i]] = r.column(columns[i]) })
}

// column finds the ways from all nodes to node d.
func (r *reach) column(d int) column {
	best := make([][]cost, r.m.Intermediate+1)
	for z := range best {
		best[z] = make([]cost, r.net.nodes)
	}
	r.costs(d, r.affected[d], best)
	var out column
	r.affected[d].each(func(u int) {
		if r.component[u] == r.component[d] {
			out.add(r, u, d, best)
		}
	})
	return out
}

// costs fills best: by intermediate nodes at most, what the best way from each node to d costs.
// Nodes with the same cost but for its intermediate nodes are a set T^k_Dz (section 4.1.2). For the
// most intermediate nodes only what is wanted is computed.
func (r *reach) costs(d int, wanted bits, best [][]cost) {
	n := r.net.nodes
	for u := range n {
		best[0][u] = r.sub[u*n+d]
	}
	for z := 1; z < len(best); z++ {
		copy(best[z], best[z-1])
		nodes := r.affected[d] // those to which d is, but that is the same
		if z == len(best)-1 {
			nodes = wanted
		}
		nodes.each(func(u int) {
			if c := best[z-1][u]; r.component[u] == r.component[d] && !c.perfect(r.net.distance(u, d)) {
				best[z][u] = min(c, r.through(u, best[z-1]))
			}
		})
	}
}

// through is the least cost from u by way of an intermediate node, from each of which the rest
// costs so much.
func (r *reach) through(u int, rest []cost) cost {
	row := r.sub[u*r.net.nodes : (u+1)*r.net.nodes]
	rest = rest[:len(row)]
	least := 2 * costNever
	for i, c := range row {
		least = min(least, c+rest[i])
	}
	if least >= costNever {
		return costNever
	}
	return least + costVia
}

// add appends the way from u to d.
func (c *column) add(r *reach, u, d int, best [][]cost) {
	total := best[len(best)-1][u]
	w := entry{src: weft.SwitchID(u), cost: total, first: uint32(len(c.subs))}
	if total < costNever {
		var x misrouter
		at := u
		for z := total.via(); z > 0; z-- {
			next := r.pick(at, u+d, best[z][at]-costVia, best[z-1])
			c.subs = append(c.subs, r.subHeader(&x, at, next, weft.SwitchID(next)))
			at = next
		}
		c.subs = append(c.subs, r.subHeader(&x, at, d, 0))
	}
	c.entries = append(c.entries, w)
}

// pick is one of the intermediate nodes by way of which u is so far: as they come, turn by turn.
func (r *reach) pick(u, turn int, through cost, rest []cost) (node int) {
	row := r.sub[u*r.net.nodes : (u+1)*r.net.nodes]
	rest = rest[:len(row)]
	n := 0
	for i, c := range row {
		if c+rest[i] == through {
			n++
		}
	}
	n = turn % n
	for i, c := range row {
		if c+rest[i] == through {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// subHeader says how packets go from u to v by the best sub-path.
func (r *reach) subHeader(x *misrouter, u, v int, to weft.SwitchID) weft.SubHeader {
	var d detour
	switch c := r.sub[u*r.net.nodes+v]; {
	case c.misroutes() > 0:
		d, _ = r.detour(x, u, v)
	case c.fixed() > 0:
		d.fixed = true
		d.other, _ = r.fixed(u, v)
	}
	return r.net.header(d, to)
}
