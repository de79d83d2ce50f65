package layout

import (
	"cmp"
	"math"
	"slices"
)

const (
	room   = 2.5   // square units for each switch to begin with
	apart  = 1.002 // what counts as one unit here, before places are rounded
	enough = 1.003 // how far apart those are pushed that are closer: a little further, or it would never end
	pushes = 10    // of all that overlap, before the whole drawing is made larger
	growth = 1.1
)

// spread scales the points until there is room for all, and pushes those apart that still are
// closer than one unit. Where there is no room to push them to, all of the drawing grows.
func spread(at []Point) {
	if len(at) < 2 {
		return
	}
	least, most := at[0], at[0]
	for _, p := range at {
		least = Point{X: min(least.X, p.X), Y: min(least.Y, p.Y)}
		most = Point{X: max(most.X, p.X), Y: max(most.Y, p.Y)}
	}
	area := (most.X - least.X) * (most.Y - least.Y)
	scale(at, min(1/nearest(at), math.Sqrt(room*float64(len(at))/max(area, 1e-6))))
	for i := 1; push(at); i++ {
		if i%pushes == 0 {
			scale(at, growth)
		}
	}
}

func scale(at []Point, by float64) {
	for i, p := range at {
		at[i] = Point{X: p.X * by, Y: p.Y * by}
	}
}

// nearest is how far it is from a point to the one nearest to it: the median. It is never 0.
func nearest(at []Point) float64 {
	byX := make([]Point, len(at))
	copy(byX, at)
	slices.SortFunc(byX, func(a, b Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	list := make([]float64, len(byX))
	for i, p := range byX {
		least := math.Inf(1)
		look := func(q Point) bool {
			least = min(least, math.Hypot(p.X-q.X, p.Y-q.Y))
			return math.Abs(p.X-q.X) < least
		}
		for j := i - 1; j >= 0 && look(byX[j]); j-- {
		}
		for j := i + 1; j < len(byX) && look(byX[j]); j++ {
		}
		list[i] = least
	}
	slices.Sort(list)
	return max(1e-6, list[len(list)/2])
}

// push moves points apart that are closer than one unit, each half of what is missing, and reports
// whether there were any.
func push(at []Point) (any bool) {
	type cell struct{ x, y int32 }
	of := func(p Point) cell { return cell{int32(math.Floor(p.X / apart)), int32(math.Floor(p.Y / apart))} }
	cells := make(map[cell][]int32, len(at))
	for i, p := range at {
		c := of(p)
		cells[c] = append(cells[c], int32(i))
	}
	for i := range at {
		c := of(at[i])
		for x := c.x - 1; x <= c.x+1; x++ {
			for y := c.y - 1; y <= c.y+1; y++ {
				for _, j := range cells[cell{x, y}] {
					if int(j) <= i {
						continue
					}
					a, b := &at[i], &at[j]
					dx, dy := a.X-b.X, a.Y-b.Y
					is := math.Sqrt(float64(dx*dx) + float64(dy*dy))
					if is >= apart {
						continue
					}
					any = true
					if is < 1e-9 {
						dx, dy, is = 1e-9, 0, 1e-9
					}
					r := (enough - is) / (2 * is)
					mx, my := float64(r*dx), float64(r*dy)
					a.X, a.Y, b.X, b.Y = a.X+mx, a.Y+my, b.X-mx, b.Y-my
				}
			}
		}
	}
	return any
}
