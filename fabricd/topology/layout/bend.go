package layout

import (
	"math"

	"github.com/weft-fabric/weft/fabricd/topology"
)

const (
	ramp     = 0.6  // from an end of a bent link to where it runs beside the straight way
	parallel = 0.15 // between links that join the same two switches
)

// box is half of the width and height that links keep free around a switch which they do not
// touch: no drawing makes its box larger.
var box = Point{X: 0.28, Y: 0.2}

// rise is how much of its bend a link has so far from the nearer of its ends.
func rise(far, length float64) float64 {
	v := 1 - min(1, far/min(ramp, length/2))
	return 1 - v*v
}

// Along is the point of a link from a to b at a share of its way. See [topology.Drawing] for what
// bend means.
func Along(a, b Point, bend, share float64) Point {
	dx, dy := b.X-a.X, b.Y-a.Y
	length := math.Hypot(dx, dy)
	aside := bend * rise(min(share, 1-share)*length, length) / length
	return Point{X: a.X + float64(dx*share) + float64(dy*aside), Y: a.Y + float64(dy*share) - float64(dx*aside)}
}

// ends is where a link begins and ends.
func (l *Layout) ends(k topology.Link) (a, b Point) {
	if k.BetweenSwitches() {
		return l.Switches[k.A.Node.Index], l.Switches[k.B.Node.Index]
	}
	return l.Switches[k.A.Node.Index], l.NICs[k.B.Node.Index]
}

// piece is a part of a link that is drawn as a parabola from the end of the piece before.
type piece struct{ control, end Point }

// pieces is how link i, k, is drawn: up to its bend, beside the straight way, and down again.
func (l *Layout) pieces(i int, k topology.Link) []piece {
	a, b := l.ends(k)
	dx, dy := b.X-a.X, b.Y-a.Y
	length := math.Hypot(dx, dy)
	up := min(ramp/length, 0.5)
	at := func(share float64) Point {
		aside := l.Bends[i] / length
		return Point{X: a.X + share*dx + aside*dy, Y: a.Y + share*dy - aside*dx}
	}
	if l.Bends[i] == 0 {
		return []piece{{at(0.5), b}}
	}
	return []piece{{at(up / 2), at(up)}, {at(0.5), at(1 - up)}, {at(1 - up/2), b}}
}

// Around is the bend nearest to want with which a link between switches a and b, wide links of them
// side by side, crosses the box of no other; box is half its width and height. It returns want and
// false when there is none.
func Around(at []Point, a, b int, want, wide float64, box Point) (bend float64, clear bool) {
	length := math.Hypot(at[b].X-at[a].X, at[b].Y-at[a].Y)
	ux, uy := (at[b].X-at[a].X)/length, (at[b].Y-at[a].Y)/length
	// The box in the frame of the link, at least: x along it, y to the left.
	long := math.Abs(float64(ux*box.X)) + math.Abs(float64(uy*box.Y))
	high := math.Abs(float64(uy*box.X)) + math.Abs(float64(ux*box.Y)) + wide/2
	most := max(1, length/2)
	type span struct{ low, high float64 } // bends that cross a box
	var spans []span
	for i, p := range at {
		dx, dy := p.X-at[a].X, p.Y-at[a].Y
		x, y := float64(dx*ux)+float64(dy*uy), float64(dx*uy)-float64(dy*ux)
		if i == a || i == b || x < -long || x > length+long || math.Abs(y) > most+high {
			continue
		}
		least := max(1e-9, rise(max(0, min(x, length-x)-long), length))
		greatest := rise(min(length/2, x+long, length-x+long), length)
		s := span{(y - high) / least, (y + high) / least}
		if y > high {
			s.low = (y - high) / greatest
		} else if y < -high {
			s.high = (y + high) / greatest
		}
		spans = append(spans, s)
	}
	best := math.Inf(1)
	try := func(c float64) {
		if d := math.Abs(c - want); math.Abs(c) > most || d >= math.Abs(best-want) {
			return
		}
		for _, s := range spans {
			if c > s.low+1e-6 && c < s.high-1e-6 {
				return
			}
		}
		best = c
	}
	try(want)
	for _, s := range spans {
		try(s.low)
		try(s.high)
	}
	if math.IsInf(best, 1) {
		return want, false
	}
	return best, true
}

// lead bends the links of g around the boxes of other switches if around is set, and those that
// join the same two switches apart. Bends holds the bends that are wanted. It reports false when it
// finds no way for a link.
func (l *Layout) lead(g *topology.Graph, around bool) bool {
	between := map[[2]uint32][]int{}
	for i, k := range g.Links {
		if k.BetweenSwitches() { // A is the lower of the two
			pair := [2]uint32{k.A.Node.Index, k.B.Node.Index}
			between[pair] = append(between[pair], i)
		}
	}
	clear := true
	for pair, list := range between {
		wide, middle := float64(len(list)-1)*parallel, l.Bends[list[0]]
		if around {
			var ok bool
			middle, ok = Around(l.Switches, int(pair[0]), int(pair[1]), 0, wide, box)
			clear = clear && ok
		}
		for i, k := range list {
			l.Bends[k] = middle - wide/2 + float64(i)*parallel
		}
	}
	return clear
}
