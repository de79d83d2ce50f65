package screen

import (
	"fmt"
)

// arrangeGrid puts the switches of a mesh or torus where their coordinates say, the planes of a
// third dimension one after the other, in rows that run to the right and to the left by turns, as
// on the page where there is room. Links are drawn between neighbours; those that go round or to
// another plane are stubs behind the name.
func (p *mapPage) arrangeGrid(size [3]int, w int) {
	t := p.of
	name := 1
	for _, s := range t.Switches {
		name = max(name, len([]rune(s.ID))-1) // without its s
	}
	stubs := 1
	if size[2] > 1 {
		stubs = 2
	}
	gap := (w - stubs - size[0]*(name+1)) / max(1, size[0])
	if gap < 1 { // too narrow for names
		name, gap = 1, max(0, (w-stubs-2*size[0])/size[0])
	}
	beside := p.sideBySide()
	most := 5
	if room := ((w+3)/beside-3-stubs)/size[0] - name - 1; room > 0 {
		most = min(10, room)
	}
	gap = min(gap, most)
	pitch := name + 1 + gap
	p.step = pitch
	width, height := size[0]*pitch+stubs, 2*size[1]
	planes := max(1, min(beside, (w+3)/(width+3)))
	for i, s := range t.Switches {
		x, y := s.Coord[0]*pitch, 2*s.Coord[1]
		if len(s.Coord) > 2 {
			z := s.Coord[2]
			column, row := z%planes, z/planes
			if row%2 == 1 { // as on the page
				column = planes - 1 - column
			}
			x, y = x+column*(width+3), y+row*(height+1)+1
			if s.Coord[0] == 0 && s.Coord[1] == 0 {
				p.labels = append(p.labels, label{x, y - 1, fmt.Sprintf("plane %d", z)})
			}
		}
		p.spots[i] = spot{x, y, name + 1}
		p.size = [2]int{max(p.size[0], x+pitch+stubs), max(p.size[1], y+2)}
	}
	p.size[0] = max(p.size[0]-gap, 1)
}

// sideBySide is how many planes the page draws in a row.
func (p *mapPage) sideBySide() (n int) {
	for _, s := range p.of.Switches {
		if s.Coord[0] == 0 && s.Coord[1] == 0 && s.Y == p.of.Switches[0].Y {
			n++
		}
	}
	return max(1, n)
}

func (p *mapPage) paintGrid(a *app, c *canvas) {
	seen := make([]int, len(p.spots)) // stubs behind each name
	for i, l := range p.of.Links {
		x, y := p.of.Switch(l.A), p.of.Switch(l.B)
		if x < 0 || y < 0 {
			continue
		}
		p.wire(a, c, i, x, y, seen)
	}
	for i := range p.spots {
		name := p.of.Switches[i].ID
		if p.spots[i].w <= 2 {
			name = " " + a.th.signs.mark
		}
		p.name(a, c, i, name[1:])
	}
	for i, at := range p.spots { // the links to NICs are not drawn, but what is wrong with them is
		for _, port := range p.of.Ports[i] {
			if tr := a.mirror.Trouble(port.Link); port.Switch < 0 && tr != linkWell && a.mirror.Switches[i].State == switchUp {
				c.put(at.x+at.w-1, at.y, a.th.signs.trouble[tr], troubleTone(tr))
			}
		}
	}
}

// wire draws the link between two switches.
func (p *mapPage) wire(a *app, c *canvas, link, x, y int, stubs []int) {
	from, to := p.of.Switches[x].Coord, p.of.Switches[y].Coord
	dim, diff := -1, 0
	for d := range from {
		if delta := to[d] - from[d]; delta != 0 {
			if dim >= 0 {
				return // no link of a grid
			}
			dim, diff = d, delta
		}
	}
	if diff < 0 {
		x, diff = y, -diff
	}
	s := p.spots[x]
	tr := a.mirror.Trouble(link)
	load := busier(a.mirror.Links[link])
	t := loadTone(load)
	if tr != linkWell {
		t = troubleTone(tr)
	}
	level := 0
	if load > 0 {
		level = 1 + min(2, int(load*3))
	}
	paint := func(x, y int, r rune) {
		c.put(x, y, r, t)
		g := c.at(x, y)
		g.reverse, g.under = link == p.link(a), a.marks[target{aLink, link}]
	}
	sign := func(r rune) rune {
		if tr != linkWell {
			return a.th.signs.trouble[tr]
		}
		return r
	}
	switch {
	case dim == 0 && diff == 1:
		first, last := s.x+s.w-1, s.x+p.step-1
		for cx := first; cx <= last; cx++ {
			r := a.th.signs.wire[level]
			if cx == (first+last)/2 {
				r = sign(r)
			}
			paint(cx, s.y, r)
		}
	case dim == 1 && diff == 1:
		paint(s.x+max(0, s.w/2-1), s.y+1, sign(a.th.signs.post[level]))
	case dim == 0: // round, at the far end of the line
		far := s.x + diff*p.step + s.w
		paint(far, s.y, sign(a.th.signs.wire[level]))
	case dim == 1: // round, below the column
		paint(s.x+max(0, s.w/2-1), s.y+2*diff+1, sign(a.th.signs.post[level]))
	case dim == 2 && tr != linkWell:
		paint(s.x+s.w+stubs[x], s.y+1, sign(0))
		stubs[x]++
	}
}
