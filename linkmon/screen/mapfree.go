package screen

import (
	"math"
	"slices"
)

// freeLines is how many lines of the map there are at least for one unit of the layout, the
// distance of two neighbouring switches; across it is the room for a name and a gap of two.
const freeLines = 2

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
	across, down := max(float64(name+2), float64(w-name)/width), max(freeLines, float64(h-1)/height)
	taken := map[[2]int]bool{}
	for i, s := range t.Switches {
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
	return true
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
	x, y := p.spots[from], p.spots[to]
	d.line(2*x.x+x.w, 4*x.y+2, 2*y.x+y.w, 4*y.y+2, l.step, l.t)
	r, t := rune(0), l.t
	if tr := a.mirror.Trouble(l.link); tr != linkWell {
		r = a.th.signs.trouble[tr]
	} else if l.link == p.link(a) {
		r = a.th.signs.load[0]
	}
	if r == 0 {
		return
	}
	mx, my := (2*x.x+x.w+2*y.x+y.w)/4, (x.y+y.y)/2
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

// line draws from one dot to another, one dot in so many.
func (d *dots) line(x0, y0, x1, y1, step int, t tone) {
	n := max(abs(x1-x0), abs(y1-y0), 1)
	for i := 0; i <= n; i += step {
		x, y := x0+(x1-x0)*i/n, y0+(y1-y0)*i/n
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
