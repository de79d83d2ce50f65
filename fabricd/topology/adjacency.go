package topology

import "github.com/weft-fabric/weft"

// Adjacency are the directions of links between switches in dense arrays: those out of a switch
// follow each other, by port. It is read-only.
type Adjacency struct {
	First []int32       // per switch, and one more: where its directions begin
	From  []int32       // per direction: the switch that it leaves
	To    []int32       // per direction: the switch that it leads to
	Port  []weft.PortID // per direction: of the switch that it leaves
	Link  []weft.LinkID // per direction
}

// Adjacency are the directions of the links for which open reports true, of all if it is nil.
func (g *Graph) Adjacency(open func(*Link) bool) Adjacency {
	a := Adjacency{First: make([]int32, len(g.Switches)+1)}
	for s := range g.Switches {
		for p, at := range g.ports(weft.SwitchID(s)) {
			if at.end.Node.IsSwitch() && (open == nil || open(&g.Links[at.link])) {
				a.From, a.To = append(a.From, int32(s)), append(a.To, int32(at.end.Node.Index))
				a.Port, a.Link = append(a.Port, weft.PortID(p)), append(a.Link, at.link)
			}
		}
		a.First[s+1] = int32(len(a.To))
	}
	return a
}

// Next are the switches to which the directions out of s lead, one for each.
func (a *Adjacency) Next(s int32) []int32 { return a.To[a.First[s]:a.First[s+1]] }

// End is the port that direction i leaves.
func (a *Adjacency) End(i int32) weft.End {
	return weft.End{Node: weft.SwitchID(a.From[i]).Node(), Port: a.Port[i]}
}

// Distances fills dist, which has a place for every switch, with the links from the nearest of some
// different switches to each, -1 where none lead, and returns those reached, the near ones first.
// The queue is storage, which may be nil.
func (a *Adjacency) Distances(dist, queue []int32, from ...int32) []int32 {
	for i := range dist {
		dist[i] = -1
	}
	queue = append(queue[:0], from...)
	for _, s := range queue {
		dist[s] = 0
	}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		for _, next := range a.Next(s) {
			if dist[next] < 0 {
				dist[next] = dist[s] + 1
				queue = append(queue, next)
			}
		}
	}
	return queue
}

// AllDistances are the links from each switch to each, row by row; 65535 where none lead, which is
// more than any shortest path has.
func (a *Adjacency) AllDistances() []uint16 {
	n := len(a.First) - 1
	all := make([]uint16, 0, n*n)
	dist, queue := make([]int32, n), make([]int32, 0, n)
	for s := range int32(n) {
		queue = a.Distances(dist, queue, s)
		for _, links := range dist {
			all = append(all, uint16(links))
		}
	}
	return all
}

// Components numbers what hangs together: of has the same number for switches that are joined by
// directions that are not dead; dead may be nil. Numbers are in the order of the lowest switch of
// each component, which there are count of.
func (a *Adjacency) Components(dead []bool) (of []int, count int) {
	of = make([]int, len(a.First)-1)
	for s := range of {
		of[s] = -1
	}
	queue := make([]int32, 0, len(of))
	for s := range of {
		if of[s] >= 0 {
			continue
		}
		of[s] = count
		queue = append(queue[:0], int32(s))
		for i := 0; i < len(queue); i++ {
			for d := a.First[queue[i]]; d < a.First[queue[i]+1]; d++ {
				if to := a.To[d]; of[to] < 0 && (dead == nil || !dead[d]) {
					of[to] = count
					queue = append(queue, to)
				}
			}
		}
		count++
	}
	return of, count
}
