package placement

import (
	"cmp"
	"slices"
)

// share is what one agent may hold, and should.
type share struct {
	target int  // ports, so that the load is even
	cap    load // at most even above that, and never above its room
	room   load
	most   int // ports that the target may be
}

// unbounded is more than any fabric has.
const unbounded = 1 << 40

// shares is the load of each agent: in proportion to its cores, but within its room, and what one
// has no room for goes to the others. It can be no evener than by half of the heaviest switch.
func shares(total load, heaviest int, agents []Agent) []share {
	out := make([]share, len(agents))
	full := make([]bool, len(agents))
	for i, a := range agents {
		out[i].room = load{a.Ports, a.Switches}
		out[i].most = a.Ports
		if a.Switches == 0 {
			out[i].room.switches = unbounded
		} else {
			out[i].most = min(a.Ports, a.Switches*total.ports/max(total.switches, 1)) // what so many of the mean have
		}
	}
	for again := true; again; {
		again = false
		left, cores := total.ports, 0
		for i, a := range agents {
			if full[i] {
				left -= out[i].target
			} else {
				cores += max(a.Cores, 1)
			}
		}
		for i, a := range agents {
			if full[i] {
				continue
			}
			if out[i].target = ceil(left*max(a.Cores, 1), cores); out[i].target > out[i].most {
				out[i].target, full[i], again = out[i].most, true, true
			}
		}
	}
	for i := range out {
		t := out[i].target
		out[i].cap = load{min(out[i].room.ports, max(int(even*float64(t)), t+ceil(heaviest, 2))), out[i].room.switches}
	}
	return out
}

// score says how good a division is; less is better.
type score struct {
	room int // what is above the room of agents
	over int // ports above what is even
	cut  int // links between parts
	odd  int // ports above the targets
}

func (a score) compare(b score) int {
	return cmp.Or(cmp.Compare(a.room, b.room), cmp.Compare(a.over, b.over), cmp.Compare(a.cut, b.cut),
		cmp.Compare(a.odd, b.odd))
}

// division is a net in parts.
type division struct {
	of    []int // per vertex
	score score
}

// tries is how many first divisions are tried of a graph that small: from each vertex of one that a
// person could draw. Chosen by us: more no longer help the topologies that we know.
func (n *net) tries() int {
	if k := len(n.weight); k <= 64 {
		return k
	}
	return 8
}

// finalists is how many of these are refined to the end; chosen by us, because the best first
// division need not become the best one.
const finalists = 2

// small is at how many vertices per part contraction ends; chosen by us, as the method's authors
// do, so that a first division is fast.
const small = 8

// divide is the multilevel method.
func divide(n *net, to []share) *division {
	levels, ups := []*net{n}, [][]int(nil)
	for most := n.total().ports / (4 * len(to)); len(n.weight) > max(small*len(to), 32); {
		c, up := n.coarsen(most)
		if len(c.weight) > len(n.weight)*9/10 {
			break
		}
		levels, ups, n = append(levels, c), append(ups, up), c
	}
	var firsts []*division
	for try := range n.tries() {
		firsts = append(firsts, refine(n, to, n.grow(to, try*len(n.weight)/n.tries())))
	}
	slices.SortStableFunc(firsts, func(a, b *division) int { return a.score.compare(b.score) })
	var best *division
	for _, d := range firsts[:min(len(firsts), finalists)] {
		for i := len(ups) - 1; i >= 0; i-- {
			d = refine(levels[i], to, project(d.of, ups[i]))
		}
		if best == nil || d.score.compare(best.score) < 0 {
			best = d
		}
	}
	return best
}

// coarsen joins each vertex with the free neighbour to which it has most links, unless both weigh
// more than most ports together.
func (n *net) coarsen(most int) (*net, []int) {
	up := make([]int, len(n.weight))
	for v := range up {
		up[v] = -1
	}
	order := make([]int, len(up))
	for v := range order {
		order[v] = v
	}
	// The lightest first: else those at the edge of what has been joined are left over.
	slices.SortStableFunc(order, func(a, b int) int { return n.weight[a].ports - n.weight[b].ports })
	count := 0
	for _, v := range order {
		if up[v] >= 0 {
			continue
		}
		mate, heavy := v, 0
		for _, e := range n.edges[v] {
			if up[e.to] < 0 && e.links > heavy && n.weight[v].ports+n.weight[e.to].ports <= most {
				mate, heavy = e.to, e.links
			}
		}
		up[v], up[mate] = count, count
		count++
	}
	return n.contract(up, count)
}

// grow is a first division: each part but the last grows from a vertex far from the parts before,
// by the vertex that has most links to it, until it has its target.
func (n *net) grow(to []share, from int) []int {
	of := make([]int, len(n.weight))
	last := len(to) - 1
	for v := range of {
		of[v] = last
	}
	free := make([]bool, len(of))
	for v := range free {
		free[v] = true
	}
	for p := range last {
		links := make([]int, len(of)) // to the part
		held := 0
		for v := n.farFrom(from, free); v >= 0 && held < to[p].target; v = mostLinked(links, free) {
			// The last one in may leave it as much too heavy as it would be too light without.
			if w := n.weight[v].ports; held > 0 && held+w-to[p].target > to[p].target-held {
				break
			}
			of[v], free[v] = p, false
			held += n.weight[v].ports
			for _, e := range n.edges[v] {
				links[e.to] += e.links
			}
			from = v
		}
	}
	return of
}

// farFrom is the free vertex that is farthest from v, v itself when all are one step off; -1 if
// none is free.
func (n *net) farFrom(v int, free []bool) int {
	far, seen := -1, make([]bool, len(free))
	queue := []int{v}
	for seen[v] = true; len(queue) > 0; queue = queue[1:] {
		if free[queue[0]] {
			far = queue[0]
		}
		for _, e := range n.edges[queue[0]] {
			if !seen[e.to] {
				seen[e.to] = true
				queue = append(queue, e.to)
			}
		}
	}
	if far < 0 {
		far = slices.Index(free, true)
	}
	return far
}

func mostLinked(links []int, free []bool) int {
	best := -1
	for v, f := range free {
		if f && (best < 0 || links[v] > links[best]) {
			best = v
		}
	}
	return best
}
