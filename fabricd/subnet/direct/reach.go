package direct

// affected puts into row the nodes v to which some shortest path from u takes edge e: those that a
// fault of e takes out of T_RS (section 3.1). Shortest paths go anywhere in the box that u and v
// span, so the nodes are a product of coordinates, dimension by dimension.
func (n *Net) affected(u, e int, row bits) {
	k := len(n.dims)
	from, at := n.at(u), n.at(e/k)
	var base [4][]int32 // per dimension, what its coordinates add to the number of v
	for i := range n.dims {
		for b := range n.dims[i].size {
			if n.dims[i].spans(int(from[i]), b, int(at[i]), i == e%k) {
				base[i] = append(base[i], int32(b*n.dims[i].stride))
			}
		}
		if len(base[i]) == 0 {
			return
		}
	}
	for i := k; i < len(base); i++ {
		base[i] = []int32{0}
	}
	for _, x := range base[0] {
		for _, y := range base[1] {
			for _, z := range base[2] {
				for _, w := range base[3] {
					row.set(int(x + y + z + w))
				}
			}
		}
	}
}

// spans reports whether a shortest way from coordinate a to b goes by coordinate c, or, for a link,
// from c to the next one or back.
func (d *dim) spans(a, b, c int, link bool) bool {
	if a == b {
		return c == a && !link
	}
	w, hops := d.ways[a*d.size+b], int(d.hops[a*d.size+b])
	if w&wayUp != 0 {
		if at := d.ahead(a, c); at < hops || at == hops && !link {
			return true
		}
	}
	if w&wayDown != 0 {
		if link { // the way down begins at its upper end
			c = (c + 1) % d.size
		}
		if at := d.ahead(c, a); at < hops || at == hops && !link {
			return true
		}
	}
	return false
}

// ahead is how many steps up lead from coordinate a to b. In a mesh what is not ahead is too far to
// be on any way.
func (d *dim) ahead(a, b int) int {
	if b < a {
		return b - a + d.size
	}
	return b - a
}

// others are the choices of a source between ways half way round, as sets of dimensions in which a
// deterministic sub-path from u to v takes the other way than by itself; the first is none.
func (n *Net) others(u, v int, either bool, list []uint8) []uint8 {
	list = append(list[:0], 0)
	for i := range n.dims {
		if either && n.way(u, v, i)&(wayUp|wayDown) == wayUp|wayDown {
			for _, o := range list {
				list = append(list, o|1<<i)
			}
		}
	}
	return list
}

// up reports whether a deterministic sub-path goes up.
func (w way) up(other bool) bool {
	up := w&fixedUp != 0
	if other {
		up = !up
	}
	return up
}

// fixed visits the edges of the deterministic sub-path from u to v until visit says false, and
// reports whether it never did. With direction the order is X+ Y+ Z+ X- Y- Z-, otherwise X Y Z;
// other is one of others.
func (n *Net) fixed(u, v int, direction bool, other uint8, visit func(edge int) bool) bool {
	var list [8]int
	for _, r := range n.fixedDirections(u, v, direction, other, list[:0]) {
		d := &n.dims[r%len(n.dims)]
		i := r % len(n.dims)
		for range d.hops[int(n.at(u)[i])*d.size+int(n.at(v)[i])] {
			at := u*n.directions() + r
			if !visit(int(n.edge[at])) {
				return false
			}
			u = int(n.next[at])
		}
	}
	return true
}

// fixedDirections are the directions of the deterministic sub-path from u to v, in their order.
func (n *Net) fixedDirections(u, v int, direction bool, other uint8, list []int) []int {
	k := len(n.dims)
	for turn := range 2 {
		for i := range n.dims {
			w := n.way(u, v, i)
			up := w.up(other>>i&1 == 1)
			switch {
			case w == 0, direction && up != (turn == 0), !direction && turn > 0:
			case up:
				list = append(list, i)
			default:
				list = append(list, k+i)
			}
		}
	}
	return list
}

// firstDirection is the first in the order of directions of all by which shortest paths lead from u
// to v; of an adaptive packet, which may take both ways half way round.
func (n *Net) firstDirection(u, v int) int {
	first := n.directions()
	for i := range n.dims {
		switch w := n.way(u, v, i); {
		case w&wayUp != 0:
			return i
		case w&wayDown != 0:
			first = min(first, len(n.dims)+i)
		}
	}
	return first
}
