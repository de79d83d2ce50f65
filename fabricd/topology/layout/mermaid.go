package layout

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// maxMermaid is how many links Mermaid draws unless it is configured to draw more.
const maxMermaid = 500

// ErrTooManyLinks means that a graph has more links than [maxMermaid].
var ErrTooManyLinks = errors.New("too many links for Mermaid")

// Mermaid writes the graph as a Mermaid flowchart, the tiers of a tree from the top. The error is
// w's, or wraps [ErrTooManyLinks].
func Mermaid(w io.Writer, g *topology.Graph, o Options) error {
	links := 0
	for _, k := range g.Links {
		if o.shown(k) {
			links++
		}
	}
	if links > maxMermaid {
		what := "take another format"
		if links-len(g.NICs) <= maxMermaid && o.NICs {
			what = "leave out the NICs, or " + what
		}
		return fmt.Errorf("%s: %w: %d, expected at most %d: %s", g.Spec, ErrTooManyLinks, links, maxMermaid, what)
	}
	out := bufio.NewWriter(w)
	direction := "LR"
	if g.Tiers > 0 {
		direction = "TB"
	}
	fmt.Fprintf(out, "%%%% %s\nflowchart %s\n", oneLine(g.Spec), direction)
	for i, s := range g.Switches {
		if g.Tiers > 0 && (i == 0 || s.Tier != g.Switches[i-1].Tier) {
			fmt.Fprintf(out, "  subgraph tier%d[\"tier %d\"]\n", s.Tier, s.Tier)
		}
		// Names can be words of the language, so nodes go by their numbers.
		fmt.Fprintf(out, "  s%d[\"%s\"]\n", i, s.Name)
		if g.Tiers > 0 && (i == len(g.Switches)-1 || s.Tier != g.Switches[i+1].Tier) {
			fmt.Fprintln(out, "  end")
		}
	}
	if o.NICs {
		for i, n := range g.NICs {
			fmt.Fprintf(out, "  n%d([\"%s\"])\n", i, n.Name)
		}
	}
	for _, k := range g.Links {
		if o.shown(k) {
			fmt.Fprintf(out, "  %s --- %s\n", number(k.A.Node), number(k.B.Node))
		}
	}
	return flushed(out, "Mermaid")
}

func number(n weft.Node) string {
	if n.IsSwitch() {
		return fmt.Sprintf("s%d", n.Index)
	}
	return fmt.Sprintf("n%d", n.Index)
}

// oneLine keeps what could end a comment out of it.
func oneLine(s string) string {
	out := []rune(s)
	for i, r := range out {
		if r < ' ' || r == '{' || r == '}' {
			out[i] = ' '
		}
	}
	return string(out)
}
