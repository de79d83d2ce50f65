package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/link"
)

// Path is the way of a traced packet.
type Path struct {
	Packet Packet
	Hops   []weft.Hop   // one for each decision of a switch, in order
	End    weft.Account // where the packet ended; 0 while it is in flight
	At     string       // the name of the node it ended at; "" while in flight, and when lost on a wire
	Rule   string       // the rule that discarded it; "" unless it was discarded

	graph *topology.Graph
	sent  bool // by Send
}

func (p *Path) copy() Path {
	c := *p
	c.Hops = slices.Clone(p.Hops)
	return c
}

// Switches names the switches that the packet crossed, in order.
func (p Path) Switches() []string {
	var names []string
	for _, h := range p.Hops {
		names = append(names, p.graph.Switches[h.Switch].Name)
	}
	return names
}

// Rules lists the rules that fired, in order.
func (p Path) Rules() []string {
	var rules []string
	for _, h := range p.Hops {
		rules = append(rules, h.Rule)
	}
	return rules
}

// String prints a line per switch: ports, virtual channels, where it leads, the rule that fired and
// how long the packet waited. The hops of a loop are printed once, with how often they come again.
func (p Path) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "packet %s -> %s #%d: %v", p.name(p.Packet.Src.Node()), p.name(p.Packet.Dst.Node()), p.Packet.Seq,
		p.End)
	if p.At != "" {
		fmt.Fprintf(&b, " at %s", p.At)
	}
	if p.Rule != "" {
		fmt.Fprintf(&b, " by rule %q", p.Rule)
	}
	steps := make([]step, len(p.Hops))
	for i, h := range p.Hops {
		steps[i] = step{h.Switch, h.In, h.Out, h.InVC, h.OutVC, h.Rule}
	}
	foldLoops(steps, func(i int) { b.WriteString(p.line(&p.Hops[i])) },
		func(hops, times int) { b.WriteString("\n  " + again(hops, times)) })
	return b.String()
}

// step is what is the same in the hops of a loop each time.
type step struct {
	at          weft.SwitchID
	in, out     weft.PortID
	inVC, outVC weft.VC
	rule        string
}

// line is a hop as a line that continues the path.
func (p Path) line(h *weft.Hop) string {
	var b strings.Builder
	sw := h.Switch.Node()
	fmt.Fprintf(&b, "\n  %-8s in %v %v", p.name(sw), h.In, h.InVC)
	if h.Out != weft.NoPort {
		peer, _, _ := p.graph.Peer(weft.End{Node: sw, Port: h.Out})
		fmt.Fprintf(&b, ", out %v %v to %-8s", h.Out, h.OutVC, p.name(peer.Node))
	}
	fmt.Fprintf(&b, "  %s", h.Rule)
	if h.Waited > 0 {
		fmt.Fprintf(&b, " (waited %v)", h.Waited)
	}
	return b.String()
}

func (p Path) name(n weft.Node) string { return p.graph.Name(n) }

// waits says where a packet is blocked and for what, a line that continues its path; empty when it
// is nowhere blocked.
func (h *Harness) waits(path Path) string {
	for _, s := range h.Topology().Switches {
		snap := h.fabric.Switch(s.ID)
		for _, b := range snap.Blocked {
			if key(&b.Header) != path.Packet {
				continue
			}
			var outputs []string
			for _, o := range b.For {
				room := fmt.Sprintf("room at %v %v", o.Port, o.VC)
				if snap.Ports[o.Port].State != link.Up {
					room = fmt.Sprintf("the link at %v to %s, which is down",
						o.Port, path.name(h.Topology().Place(s.ID).Neighbours[o.Port]))
				}
				outputs = append(outputs, room)
			}
			return fmt.Sprintf("\n  %-8s in %v %v, waits for %s", s.Name, b.In, b.InVC, strings.Join(outputs, " or "))
		}
	}
	src := path.Packet.Src
	if nic := h.fabric.NIC(src); len(path.Hops) == 0 && nic.Queued > 0 && nic.State != link.Up {
		at, _ := h.Topology().SwitchOf(src)
		return fmt.Sprintf("\n  %-8s waits for the link to %s, which is down", path.name(src.Node()), path.name(at.Node()))
	}
	return ""
}
