package screen

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// The widths that a switch may be drawn with, and the least that keeps its name readable.
const (
	widestSpot = 12
	leastSpot  = 3
)

// arrangeTiers puts the switches of each tier into lines, the top tier above; switches without
// tiers are one tier. Above the name of a switch is a line with a character for each of its links
// upwards, below it one for those downwards.
func (p *mapPage) arrangeTiers(w, h int) {
	tiers := p.of.ByTier()
	y := p.fillTiers(tiers, w, false)
	if spare := h - y; spare >= len(tiers)-1 { // a line between tiers when there is room
		y = p.fillTiers(tiers, w, true)
	}
	p.size = [2]int{w, y}
}

func (p *mapPage) fillTiers(tiers [][]int, w int, apart bool) (y int) {
	t := p.of
	p.labels = nil
	for tier, list := range tiers {
		if len(list) == 0 {
			continue
		}
		if t.Tiers() > 0 {
			text := fmt.Sprintf("tier %d, %s", tier, english.Plural(len(list), "switch", ""))
			if tier == 0 {
				text += ", the top"
			}
			p.labels = append(p.labels, label{0, y, text})
			y++
		}
		width := p.spotWidth(list, w)
		each := max(1, (w+1)/(width+1))
		lines := (len(list) + each - 1) / each
		each = (len(list) + lines - 1) / lines // of one length
		for k, i := range list {
			line := y + k/each*p.tall()
			if t.Tiers() > 0 && tier > 0 {
				line++ // below its links upwards
			}
			p.spots[i] = spot{(k % each) * (width + 1), line, width}
		}
		y += (len(list) + each - 1) / each * p.tall()
		if t.Tiers() > 0 && tier == 0 {
			y -= (len(list) + each - 1) / each // nothing is above the top
			for k, i := range list {
				p.spots[i].y -= k / each
			}
		}
		if apart && tier < len(tiers)-1 {
			y++
		}
	}
	return y
}

// tall is how many lines a switch takes.
func (p *mapPage) tall() int {
	if p.of.Tiers() > 0 {
		return 3
	}
	return 2
}

// spotWidth is the width for the switches of a tier: one character for each link if they then fit
// into one line, or else as few as their names need.
func (p *mapPage) spotWidth(list []int, w int) int {
	most, name := 0, leastSpot
	for _, i := range list {
		up, down := p.ports(i)
		most = max(most, len(up), len(down))
		name = max(name, len([]rune(p.short(i)))+1)
	}
	want := max(name, min(most, widestSpot))
	if fits := (w+1)/len(list) - 1; fits < want {
		want = max(name, min(want, fits))
	}
	return min(want, w)
}

// short is the name of a switch without its tier, which the label says.
func (p *mapPage) short(i int) string {
	name := p.of.Switches[i].ID
	if p.of.Tiers() == 0 {
		return name
	}
	if tier, rest, ok := strings.Cut(name, "."); ok && strings.HasPrefix(tier, "s") && rest != "" {
		return rest
	}
	return name
}

// ports are the indices, among the connected ports of a switch, of its links upwards and of the
// others.
func (p *mapPage) ports(i int) (up, down []int) {
	t := p.of
	for k, at := range t.Ports[i] {
		if t.Tiers() > 0 && at.Switch >= 0 && *t.Switches[at.Switch].Tier < *t.Switches[i].Tier {
			up = append(up, k)
		} else {
			down = append(down, k)
		}
	}
	return up, down
}

func (p *mapPage) paintTiers(a *app, c *canvas) {
	for i, s := range p.spots {
		p.name(a, c, i, p.short(i))
		up, down := p.ports(i)
		p.comb(a, c, i, up, s.y-1)
		p.comb(a, c, i, down, s.y+1)
	}
}

// comb paints the links of a switch as a line of characters; several share one when there are more
// links than room, which then shows the worst of them.
func (p *mapPage) comb(a *app, c *canvas, i int, ports []int, y int) {
	s := p.spots[i]
	n := min(len(ports), s.w)
	for slot := range n {
		var worst trouble
		chosen, marked := false, false
		pick := -1
		for _, k := range ports[slot*len(ports)/n : (slot+1)*len(ports)/n] {
			link := a.mirror.Topology.Ports[i][k].Link
			tr := a.mirror.Trouble(link)
			if pick < 0 || tr > worst || (tr == worst && busier(a.mirror.Links[link]) > busier(a.mirror.Links[pick])) {
				pick, worst = link, tr
			}
			chosen = chosen || link == p.link(a)
			marked = marked || a.marks[target{aLink, link}]
		}
		r, t := a.th.sign(a.mirror, pick)
		c.put(s.x+slot, y, r, t)
		g := c.at(s.x+slot, y)
		g.reverse, g.under = chosen, marked
	}
}
