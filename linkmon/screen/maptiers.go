package screen

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// leastSpot is the least width of a switch that keeps its name readable.
const leastSpot = 3

// strandLines is how many lines there must be between two tiers for links to be drawn there.
const strandLines = 3

// arrangeTiers puts the switches of each tier into lines, the top tier above; switches without
// tiers are one tier. Above the name of a switch is a line with a character for each of its links
// upwards, below it one for those downwards.
func (p *mapPage) arrangeTiers(w, h int) {
	tiers := p.of.ByTier()
	y := p.fillTiers(tiers, w, 0)
	if len(tiers) > 1 && h > y { // the room there is goes between the tiers
		y = p.fillTiers(tiers, w, (h-y)/(len(tiers)-1))
	}
	p.size = [2]int{w, y}
}

func (p *mapPage) fillTiers(tiers [][]int, w, apart int) (y int) {
	t := p.of
	p.apart = apart
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
			p.spots[i] = spot{k%each*(w+1)/each + ((w+1)/each-width-1)/2, line, width}
		}
		if lines > 1 {
			p.apart = 0
		}
		y += (len(list) + each - 1) / each * p.tall()
		if t.Tiers() > 0 && tier == 0 {
			y -= (len(list) + each - 1) / each // nothing is above the top
			for k, i := range list {
				p.spots[i].y -= k / each
			}
		}
		if tier < len(tiers)-1 {
			y += apart
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

// spotWidth is the width for the switches of a tier: of one line, one character for each link, or
// as many as fit, and at least the names; of several lines, as few as the names and their signs
// need.
func (p *mapPage) spotWidth(list []int, w int) int {
	most, name := 0, 1
	for _, i := range list {
		up, down := p.ports(i)
		most = max(most, len(up), len(down))
		name = max(name, len([]rune(p.short(i))))
	}
	if fits := (w+1)/len(list) - 1; fits >= name {
		return max(name, min(most, fits))
	}
	return min(max(leastSpot, name+1), w)
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
	if p.apart >= strandLines {
		p.strands(a, c)
	}
	for i, s := range p.spots {
		p.name(a, c, i, p.short(i))
		up, down := p.ports(i)
		p.comb(a, c, i, up, s.y-1)
		p.comb(a, c, i, down, s.y+1)
	}
}

// strands draws the links between the tiers: all where they can be told apart, or else those with
// trouble and those of the switch under the cursor.
func (p *mapPage) strands(a *app, c *canvas) {
	all := len(p.of.Links)-len(p.of.NICs) <= 2*c.w
	d := newDots(c, a.cfg.ASCII)
	for i, s := range p.spots {
		_, down := p.ports(i)
		for k, port := range down {
			at := p.of.Ports[i][port]
			if at.Switch < 0 {
				continue
			}
			tr := a.mirror.Trouble(at.Link)
			if !all && tr == linkWell && i != p.cursor && at.Switch != p.cursor {
				continue
			}
			t, step := loadTone(busier(a.mirror.Links[at.Link])), 1
			switch {
			case at.Link == p.link(a):
				t = strong
			case tr != linkWell:
				t, step = troubleTone(tr), 4
			case busier(a.mirror.Links[at.Link]) == 0:
				t, step = load1, 3
			}
			below := p.spots[at.Switch]
			up, _ := p.ports(at.Switch)
			other := slices.IndexFunc(up, func(q int) bool { return p.of.Ports[at.Switch][q].Link == at.Link })
			x0, y0 := 2*(s.x+slot(k, len(down), s.w))+1, 4*(s.y+2)
			x1, y1 := 2*(below.x+slot(other, len(up), below.w))+1, 4*(below.y-1)-1
			d.curve(func(share float64) (x, y int) {
				return int(math.Round(float64(x0) + share*float64(x1-x0))), int(math.Round(float64(y0) + share*float64(y1-y0)))
			}, step, t)
		}
	}
}

// slot is which of the characters for so many links in a width has the k-th.
func slot(k, links, width int) int { return ((k+1)*min(links, width) - 1) / links }

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
