package topology

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
)

// WriteJSON writes the listing of the graph as one JSON object: switches, nics and links, with the
// names and ports of everything, one to a line; scripts may rely on it. It is a topology file too:
// [Load] of it gives the same graph, unless it is larger than [document.MaxSize]. The error is the
// writer's.
func (g *Graph) WriteJSON(w io.Writer) error { return g.writeJSON(w, Drawing{}) }

func (g *Graph) writeJSON(w io.Writer, d Drawing) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "{")
	if g.generated != "" {
		fmt.Fprintf(out, `"spec":%s,`, encode(g.generated))
	}
	fmt.Fprintf(out, `"kind":%s,`+"\n", encode(g.Kind))
	if d.Kind != "" {
		fmt.Fprintf(out, `"layout":%s,`+"\n", encode(fileLayout{d.Kind, d.Width, d.Height}))
	}
	fmt.Fprint(out, `"switches":[`)
	for i, s := range g.Switches {
		x, y := place(d.Switches, i)
		item(out, i, fileSwitch{
			ID: s.Name, Ports: ported(s.Ports), Tier: g.tierOf(s), Digits: s.Digits, Coord: s.Coord,
			GUID: g.givenGUID(s.ID.Node()), X: x, Y: y,
		})
	}
	fmt.Fprint(out, "\n],\n\"nics\":[")
	for i, n := range g.NICs {
		s, p := g.SwitchOf(n.ID)
		x, y := place(d.NICs, i)
		item(out, i, fileNIC{
			ID: n.Name, Switch: g.Switches[s].Name, SwitchPort: portNumber(p),
			GUID: g.givenGUID(n.ID.Node()), X: x, Y: y,
		})
	}
	fmt.Fprint(out, "\n],\n\"links\":[")
	for i, l := range g.Links {
		bend := 0.0
		if i < len(d.Bends) {
			bend = d.Bends[i]
		}
		item(out, i, fileLink{
			ID: l.Name,
			A:  g.Name(l.A.Node), APort: portNumber(l.A.Port),
			B: g.Name(l.B.Node), BPort: portNumber(l.B.Port),
			Bend: bend,
		})
	}
	fmt.Fprint(out, "\n]}\n")
	return flushed(out, "JSON")
}

// WriteYAML writes a topology file: a generated graph as generate and, if links are missing,
// remove_links; any other as [Graph.WriteYAMLListing] does. [Load] of it gives the same graph.
func (g *Graph) WriteYAML(w io.Writer) error {
	if g.generated == "" {
		return g.WriteYAMLListing(w)
	}
	out := bufio.NewWriter(w)
	out.WriteString(document.SchemaLine("topology"))
	fmt.Fprintf(out, "generate: %s\n", scalar(g.generated))
	if len(g.removed) > 0 {
		fmt.Fprintln(out, "remove_links:")
		for _, name := range g.removed {
			fmt.Fprintf(out, "  - %s\n", scalar(name))
		}
	}
	return flushed(out, "YAML")
}

// WriteYAMLListing writes a topology file with every switch, NIC and link and all their ports, one
// to a line. [Load] of it gives the same graph, unless it is larger than [document.MaxSize].
func (g *Graph) WriteYAMLListing(w io.Writer) error {
	out := bufio.NewWriter(w)
	out.WriteString(document.SchemaLine("topology"))
	if g.generated != "" {
		fmt.Fprintf(out, "spec: %s\n", scalar(g.generated))
	}
	fmt.Fprintln(out, "switches:")
	for _, s := range g.Switches {
		ports := ""
		if s.Ports > 0 {
			ports = fmt.Sprintf(", ports: %d", s.Ports)
		}
		fmt.Fprintf(out, "  - {id: %s%s%s}\n", scalar(s.Name), ports, g.guidField(s.ID.Node()))
	}
	short := g.nicLinksLast()
	links := g.Links
	if short {
		links = links[:len(links)-len(g.NICs)]
	}
	section(out, "nics", len(g.NICs))
	for _, n := range g.NICs {
		if !short {
			fmt.Fprintf(out, "  - {id: %s%s}\n", scalar(n.Name), g.guidField(n.ID.Node()))
			continue
		}
		s, p := g.SwitchOf(n.ID)
		fmt.Fprintf(out, "  - {id: %s, switch: %s, switch_port: %d%s}\n", scalar(n.Name), scalar(g.Switches[s].Name), p,
			g.guidField(n.ID.Node()))
	}
	section(out, "links", len(links))
	for _, l := range links {
		fmt.Fprintf(out, "  - {a: %s, a_port: %d, b: %s, b_port: %d}\n",
			scalar(g.Name(l.A.Node)), l.A.Port, scalar(g.Name(l.B.Node)), l.B.Port)
	}
	return flushed(out, "YAML")
}

// guidField is the GUID of a node as one more field of a flow mapping, if a file gave it one.
func (g *Graph) guidField(n weft.Node) string {
	if guid := g.givenGUID(n); guid != "" {
		return ", guid: " + scalar(guid)
	}
	return ""
}

// nicLinksLast reports whether the links of the NICs are the last ones, in the order of the NICs:
// then a file may give them at the NICs and they get the same numbers again.
func (g *Graph) nicLinksLast() bool {
	first := len(g.Links) - len(g.NICs)
	if first < 0 {
		return false
	}
	for i, n := range g.NICs {
		if g.Links[first+i].B.Node != n.ID.Node() {
			return false
		}
	}
	return true
}

func section(out *bufio.Writer, name string, entries int) {
	if entries == 0 {
		name += ": []"
	} else {
		name += ":"
	}
	fmt.Fprintln(out, name)
}

// scalar quotes what YAML might take for something other than text, such as the names 10 and true.
func scalar(s string) string {
	plain := s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z') &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf":
		plain = false
	}
	if plain {
		return s
	}
	return encode(s)
}

// item writes one element of a JSON list on its own line.
func item(out *bufio.Writer, i int, v any) {
	sep := ",\n"
	if i == 0 {
		sep = "\n"
	}
	fmt.Fprint(out, sep, encode(v))
}

// encode is v in JSON, which is YAML too. v is a string or a struct of ours, which cannot fail.
func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("topology: BUG: %v", err))
	}
	return string(data)
}

func flushed(out *bufio.Writer, form string) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write topology as %s: %w", form, err)
	}
	return nil
}

func (g *Graph) tierOf(s Switch) *int {
	if g.Tiers == 0 {
		return nil
	}
	tier := int(s.Tier)
	return &tier
}

func ported(n int) *int {
	if n == 0 {
		return nil // a lone switch; the reader finds 0 again
	}
	return &n
}

func portNumber(p weft.PortID) *int {
	n := int(p)
	return &n
}
