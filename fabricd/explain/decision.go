package explain

import (
	"fmt"
	mathbits "math/bits"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// decision puts what a firmware answers into the names of the topology.
func (f *fabric) decision(s *stand, at switching.Arrival, pkt weft.Header, d switching.Decision, vcs int) *Decision {
	place := s.still.At
	in, _, _ := f.graph.Peer(weft.End{Node: place.Switch.Node(), Port: at.Port})
	a := &Decision{
		Switch: place.Name, Routing: f.routing, InPort: int(at.Port), In: f.graph.Name(in.Node), From: from(at.From),
		VC:   int(at.VC),
		Path: int(pkt.Path), Layers: layersText(pkt.Layers), Sub: pkt.Sub.String(), Dst: f.graph.NICs[pkt.Dst].Name,
		Candidates: []Candidate{}, Rule: d.Rule, Turn: turn(d.Turn),
		Discard: len(d.Candidates) == 0, Notify: d.Notify, Asked: asked(s.still.Asked),
	}
	// discards says that the pipeline refuses the decision.
	discards := func(format string, args ...any) {
		a.Discard = true
		a.Problems = append(a.Problems, fmt.Sprintf(format, args...)+": the switch discards the packet")
	}
	if w := d.Write; w.Do {
		if w.Index < 0 || w.Index >= len(s.registers) {
			discards("it writes register %d of %d", w.Index, len(s.registers))
		} else {
			r := s.registers[w.Index]
			a.Writes = map[string]string{r.Name: bits(w.Value, r.Width)}
			if n := mathbits.Len64(w.Value); n > r.Width {
				a.Problems = append(a.Problems, fmt.Sprintf("it writes %d bits to register %s, which has %d", n, r.Name, r.Width))
			}
		}
	}
	for _, c := range d.Candidates {
		if int(c.Port) >= place.Ports() || int(c.VC) >= vcs {
			discards("it names port %d, vc %d, which this switch does not have", c.Port, c.VC)
		} else if !s.still.PortUp(c.Port) {
			a.Problems = append(a.Problems,
				fmt.Sprintf("it names port %d, which is dead: the packet never leaves by it", c.Port))
		}
		out := Candidate{
			Port: int(c.Port), VC: int(c.VC), Class: int(c.Class), Need: max(1, int(c.Need)),
			Fields: changed(pkt.Fields, c.Fields, width(place)),
		}
		if to, _, ok := f.graph.Peer(weft.End{Node: place.Switch.Node(), Port: c.Port}); ok {
			out.To, out.ToPort = f.graph.Name(to.Node), int(to.Port)
		}
		a.Candidates = append(a.Candidates, out)
	}
	return a
}

// layersText is a set of layers as bits; "" for none.
func layersText(layers uint16) string {
	if layers == 0 {
		return ""
	}
	return bits(uint64(layers), 1)
}

// width is how many bits of a vector of up ports are worth printing.
func width(p *weft.Place) int {
	if p.Tree != nil {
		return p.Tree.K
	}
	return 1
}
