package layout

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// DOT writes the graph in the language of Graphviz, with the place of every node and the way of
// every link; the file asks itself that they stay, so that "dot -Tsvg" draws it. The error is w's.
func DOT(w io.Writer, g *topology.Graph, o Options) error {
	l := Of(g)
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "graph %s {\n", quote(g.Spec))
	points := l.unit(g)
	at := func(p Point) string { // y grows upwards there
		return fmt.Sprintf("%.1f,%.1f", points*p.X, points*(l.Height-p.Y))
	}
	fmt.Fprintln(out, "  layout=nop2; outputorder=edgesfirst;")
	fmt.Fprintln(out, `  node [shape=box, style="rounded,filled", fillcolor=white, fontname=monospace, fontsize=10, `+
		`margin="0.06,0.03", width=0.3, height=0.25];`)
	fmt.Fprintln(out, "  edge [color=gray40];")
	for i, s := range g.Switches {
		fmt.Fprintf(out, "  %s [pos=\"%s\"];\n", quote(s.Name), at(l.Switches[i]))
	}
	if o.NICs {
		fmt.Fprintln(out, "  node [shape=ellipse, style=filled, fontsize=8, margin=\"0.02,0.01\", width=0.1, height=0.1];")
		for i, n := range g.NICs {
			fmt.Fprintf(out, "  %s [pos=\"%s\"];\n", quote(n.Name), at(l.NICs[i]))
		}
	}
	for i, k := range g.Links {
		if !o.shown(k) {
			continue
		}
		from, _ := l.ends(k)
		way := at(from)
		for _, q := range l.pieces(i, k) { // as cubic curves
			way += " " + at(between(from, q.control)) + " " + at(between(q.end, q.control)) + " " + at(q.end)
			from = q.end
		}
		fmt.Fprintf(out, "  %s -- %s [id=%s, edgetooltip=%s, pos=%s];\n", quote(g.Name(k.A.Node)), quote(g.Name(k.B.Node)),
			quote(k.Name), quote(ports(k)), quote(way))
	}
	fmt.Fprintln(out, "}")
	return flushed(out, "DOT")
}

// between is two thirds of the way from a to b.
func between(a, b Point) Point { return Point{X: (a.X + 2*b.X) / 3, Y: (a.Y + 2*b.Y) / 3} }

// ports tells of a link in a line.
func ports(l topology.Link) string {
	return fmt.Sprintf("%s, ports %d and %d", l.Name, l.A.Port, l.B.Port)
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}
