package layout

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weft-fabric/weft/fabricd/topology"
)

const (
	allPairs    = 1400    // switches up to which each pair counts
	mostNear    = 32      // pairs of one switch with near ones that count in larger topologies
	maxTerms    = 1 << 20 // pairs that count in larger topologies, beside those
	maxGrowths  = 20      // of the drawing, for links that find no way around other switches
	mostChecked = 1 << 23 // links times switches up to which links look for one
	rounds      = 20      // in which all pairs are gone through
	nicAway     = 0.4     // from a NIC to its switch
	finest      = 0.1     // the least step, where 1 makes a pair of neighbours as far apart as it should be
)

// term is two switches that should be so far apart.
type term struct {
	a, b     int32
	distance float32
}

// free lays out a graph without structure, by the method of Zheng, Pawar and Goodman, Graph Drawing
// by Stochastic Gradient Descent: pair by pair, in an order drawn anew in each round, two switches
// are moved towards the distance that they should have, near ones more than far ones, and all less
// from round to round. Products are rounded before they are added up, for some processors do both
// at once, and would draw another map.
func free(g *topology.Graph) Layout {
	l := blank(Free, g)
	neighbours := make([][]int32, len(g.Switches))
	for _, k := range g.Links {
		if a, b := k.A.Node.Index, k.B.Node.Index; k.BetweenSwitches() && !slices.Contains(neighbours[a], int32(b)) {
			neighbours[a], neighbours[b] = append(neighbours[a], int32(b)), append(neighbours[b], int32(a))
		}
	}
	rng := rand.New(rand.NewPCG(uint64(len(g.Switches)), 0))
	at := l.Switches
	size := math.Sqrt(float64(len(at)))
	for i := range at {
		at[i] = Point{X: size * rng.Float64(), Y: size * rng.Float64()}
	}
	descend(at, terms(neighbours, rng), rng)
	level(at)
	spread(at)
	passes := min(maxGrowths, mostChecked/max(1, len(at)*len(g.Links)))
	for pass := 1; pass <= passes && !l.lead(g, true) && pass < passes; pass++ {
		scale(at, growth) // more room between switches
	}
	l.hang(g, passes > 0)
	return l
}

// hang places the NICs of each switch in the widest gap between its links where they are on no
// link, if clear is set.
func (l *Layout) hang(g *topology.Graph, clear bool) {
	const near = 0.05
	type cell struct{ x, y int }
	of := func(p Point, dx, dy int) cell {
		return cell{int(math.Floor(p.X/near)) + dx, int(math.Floor(p.Y/near)) + dy}
	}
	taken := map[cell]bool{} // by links
	angles := make([][]float64, len(g.Switches))
	for i, k := range g.Links {
		if !k.BetweenSwitches() {
			continue
		}
		a, b := l.ends(k)
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		share := min(0.5, nicAway/length)
		for end, p := range map[uint32]Point{
			k.A.Node.Index: Along(a, b, l.Bends[i], share),
			k.B.Node.Index: Along(a, b, l.Bends[i], 1-share),
		} {
			angles[end] = append(angles[end], math.Atan2(p.Y-l.Switches[end].Y, p.X-l.Switches[end].X))
		}
		for step := 0.0; clear && step < length; step += near / 2 {
			taken[of(Along(a, b, l.Bends[i], step/length), 0, 0)] = true
		}
	}
	free := func(nic int) bool {
		for i := range 9 {
			if taken[of(l.NICs[nic], i%3-1, i/3-1)] {
				return false
			}
		}
		return true
	}
	for s, nics := range hangers(g) {
		list := gaps(angles[s])
		for try := range 2*len(list) + 1 { // the widest, if none is free
			gap, away := list[try/2%len(list)], nicAway*(1-0.25*float64(try%2))
			l.fan(l.Switches[s], nics, away, gap[0], gap[1])
			if !slices.ContainsFunc(nics, func(n int) bool { return !free(n) }) {
				break
			}
		}
	}
}

// gaps are the angles of two links of a switch, one after another, those with most room between
// them first.
func gaps(angles []float64) (list [][2]float64) {
	slices.Sort(angles)
	for i, a := range angles {
		next := angles[(i+1)%len(angles)]
		if i == len(angles)-1 {
			next += 2 * math.Pi
		}
		list = append(list, [2]float64{a, next})
	}
	if list == nil {
		list = append(list, [2]float64{0, 2 * math.Pi})
	}
	slices.SortStableFunc(list, func(a, b [2]float64) int { return cmp.Compare(b[1]-b[0], a[1]-a[0]) })
	return list
}

// terms are the pairs of switches that count, with the lengths of the shortest paths between them.
// In large topologies they are the pairs with some switches drawn, and those near to each other.
func terms(neighbours [][]int32, rng *rand.Rand) (list []term) {
	n := len(neighbours)
	distance, queue := make([]int32, n), make([]int32, 0, n)
	// search goes through all that are so near to s, nearest first.
	search := func(s int, near int32, found func(b int32)) {
		distance[s] = 0
		queue = append(queue[:0], int32(s))
		for i := 0; i < len(queue); i++ {
			at := queue[i]
			if i > 0 {
				found(at)
			}
			if distance[at] == near {
				continue
			}
			for _, next := range neighbours[at] {
				if distance[next] < 0 {
					distance[next] = distance[at] + 1
					queue = append(queue, next)
				}
			}
		}
		for _, at := range queue {
			distance[at] = -1
		}
	}
	for i := range distance {
		distance[i] = -1
	}
	all := n <= allPairs
	for s := range n {
		near := int32(n)
		if !all {
			near = 2
		}
		here := len(list)
		search(s, near, func(b int32) {
			if int(b) > s && (all || len(list)-here < mostNear) {
				list = append(list, term{int32(s), b, float32(distance[b])})
			}
		})
	}
	if all {
		return list
	}
	for range max(1, maxTerms/n) {
		s := rng.IntN(n)
		search(s, int32(n), func(b int32) {
			if distance[b] > 2 {
				list = append(list, term{int32(s), b, float32(distance[b])})
			}
		})
	}
	return list
}

// descend moves the points, pair by pair.
func descend(at []Point, list []term, rng *rand.Rand) {
	furthest := 1.0
	for _, t := range list {
		furthest = max(furthest, float64(t.distance))
	}
	step := furthest * furthest
	slower := math.Pow(finest/step, 1/float64(rounds-1))
	for range rounds {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, t := range list {
			a, b, want := &at[t.a], &at[t.b], float64(t.distance)
			dx, dy := a.X-b.X, a.Y-b.Y
			is := math.Sqrt(float64(dx*dx) + float64(dy*dy))
			if is < 1e-9 {
				continue
			}
			r := min(1, step/(want*want)) * (is - want) / (2 * is)
			x, y := float64(r*dx), float64(r*dy)
			a.X, a.Y, b.X, b.Y = a.X-x, a.Y-y, b.X+x, b.Y+y
		}
		step *= slower
	}
}

// level turns the drawing so that it is wider than high, for screens are.
func level(at []Point) {
	var mid Point
	n := float64(len(at))
	for _, p := range at {
		mid = Point{X: mid.X + p.X/n, Y: mid.Y + p.Y/n}
	}
	var xx, xy, yy float64
	for _, p := range at {
		dx, dy := p.X-mid.X, p.Y-mid.Y
		xx, xy, yy = xx+float64(dx*dx), xy+float64(dx*dy), yy+float64(dy*dy)
	}
	sin, cos := math.Sincos(-math.Atan2(2*xy, xx-yy) / 2)
	for i, p := range at {
		at[i] = Point{X: float64(p.X*cos) - float64(p.Y*sin), Y: float64(p.X*sin) + float64(p.Y*cos)}
	}
}
