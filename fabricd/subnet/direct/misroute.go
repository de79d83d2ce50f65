package direct

import (
	"math"

	"github.com/weft-fabric/weft"
)

// leg is one misroute: so many hops in a direction.
type leg struct{ direction, hops int }

// detour is a sub-path that begins with misroutes (section 4.3): the legs, and then a shortest
// rest.
type detour struct {
	legs   [weft.MaxMisroutes]leg
	n      int // of the legs
	fixed  bool
	other  uint8 // see others; of the deterministic rest
	length int   // hops in all
	forced int   // hops of the legs
}

// misrouter finds detours from u to v. It is reused, by one goroutine.
type misrouter struct {
	net    *Net
	m      Mechanisms
	to     int
	legs   [weft.MaxMisroutes]leg
	passes func(node, edge int, on bool) bool // a hop of a leg onto an edge, or back from it; false: not that way
	ends   func(node int, d *detour) bool     // a detour whose rest begins at the node; true: no more
	bound  int                                // hops in all, at most
	beyond int                                // the least that some way beyond the bound might need
}

// from tries all detours within the bound that go on from u after n legs of so many hops, and
// reports whether ends said that it is enough.
func (x *misrouter) from(u, n, hops int) bool {
	last := -1
	if n > 0 {
		last = x.legs[n-1].direction
		if x.net.firstDirection(u, x.to) >= last && x.end(u, n, hops, false, 0) {
			return true
		}
		if x.m.Deterministic && x.endFixed(u, n, hops, last) {
			return true
		}
	}
	if n == len(x.legs) {
		return false
	}
	all := x.net.directions()
	for r := last + 1; r < all; r++ {
		v := u
		most := min(weft.MaxMisrouteHops, x.net.dims[r%len(x.net.dims)].size-1) // more would go all the way around
		var passed [weft.MaxMisrouteHops]int
		h, enough := 1, false
		for ; h <= most && !enough; h++ {
			at := v*all + r
			if x.net.next[at] < 0 || !x.passes(v, int(x.net.edge[at]), true) {
				break
			}
			passed[h-1] = at
			v = int(x.net.next[at])
			if least := hops + h + x.net.distance(v, x.to); least > x.bound {
				x.beyond = min(x.beyond, least)
				continue
			}
			x.legs[n] = leg{r, h}
			enough = x.from(v, n+1, hops+h)
		}
		for h--; h > 0; h-- {
			x.passes(passed[h-1]/all, int(x.net.edge[passed[h-1]]), false)
		}
		if enough {
			return true
		}
	}
	return false
}

// endFixed tries the deterministic rests.
func (x *misrouter) endFixed(u, n, hops, last int) bool {
	var others [16]uint8
	var directions [8]int
	for _, o := range x.net.others(u, x.to, x.m.Either, others[:0]) {
		list := x.net.fixedDirections(u, x.to, true, o, directions[:0])
		if (len(list) == 0 || list[0] >= last) && x.end(u, n, hops, true, o) {
			return true
		}
	}
	return false
}

func (x *misrouter) end(u, n, hops int, fixed bool, other uint8) bool {
	d := detour{n: n, fixed: fixed, other: other, length: hops + x.net.distance(u, x.to), forced: hops}
	copy(d.legs[:], x.legs[:n])
	return x.ends(u, &d)
}

// unbounded is a bound that lets all detours pass.
const unbounded = math.MaxInt

// detour is the best detour from u to v: the shortest, of these adaptive at its end, and then with
// the fewest hops of misroutes, the first in the order of directions and hops.
func (r *reach) detour(x *misrouter, u, v int) (best detour, ok bool) {
	x.net, x.m, x.to, x.bound = r.net, r.m, v, r.net.distance(u, v)
	x.passes = func(_, edge int, on bool) bool { return !on || !r.faults.dead.has(edge) }
	x.ends = func(node int, d *detour) bool {
		if ok && !d.before(&best) {
			return false
		}
		if d.fixed {
			if !r.fixedAlive(node, v, d.other) {
				return false
			}
		} else if r.affected[node].has(v) {
			return false
		}
		best, ok = *d, true
		return false
	}
	for {
		x.beyond = unbounded
		x.from(u, 0, 0)
		if ok || x.beyond == unbounded {
			return best, ok
		}
		x.bound = x.beyond
	}
}

// before reports whether d is to be preferred.
func (d *detour) before(other *detour) bool {
	switch {
	case d.length != other.length:
		return d.length < other.length
	case d.fixed != other.fixed:
		return other.fixed
	}
	return d.forced < other.forced
}
