package topology

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft"
)

// DOTOptions says what a drawing shows.
type DOTOptions struct {
	NICs bool // draw the NICs too
}

// WriteDOT writes the graph in the language of Graphviz. Trees come out tier by tier with dot; meshes of two dimensions
// have positions for neato, which the file asks for itself, as do the other kinds: "dot -Tsvg" draws them all.
func (g *Graph) WriteDOT(w io.Writer, opts DOTOptions) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "graph %s {\n", quote(g.Spec))
	fmt.Fprintf(out, "  layout=%s; overlap=false; splines=line; ranksep=1.5;\n", g.layout())
	fmt.Fprintln(out, "  node [shape=box, style=rounded, fontname=monospace, fontsize=10, margin=\"0.06,0.03\", height=0.25];")
	fmt.Fprintln(out, "  edge [color=gray40];")
	g.dotSwitches(out)
	if opts.NICs {
		g.dotNICs(out)
	}
	for _, l := range g.Links {
		if l.BetweenSwitches() || opts.NICs {
			fmt.Fprintf(out, "  %s -- %s [id=%s, edgetooltip=%s];\n", quote(g.Name(l.A.Node)), quote(g.Name(l.B.Node)),
				quote(l.Name), quote(fmt.Sprintf("%s, ports %d and %d", l.Name, l.A.Port, l.B.Port)))
		}
	}
	fmt.Fprintln(out, "}")
	return flushed(out, "DOT")
}

func (g *Graph) layout() string {
	switch {
	case g.tree != nil:
		return "dot"
	case g.Kind == Ring:
		return "circo"
	case g.flat():
		return "neato"
	}
	return "sfdp"
}

// flat reports whether the coordinates are positions on paper.
func (g *Graph) flat() bool { return g.grid != nil && len(g.grid.dims) <= 2 && g.Kind != Ring }

func (g *Graph) dotSwitches(out *bufio.Writer) {
	if g.tree == nil {
		for _, s := range g.Switches {
			pos := ""
			if g.flat() {
				y := 0
				if len(s.Coord) > 1 {
					y = s.Coord[1]
				}
				pos = fmt.Sprintf(" [pos=\"%d,%d!\"]", 2*s.Coord[0], y)
			}
			fmt.Fprintf(out, "  %s%s;\n", quote(s.Name), pos)
		}
		return
	}
	for l := range g.Tiers {
		// Invisible edges keep the switches of a tier in the order of their digits.
		fmt.Fprint(out, "  { rank=same; edge [style=invis];")
		for i := range g.tree.inTier(l) {
			join := " "
			if i > 0 {
				join = " -- "
			}
			fmt.Fprint(out, join+quote(g.Switches[g.tree.base(l)+i].Name))
		}
		fmt.Fprintln(out, "; }")
	}
}

func (g *Graph) dotNICs(out *bufio.Writer) {
	fmt.Fprintln(out, "  { node [shape=ellipse, style=solid, fontsize=8];")
	if g.tree != nil {
		fmt.Fprintln(out, "    rank=same; edge [style=invis];")
		for i := 1; i < len(g.NICs); i++ {
			fmt.Fprintf(out, "    %s -- %s;\n", quote(g.NICs[i-1].Name), quote(g.NICs[i].Name))
		}
	}
	for _, n := range g.NICs {
		pos := ""
		if g.flat() {
			s, p := g.SwitchOf(n.ID)
			pos = g.nicPosition(s, p)
		}
		fmt.Fprintf(out, "    %s%s;\n", quote(n.Name), pos)
	}
	fmt.Fprintln(out, "  }")
}

// nicPosition puts the NICs of a switch under it, to the right.
func (g *Graph) nicPosition(id weft.SwitchID, port weft.PortID) string {
	s := g.Switches[id]
	y := 0
	if len(s.Coord) > 1 {
		y = s.Coord[1]
	}
	i := int(port) - 2*len(g.grid.dims)
	return fmt.Sprintf(" [pos=\"%d.%d,%d.4!\"]", 2*s.Coord[0]+(5+2*i)/10, (5+2*i)%10, y)
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}
