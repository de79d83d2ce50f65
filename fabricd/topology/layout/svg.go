package layout

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// LinkLook is how a link is drawn. The zero value is an ordinary one.
type LinkLook struct {
	Color string  // as #rrggbb; empty: grey
	Width float64 // pixels; 0: 1, and less for the links of NICs
	Dash  string  // as "6 4"; empty: solid
	Note  string  // told when a pointer rests on it, after its name and ports
}

// SwitchLook is how a switch is drawn. The zero value is an ordinary one.
type SwitchLook struct {
	Fill, Color string // of the inside and the edge, as #rrggbb; empty: white, dark grey
	Label       string // beside it
	Note        string // told when a pointer rests on it, after its name
}

// Map is a topology as it is drawn in SVG: dark on white, with the names of switches where there is
// room, and of tiers.
type Map struct {
	Options
	Graph  *topology.Graph
	Layout Layout
	Title  string // told by screen readers and on hovering; empty: the name of the topology

	Links    map[int]LinkLook   // by number, of those that differ
	Switches map[int]SwitchLook // by number, of those that differ
}

// SVG draws g as an SVG file. The error is w's.
func SVG(w io.Writer, g *topology.Graph, o Options) error {
	return Map{Options: o, Graph: g, Layout: Of(g)}.Write(w)
}

// Sizes in pixels, chosen by eye.
const (
	charWidth  = 6.1  // of a name
	nameSize   = 10   // height of its font
	nicSize    = 8    // height of the font of a NIC's name
	leastUnit  = 38   // pixels for one unit, when names fit
	beside     = 18   // and for the room beside a name
	widened    = 1.65 // times that, where links run beside switches
	widestPage = 8000 // a drawing that would be wider has no names
	plainUnit  = 16   // pixels for one unit, without
	dense      = 500  // links above which they are drawn thinner
	tierRoom   = 46   // beside a tree, for the labels of tiers
)

// The elements of SVG that are used.
type (
	element struct {
		XMLName  xml.Name
		Attr     []xml.Attr `xml:",any,attr"`
		Title    string     `xml:"title,omitempty"`
		Text     string     `xml:",chardata"`
		Elements []*element
	}
	painter struct {
		Map
		unit  float64 // pixels
		left  float64 // pixels before the layout begins
		names bool
	}
)

// Write draws m. The error is w's.
func (m Map) Write(w io.Writer) error {
	p := painter{Map: m}
	p.scale()
	wide, high := p.left+p.unit*p.Layout.Width, p.unit*p.Layout.Height
	if p.NICs {
		high += p.nicNames()
	}
	title := m.Title
	title = cmp.Or(title, m.Graph.Spec)
	root := tag("svg", "xmlns", "http://www.w3.org/2000/svg", "width", px(wide), "height", px(high), "viewBox",
		"0 0 "+px(wide)+" "+px(high),
		"role", "img", "font-family", "ui-monospace, monospace", "font-size", strconv.Itoa(nameSize), "fill", "#222")
	root.Title = title
	root.add(tag("rect", "width", "100%", "height", "100%", "fill", "#fff"))
	root.add(p.links(), p.switches())
	if p.NICs {
		root.add(p.nics())
	}
	if p.Layout.Kind == Tree {
		root.add(p.tiers())
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	err := enc.Encode(root)
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	if err != nil {
		return fmt.Errorf("write topology as SVG: %w", err)
	}
	return nil
}

// scale chooses how large everything is: names fit between neighbours, unless that makes the
// drawing too large.
func (p *painter) scale() {
	p.unit = p.Layout.unit(p.Graph)
	p.names = p.unit*max(p.Layout.Width, p.Layout.Height) <= widestPage
	if !p.names {
		p.unit = plainUnit
	}
	if p.Layout.Kind == Tree {
		p.left = tierRoom
	}
}

// unit is how many pixels one unit of the layout takes, so that names fit between neighbours.
func (l *Layout) unit(g *topology.Graph) float64 {
	longest := 0
	for _, s := range g.Switches {
		longest = max(longest, len(s.Name))
	}
	unit := max(leastUnit, charWidth*float64(longest)+beside)
	if l.Kind != Tree {
		unit *= widened
	}
	return unit
}

func (p *painter) at(q Point) (x, y float64) { return p.left + p.unit*q.X, p.unit * q.Y }

func (p *painter) links() *element {
	group := tag("g", "fill", "none", "stroke", "#999")
	if len(p.Graph.Links) > dense {
		group.set("stroke-width", "0.5")
	}
	marked := tag("g", "fill", "none") // above the others
	for i, k := range p.Graph.Links {
		if !p.shown(k) {
			continue
		}
		look, differs := p.Links[i]
		e := p.link(i, k)
		e.Title = ports(k)
		if look.Note != "" {
			e.Title += ": " + look.Note
		}
		if !k.BetweenSwitches() {
			e.set("stroke-width", "0.5")
		}
		if !differs {
			group.add(e)
			continue
		}
		e.set("stroke", cmp.Or(look.Color, "#999"))
		if look.Width > 0 {
			e.set("stroke-width", px(look.Width))
		}
		if look.Dash != "" {
			e.set("stroke-dasharray", look.Dash)
		}
		marked.add(e)
	}
	both := tag("g")
	both.add(group, marked)
	return both
}

func (p *painter) link(i int, k topology.Link) *element {
	a, b := p.Layout.ends(k)
	x1, y1 := p.at(a)
	if p.Layout.Bends[i] == 0 {
		x2, y2 := p.at(b)
		return tag("line", "x1", px(x1), "y1", px(y1), "x2", px(x2), "y2", px(y2))
	}
	d := "M" + px(x1) + " " + px(y1)
	for _, q := range p.Layout.pieces(i, k) {
		x, y := p.at(q.control)
		x2, y2 := p.at(q.end)
		d += "Q" + px(x) + " " + px(y) + " " + px(x2) + " " + px(y2)
	}
	return tag("path", "d", d)
}

func (p *painter) switches() *element {
	group := tag("g", "fill", "#fff", "stroke", "#333", "text-anchor", "middle")
	for i, s := range p.Graph.Switches {
		look := p.Switches[i]
		x, y := p.at(p.Layout.Switches[i])
		box := tag("circle", "cx", px(x), "cy", px(y), "r", "5")
		if p.names {
			wide := charWidth*float64(len(s.Name)) + 6
			box = tag("rect", "x", px(x-wide/2), "y", px(y-8), "width", px(wide), "height", "16", "rx", "3")
		}
		if look.Fill != "" {
			box.set("fill", look.Fill)
		}
		if look.Color != "" {
			box.set("stroke", look.Color)
			box.set("stroke-width", "2")
		}
		box.Title = s.Name
		if look.Note != "" {
			box.Title += ": " + look.Note
		}
		group.add(box)
		if p.names {
			group.add(label(x, y+3.5, s.Name))
		}
		if look.Label != "" {
			t := label(x, y-11, look.Label)
			t.set("font-size", "9")
			t.set("stroke", "#fff") // around it, for links may run there
			t.set("stroke-width", "3")
			t.set("paint-order", "stroke")
			t.set("fill", cmp.Or(look.Color, "#222"))
			group.add(t)
		}
	}
	return group
}

// nicNames is how much room the names of NICs need below a tree; 0: there is none for them.
func (p *painter) nicNames() float64 {
	if p.Layout.Kind != Tree || !p.names {
		return 0
	}
	longest := 0
	for i, n := range p.Graph.NICs {
		longest = max(longest, len(n.Name))
		if i > 0 && p.unit*math.Abs(p.Layout.NICs[i].X-p.Layout.NICs[i-1].X) < nicSize {
			return 0
		}
	}
	return charWidth*float64(longest) - 8
}

func (p *painter) nics() *element {
	group := tag("g", "fill", "#fff", "stroke", "#333", "font-size", strconv.Itoa(nicSize))
	room, radius := p.nicNames(), "2.5"
	if len(p.Layout.NICs) > 1 &&
		p.unit*math.Hypot(p.Layout.NICs[1].X-p.Layout.NICs[0].X, p.Layout.NICs[1].Y-p.Layout.NICs[0].Y) < 5 {
		radius = "1"
	}
	for i, n := range p.Graph.NICs {
		x, y := p.at(p.Layout.NICs[i])
		dot := tag("circle", "cx", px(x), "cy", px(y), "r", radius)
		dot.Title = n.Name
		group.add(dot)
		if room > 0 {
			t := label(0, 0, n.Name)
			t.set("transform", "translate("+px(x+2.7)+" "+px(y+5)+") rotate(-90)")
			t.set("text-anchor", "end")
			group.add(t)
		}
	}
	return group
}

func (p *painter) tiers() *element {
	group := tag("g")
	shown := map[int]bool{}
	for i, s := range p.Graph.Switches {
		if tier := int(s.Tier); !shown[tier] {
			shown[tier] = true
			_, y := p.at(p.Layout.Switches[i])
			group.add(label(6, y+3.5, "tier "+strconv.Itoa(tier)))
		}
	}
	return group
}

func label(x, y float64, text string) *element {
	t := tag("text", "x", px(x), "y", px(y), "stroke", "none", "fill", "#222")
	t.Text = text
	return t
}

// tag is an element with attributes, names and values by turns.
func tag(name string, attrs ...string) *element {
	e := &element{XMLName: xml.Name{Local: name}}
	for i := 0; i+1 < len(attrs); i += 2 {
		e.set(attrs[i], attrs[i+1])
	}
	return e
}

func (e *element) set(name, value string) {
	for i := range e.Attr {
		if e.Attr[i].Name.Local == name {
			e.Attr[i].Value = value
			return
		}
	}
	e.Attr = append(e.Attr, xml.Attr{Name: xml.Name{Local: name}, Value: value})
}

func (e *element) add(list ...*element) { e.Elements = append(e.Elements, list...) }

// px is a length with no more figures than can be seen.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
