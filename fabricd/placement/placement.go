// Package placement decides which switches and NICs of a fabric run on which host. It is pure: the
// same graph and the same agents give the same placement.
//
// A NIC always goes where its switch goes. In trees whole pods go together where that keeps the
// load even, else smaller pods, else single switches. What is left is the partitioning of a graph
// with weights into parts of given sizes with few links between them, which is done by the
// multilevel method: contract along heavy edges, place the small graph that is left, and undo the
// contractions one by one with a refinement after each (Karypis and Kumar, "A fast and high quality
// multilevel scheme for partitioning irregular graphs", sections 3 to 5; the refinement moves one
// vertex at a time, also to the worse, and keeps the best state it came through: Fiduccia and
// Mattheyses, "A linear-time heuristic for improving network partitions").
package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// ErrRoom means that the agents have too little room for the fabric.
var ErrRoom = errors.New("too little room on the agents")

// Agent is a host that offers room.
type Agent struct {
	Name     string
	Ports    int // most ports of switches and NICs together
	Switches int // most switches; 0 is any number
	Cores    int // load is shared by them; 0 counts as 1
}

// Host is what one agent runs of a fabric.
type Host struct {
	Agent    string
	Switches []weft.SwitchID // ascending
	NICs     []weft.NICID    // ascending
	Ports    int             // of both that have a link
}

// Placement is which agent runs what.
type Placement struct {
	Hosts []Host // in the order of the agents; those that run nothing are left out
	Cost  Cost

	of []int // per switch, its part
}

// even is how far above its share of the load an agent may be so that larger pods stay whole.
// Chosen by us.
const even = 1.05

// Place shares a fabric out. The error wraps ErrRoom when the agents cannot hold it and says how
// much is missing.
func Place(g *topology.Graph, agents []Agent) (*Placement, error) {
	base := switchNet(g)
	if err := checkRoom(base, agents); err != nil {
		return nil, err
	}
	caps := shares(base.total(), base.heaviest(), agents)
	var best *division
	for _, pods := range podsOf(g) {
		net, up := base.contract(pods, slices.Max(pods)+1)
		d := divide(net, caps)
		d.of = project(d.of, up)
		if best == nil || d.score.compare(best.score) < 0 {
			best = d
		}
		if best.score.over == 0 {
			break // the largest pods that leave the load even
		}
	}
	if best.score.room > 0 {
		return nil, fmt.Errorf("placement: %w: in all it would do, but the switches cannot be shared out so that they fit: "+
			"offer more on some agent, or add one%s", ErrRoom, offers(base, agents))
	}
	return newPlacement(g, agents, best.of), nil
}

// PlaceAs is the placement that puts each switch on the agent of that position, as one that has
// been written down does.
func PlaceAs(g *topology.Graph, agents []string, of []int) (*Placement, error) {
	if len(of) != len(g.Switches) {
		return nil, fmt.Errorf("placement: of %d switches, but %s has %d: it is that of another fabric", len(of), g.Spec,
			len(g.Switches))
	}
	all := make([]Agent, len(agents))
	for i, name := range agents {
		all[i].Name = name
	}
	for s, a := range of {
		if a < 0 || a >= len(agents) {
			return nil, fmt.Errorf("placement: switch %s is on agent number %d of %d", g.Switches[s].Name, a, len(agents))
		}
	}
	return newPlacement(g, all, of), nil
}

func newPlacement(g *topology.Graph, agents []Agent, of []int) *Placement {
	parts := make([]Host, len(agents))
	for i, a := range agents {
		parts[i].Agent = a.Name
	}
	for s := range g.Switches {
		p := &parts[of[s]]
		p.Switches = append(p.Switches, weft.SwitchID(s))
	}
	for n := range g.NICs {
		s, _ := g.SwitchOf(weft.NICID(n))
		p := &parts[of[s]]
		p.NICs = append(p.NICs, weft.NICID(n))
	}
	net := switchNet(g)
	number := make([]int, len(agents)) // without those that run nothing
	out := &Placement{of: make([]int, len(of))}
	for i := range parts {
		if number[i] = len(out.Hosts); len(parts[i].Switches) > 0 {
			out.Hosts = append(out.Hosts, parts[i])
		}
	}
	for s, a := range of {
		out.of[s] = number[a]
		out.Hosts[number[a]].Ports += net.weight[s].ports
	}
	out.Cost = costOf(g, out.of)
	return out
}

func checkRoom(base *net, agents []Agent) error {
	need, ports, switches, bounded := base.total(), 0, 0, true
	for _, a := range agents {
		ports += a.Ports
		switches += a.Switches
		bounded = bounded && a.Switches > 0
	}
	var missing []string
	if ports < need.ports {
		missing = append(missing, fmt.Sprintf("%d ports of %d", need.ports-ports, need.ports))
	}
	if bounded && switches < need.switches {
		missing = append(missing, fmt.Sprintf("%d switches of %d", need.switches-switches, need.switches))
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("placement: %w: room for %s is missing: add agents, or offer more on them%s", ErrRoom,
		strings.Join(missing, " and "), offers(base, agents))
}

// offers lists what each agent offers and how much more each would need if all were to hold the
// same.
func offers(base *net, agents []Agent) string {
	need, s := base.total(), ""
	each := load{ports: ceil(need.ports, len(agents)), switches: ceil(need.switches, len(agents))}
	for _, a := range agents {
		s += fmt.Sprintf("\n  %s: room for %d ports", a.Name, a.Ports)
		if a.Switches > 0 {
			s += fmt.Sprintf(" and %d switches", a.Switches)
		}
		if lack := each.ports - a.Ports; lack > 0 {
			s += fmt.Sprintf(", %d ports less than its share", lack)
		}
		if lack := each.switches - a.Switches; lack > 0 && a.Switches > 0 {
			s += fmt.Sprintf(", %d switches less than its share", lack)
		}
	}
	return s
}

func ceil(a, b int) int { return (a + max(b, 1) - 1) / max(b, 1) }
