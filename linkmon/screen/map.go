package screen

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/fabricd/api"
)

// spot is where a switch is drawn on the map.
type spot struct{ x, y, w int }

func (s spot) middle() (x, y int) { return 2*s.x + s.w, 2 * s.y }

// mapPage is the fabric as a map: trees by tiers, grids as grids, other graphs line by line. The
// cursor is on a switch, and with tab on one of its links.
type mapPage struct {
	filter filter
	cursor int // index of the switch
	port   int // which of its connected ports is chosen, -1: none

	// The layout, made anew when the room or the topology changes.
	of     *topology
	width  int
	height int
	spots  []spot
	labels []label
	free   bool      // switches are not in lines
	bends  []float64 // of a free map, per link, in units of its layout
	unit   float64   // of that, in dots
	apart  int       // lines between two tiers, 0 when one takes several
	size   [2]int    // of the whole map, in characters
	step   int       // of a grid: from one switch of a line to the next
	paint  func(p *mapPage, a *app, c *canvas)
	top    int // first line shown
	left   int // first character shown
}

// label is a text on the map that is about no single switch.
type label struct {
	x, y int
	text string
}

func newMapPage() *mapPage { return &mapPage{port: -1} }

func (p *mapPage) reset() { *p = *newMapPage() }

func (p *mapPage) title() string     { return "Map" }
func (p *mapPage) filtered() *filter { return &p.filter }

func (p *mapPage) on(a *app) target {
	if p.cursor >= len(a.mirror.Switches) {
		return target{}
	}
	if link := p.link(a); link >= 0 {
		return target{aLink, link}
	}
	return target{aSwitch, p.cursor}
}

// link is the index of the chosen link, -1 when none is.
func (p *mapPage) link(a *app) int {
	ports := a.mirror.Topology.Ports[p.cursor]
	if p.port < 0 || p.port >= len(ports) {
		return -1
	}
	return ports[p.port].Link
}

func (p *mapPage) key(a *app, k string) bool {
	if p.of != a.mirror.Topology {
		p.settle(a, a.w, a.h-4) // several keys may come before anything is drawn
	}
	if len(p.spots) == 0 {
		return false
	}
	ports := len(a.mirror.Topology.Ports[p.cursor])
	switch k {
	case "up", "k":
		p.move(0, -1)
	case "down", "j":
		p.move(0, 1)
	case "left", "h":
		p.move(-1, 0)
	case "right", "l":
		p.move(1, 0)
	case "home", "g":
		p.cursor, p.port = 0, -1
	case "end", "G":
		p.cursor, p.port = len(p.spots)-1, -1
	case "n":
		p.next(a)
	case "tab":
		if p.port++; p.port >= ports {
			p.port = -1
		}
	case "shift+tab":
		if p.port--; p.port < -1 {
			p.port = ports - 1
		}
	default:
		return false
	}
	return true
}

// move goes to the nearest switch in a direction.
func (p *mapPage) move(dx, dy int) {
	x, y := p.spots[p.cursor].middle()
	best, nearest := -1, 0
	for i, s := range p.spots {
		sx, sy := s.middle()
		ahead, aside := (sx-x)*dx+4*(sy-y)*dy, 4*(sy-y)*dx+(sx-x)*dy
		if ahead <= 0 || (dx != 0 && sy != y && !p.free) { // left and right stay in their line
			continue
		}
		if aside < 0 {
			aside = -aside
		}
		if d := ahead*4 + aside; best < 0 || d < nearest {
			best, nearest = i, d
		}
	}
	if best >= 0 {
		p.cursor, p.port = best, -1
	}
}

// next goes to the next switch that has trouble, or beside a link that has.
func (p *mapPage) next(a *app) {
	n := len(p.spots)
	for step := 1; step <= n; step++ {
		i := (p.cursor + step) % n
		if a.mirror.Switches[i].State != switchUp {
			p.cursor, p.port = i, -1
			return
		}
		for port, at := range a.mirror.Topology.Ports[i] {
			if a.mirror.Trouble(at.Link) != linkWell && (at.AtA || at.Switch < 0) { // each link once
				p.cursor, p.port = i, port
				return
			}
		}
	}
	a.notify(dim, "all is well")
}

func (p *mapPage) draw(a *app, w, h int) []string {
	p.settle(a, w, h)
	below := p.below(a, w)
	room := max(1, h-len(below))
	if room < 4 {
		below, room = nil, h
	}
	c := newCanvas(max(w, p.size[0]), max(room, p.size[1]))
	p.paint(p, a, c)
	for _, l := range p.labels {
		c.text(l.x, l.y, l.text, dim)
	}
	p.scroll(w, room)
	return append(c.lines(a.th, p.left, p.top, w, room), below...)
}

// settle arranges the map anew if the topology or the room is another.
func (p *mapPage) settle(a *app, w, h int) {
	if p.of != a.mirror.Topology || p.width != w || p.height != h {
		p.height = h
		p.arrange(a.mirror.Topology, w, h-4)
	}
}

// scroll keeps the cursor in what is shown.
func (p *mapPage) scroll(w, h int) {
	s := spot{}
	if p.cursor < len(p.spots) {
		s = p.spots[p.cursor]
	}
	p.top = min(p.top, max(0, s.y-2))
	p.top = max(p.top, s.y+3-h)
	p.top = max(0, min(p.top, p.size[1]-h))
	p.left = max(min(p.left, s.x), s.x+s.w-w)
	p.left = max(0, min(p.left, p.size[0]-w))
}

// arrange chooses the layout for a width.
func (p *mapPage) arrange(t *topology, w, h int) {
	p.of, p.width, p.labels, p.top, p.left, p.size = t, w, nil, 0, 0, [2]int{}
	p.spots = make([]spot, len(t.Switches))
	if p.cursor >= len(p.spots) {
		p.cursor, p.port = 0, -1
	}
	p.free = false
	if size, ok := t.Grid(); ok {
		p.arrangeGrid(size, w)
		p.paint = (*mapPage).paintGrid
		return
	}
	if p.free = t.Tiers() == 0 && p.arrangeFree(w, h); p.free {
		p.paint = (*mapPage).paintFree
		return
	}
	p.arrangeTiers(w, h)
	p.paint = (*mapPage).paintTiers
}

// name paints the name of a switch, with a sign for what it does.
func (p *mapPage) name(a *app, c *canvas, i int, text string) {
	s, v := p.spots[i], a.mirror.Switches[i]
	t := plain
	switch {
	case v.State == switchDown:
		t = bad
	case v.State == switchSuspect:
		t = warn
	case v.UTurns > 0 || v.Rerouted > 0:
		t = accent
	case p.filter.on() && !p.filter.pass(a.mirror.Topology.Switches[i].ID):
		t = dim
	case v.Blocked > 0:
		t = strong
	}
	label := []rune(text)
	if len(label) > s.w {
		label = label[:s.w]
	}
	c.text(s.x, s.y, string(label), t)
	if r := a.th.does(v); r != 0 { // beyond the name there is a gap at least
		c.put(s.x+len(label), s.y, r, t)
	}
	for x := s.x; x < s.x+s.w; x++ {
		g := c.at(x, s.y)
		g.reverse = g.reverse || (i == p.cursor && p.port < 0)
		g.under = g.under || (i == p.cursor && p.port >= 0) || a.marks[target{aSwitch, i}] || p.beside(a, i)
	}
}

// beside reports whether a switch is the other end of the chosen link.
func (p *mapPage) beside(a *app, i int) bool {
	ports := a.mirror.Topology.Ports[p.cursor]
	return p.port >= 0 && p.port < len(ports) && ports[p.port].Switch == i
}

// does is the sign for what a switch does besides forwarding, 0 for nothing.
func (t theme) does(v api.SwitchView) rune {
	switch {
	case v.State == switchDown:
		return t.signs.trouble[linkCut]
	case v.State == switchSuspect:
		return t.signs.trouble[linkSilent]
	case v.UTurns > 0:
		return t.signs.turn
	case v.Rerouted > 0:
		return t.signs.rerouted
	case v.Blocked > 0:
		return t.signs.blocked
	}
	return 0
}

// below tells of the switch under the cursor, and of the chosen link, and what the signs mean.
func (p *mapPage) below(a *app, w int) []string {
	if p.cursor >= len(a.mirror.Switches) {
		return nil
	}
	name := a.mirror.Topology.Switches[p.cursor].ID
	first := a.render(strong, name) + "  " + a.switchFigures(a.mirror.Switches[p.cursor])
	second := a.render(dim, "  "+p.unwellLinks(a))
	if link := p.link(a); link >= 0 {
		second = a.render(strong, a.mirror.Topology.Links[link].ID) + "  " + a.linkFigures(link)
	}
	return []string{a.render(dim, strings.Repeat(a.th.signs.rule, w)), first, second, a.render(dim, a.th.legend())}
}

// unwellLinks names the links of the switch under the cursor that are not well.
func (p *mapPage) unwellLinks(a *app) string {
	var list []string
	for _, at := range a.mirror.Topology.Ports[p.cursor] {
		if t := a.mirror.Trouble(at.Link); t != linkWell {
			list = append(list, at.Peer+" "+t.String())
		}
	}
	if len(list) == 0 {
		return "tab chooses one of its links, n the next trouble"
	}
	return strings.Join(list, ", ")
}

// legend says what the signs of the map mean.
func (t theme) legend() string {
	s := t.signs
	sign := func(tr trouble) string { return string(s.trouble[tr]) }
	return fmt.Sprintf("%s load %s cut %s silent %s down %s impaired %s flaps %c U-turn %c reroute %c waits",
		string([]rune{s.load[0], s.load[1], s.load[4], s.load[8]}), sign(linkCut), sign(linkSilent), sign(linkDown),
		sign(linkImpaired),
		sign(linkFlapping), s.turn, s.rerouted, s.blocked)
}
