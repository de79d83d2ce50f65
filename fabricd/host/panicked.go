package host

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// Panicked says in words what a firmware has failed on, and how to ask it again.
func Panicked(g *topology.Graph, routing string, p *switching.RoutePanic) string {
	why := strings.NewReplacer("\n\t", "; in ", "\n", "; ").Replace(fmt.Sprint(p.Value))
	return fmt.Sprintf("firmware failed on packet %d of %s to %s, which is discarded: %s; ask it again: %s",
		p.Packet.Seq, nicName(g, p.Packet.Src), nicName(g, p.Packet.Dst), why, replay(g, routing, p))
}

// nicName is the name of a NIC, or its number where there is none: a packet from outside may name
// any.
func nicName(g *topology.Graph, id weft.NICID) string {
	if int(id) < len(g.NICs) {
		return g.NICs[id].Name
	}
	return fmt.Sprint(uint32(id))
}

// replay is the command that asks for the same decision.
func replay(g *topology.Graph, routing string, p *switching.RoutePanic) string {
	h := &p.Packet
	var b strings.Builder
	fmt.Fprintf(&b, "fabricd explain --topology '%s' --routing '%s' --switch %s --in-port %d --vc %d --src %s --dst %s",
		g.Spec, routing, g.Switches[p.Switch].Name, p.At.Port, p.At.VC, nicName(g, h.Src), nicName(g, h.Dst))
	if f := weft.NewFields(); h.PortField != f.PortField {
		fmt.Fprintf(&b, " --port-field=%d", h.PortField)
	}
	for _, o := range []struct {
		flag string
		bits uint64
	}{{"misroute", h.Misroute}, {"layers", uint64(h.Layers)}} {
		if o.bits != 0 {
			fmt.Fprintf(&b, " --%s %b", o.flag, o.bits)
		}
	}
	if h.Path != 0 {
		fmt.Fprintf(&b, " --path %d", h.Path)
	}
	if h.Route.Len() > 0 {
		fmt.Fprintf(&b, " --route %v", h.Route)
	}
	if h.Sub.Len() > 0 {
		fmt.Fprintf(&b, " --sub '%v'", h.Sub)
	}
	var dead []string
	for port := range g.Switches[p.Switch].Ports {
		if p.Dead.Has(weft.PortID(port)) {
			dead = append(dead, fmt.Sprint(port))
		}
	}
	if len(dead) > 0 {
		fmt.Fprintf(&b, " --dead-ports %s", strings.Join(dead, ","))
	}
	for _, r := range p.Registers {
		if r.Value != 0 {
			fmt.Fprintf(&b, " --state '%s=%b'", r.Name, r.Value)
		}
	}
	return b.String()
}
