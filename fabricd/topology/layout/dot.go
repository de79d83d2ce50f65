package layout

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// mostRouted is how many links Graphviz leads around switches in reasonable time, where straight
// ones would run over them; in larger drawings all are straight.
const mostRouted = 200

// DOT writes the graph in the language of Graphviz, with the place of every node, in inches; the
// file asks for neato itself, so that "dot -Tsvg" draws it. The error is w's.
func DOT(w io.Writer, g *topology.Graph, o Options) error {
	l := Of(g)
	splines, links := "line", 0
	for i, k := range g.Links {
		if o.shown(k) {
			links++
			if l.Bends[i] != 0 {
				splines = "true"
			}
		}
	}
	if links > mostRouted {
		splines = "line"
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "graph %s {\n", quote(g.Spec))
	inches := 1.0
	if l.Kind != Tree {
		inches = 1.5 // links run beside switches
	}
	pos := func(p Point) string { // y grows upwards there, and the mark says that the node is to stay
		return fmt.Sprintf("pos=\"%.3f,%.3f!\"", inches*p.X, inches*(l.Height-p.Y))
	}
	fmt.Fprintf(out, "  layout=neato; splines=%s; sep=\"+3\"; esep=\"+1\";\n", splines)
	fmt.Fprintln(out, "  node [shape=box, style=rounded, fontname=monospace, fontsize=10, margin=\"0.06,0.03\", width=0.3, height=0.25];")
	fmt.Fprintln(out, "  edge [color=gray40];")
	for i, s := range g.Switches {
		fmt.Fprintf(out, "  %s [%s];\n", quote(s.Name), pos(l.Switches[i]))
	}
	if o.NICs {
		fmt.Fprintln(out, "  node [shape=ellipse, style=solid, fontsize=8, margin=\"0.02,0.01\", width=0.1, height=0.1];")
		for i, n := range g.NICs {
			fmt.Fprintf(out, "  %s [%s];\n", quote(n.Name), pos(l.NICs[i]))
		}
	}
	for _, k := range g.Links {
		if o.shown(k) {
			fmt.Fprintf(out, "  %s -- %s [id=%s, edgetooltip=%s];\n", quote(g.Name(k.A.Node)), quote(g.Name(k.B.Node)),
				quote(k.Name), quote(ports(k)))
		}
	}
	fmt.Fprintln(out, "}")
	return flushed(out, "DOT")
}

// ports tells of a link in a line.
func ports(l topology.Link) string {
	return fmt.Sprintf("%s, ports %d and %d", l.Name, l.A.Port, l.B.Port)
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}
