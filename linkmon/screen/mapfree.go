package screen

import (
	"math"
	"slices"

	"github.com/weft-fabric/weft/fabricd/topology/layout"
)

// freeLines is how many lines of the map there are at least for one unit of the layout, the
// distance of two neighbouring switches; across it is the room for a name and a gap of two.
const freeLines = 2

// mostGrowths is how often a map is drawn a tenth larger for links that find no way around names,
// and mostChecked links times switches up to which they look for one.
const (
	mostGrowths = 12
	mostChecked = 1 << 23
)

// arrangeFree puts the switches where the layout of the topology has them, stretched to what there
// is to see, or as large as the names need. It reports false when the topology says nothing of
// places.
func (p *mapPage) arrangeFree(w, h int) bool {
	t := p.of
	width, height, ok := t.Extent()
	if !ok {
		return false
	}
	name := leastSpot
	for _, s := range t.Switches {
		name = max(name, len([]rune(s.ID))+1)
	}
	p.unit = float64(2 * (name + 2))
	across, down := max(float64(name+2), float64(w-name)/width), max(freeLines, float64(h-1)/height)
	p.bends = make([]float64, len(t.Links))
	p.spread(name, across, down)
	for range min(mostGrowths, mostChecked/max(1, len(t.Links)*len(t.Switches))) {
		if p.bend() {
			break
		}
		across, down = 1.1*across, 1.1*down // the map scrolls
		p.spread(name, across, down)
	}
	return true
}

// spread places the switches, names so long, with so many characters and lines for each unit.
func (p *mapPage) spread(name int, across, down float64) {
	p.size = [2]int{}
	taken := map[[2]int]bool{}
	for i, s := range p.of.Switches {
		x, y := int(math.Round(s.X*across)), int(math.Round(s.Y*down))
		free := func() bool {
			for d := -name; d <= name; d++ {
				if taken[[2]int{x + d, y}] {
					return false
				}
			}
			return true
		}
		for !free() {
			y++
		}
		taken[[2]int{x, y}] = true
		p.spots[i] = spot{x, y, name}
		p.size = [2]int{max(p.size[0], x+name), max(p.size[1], y+1)}
	}
}

// bend has no link run behind the name of a switch that it does not touch. It reports false when
// one still does.
func (p *mapPage) bend() bool {
	at := make([]layout.Point, len(p.spots))
	for i := range p.spots {
		at[i] = p.dot(i)
	}
	all := true
	for i, l := range p.of.Links {
		from, to := p.of.Switch(l.A), p.of.Switch(l.B)
		if from < 0 || to < 0 {
			continue
		}
		var clear bool
		// half of it, a dot beside it and three above
		box := layout.Point{X: (float64(p.spots[from].w) + 1) / p.unit, Y: 5 / p.unit}
		p.bends[i], clear = layout.Around(at, from, to, 0, 0, box)
		all = all && clear
	}
	return all
}

// dot is the middle of a switch, in dots of which a unit is long.
func (p *mapPage) dot(i int) layout.Point {
	s := p.spots[i]
	return layout.Point{X: float64(2*s.x+s.w) / p.unit, Y: float64(4*s.y+2) / p.unit}
}

// freeLink is a link on the map.
type freeLink struct {
	link int
	t    tone
	step int // one dot in so many is drawn
}

func (p *mapPage) paintFree(a *app, c *canvas) {
	var list []freeLink
	for i := range p.of.Links {
		l := freeLink{link: i, t: load1, step: 3}
		if busier(a.mirror.Links[i]) > 0 {
			l.t, l.step = loadTone(busier(a.mirror.Links[i])), 1
		}
		if tr := a.mirror.Trouble(i); tr != linkWell {
			l.t, l.step = troubleTone(tr), 4
		}
		if i == p.link(a) {
			l.t, l.step = strong, 1
		}
		list = append(list, l)
	}
	// What matters more is painted later.
	slices.SortStableFunc(list, func(x, y freeLink) int { return p.weight(a, x.link) - p.weight(a, y.link) })
	dots := newDots(c, a.cfg.ASCII)
	for _, l := range list {
		p.strand(a, dots, l)
	}
	for i := range p.spots {
		for x := p.spots[i].x; x < p.spots[i].x+len([]rune(p.of.Switches[i].ID)); x++ {
			c.put(x, p.spots[i].y, 0, plain)
		}
		p.name(a, c, i, p.of.Switches[i].ID)
	}
}

// weight orders links by what is to be seen of them where they cross.
func (p *mapPage) weight(a *app, link int) int {
	if link == p.link(a) {
		return 100
	}
	return int(10*a.mirror.Trouble(link)) + loadLevel(busier(a.mirror.Links[link]), 8)
}

// strand draws a link, with a sign in its middle when there is trouble.
func (p *mapPage) strand(a *app, d *dots, l freeLink) {
	ends := p.of.Links[l.link]
	from, to := p.of.Switch(ends.A), p.of.Switch(ends.B)
	if from < 0 || to < 0 {
		return
	}
	along := func(share float64) (x, y int) {
		q := layout.Along(p.dot(from), p.dot(to), p.bends[l.link], share)
		return int(math.Round(q.X * p.unit)), int(math.Round(q.Y * p.unit))
	}
	d.curve(along, l.step, l.t)
	r, t := rune(0), l.t
	if tr := a.mirror.Trouble(l.link); tr != linkWell {
		r = a.th.signs.trouble[tr]
	} else if l.link == p.link(a) {
		r = a.th.signs.load[0]
	}
	if r == 0 {
		return
	}
	mx, my := along(0.5)
	mx, my = mx/2, my/4
	d.c.put(mx, my, r, t)
	d.c.at(mx, my).reverse = l.link == p.link(a)
	d.c.at(mx, my).under = a.marks[target{aLink, l.link}]
}

// dots draws lines of Braille dots on a canvas, two across and four down in each character.
type dots struct {
	c     *canvas
	ascii bool
}

func newDots(c *canvas, ascii bool) *dots { return &dots{c, ascii} }

// braille is the character without a dot; bits says which bit each dot of it is, by column and
// line.
const braille = '\u2800'

var bits = [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}

// curve draws the points that at has for each share of a way, one dot in so many.
func (d *dots) curve(at func(share float64) (x, y int), step int, t tone) {
	x0, y0 := at(0)
	mx, my := at(0.5)
	x1, y1 := at(1)
	n := max(abs(mx-x0)+abs(x1-mx), abs(my-y0)+abs(y1-my), 1)
	for i := 0; i <= n; i += step {
		x, y := at(float64(i) / float64(n))
		g := d.c.at(x/2, y/4)
		switch {
		case d.ascii:
			g.r = '.'
		case g.r >= braille && g.r < braille+0x100:
			g.r |= bits[x%2][y%4]
		default:
			g.r = braille | bits[x%2][y%4]
		}
		g.t = t
	}
}

func abs(n int) int { return max(n, -n) }
