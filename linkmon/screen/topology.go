package screen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/fabricd/api"
)

// topology is what is drawn: the graph, by names, and where things are in it.
type topology struct {
	api.Topology

	NICLinks []int    // per NIC the index of its link, -1 without one
	Ports    [][]port // the connected ports of each switch, by number

	switches, nics, links map[string]int
	width, height         float64 // how far places reach
}

// port is a connected port of a switch.
type port struct {
	Number int
	Link   int    // index of its link
	Peer   string // node at the other end
	Switch int    // index of the peer, -1 when it is a NIC
	AtA    bool   // the port is the A end of the link
}

// readTopology reads the topology as the API gives it.
func readTopology(raw []byte) (*topology, error) {
	t := &topology{}
	if err := json.Unmarshal(raw, &t.Topology); err != nil {
		return nil, fmt.Errorf("topology of the fabric: %w", err)
	}
	t.switches, t.nics, t.links = map[string]int{}, map[string]int{}, map[string]int{}
	for i, s := range t.Switches {
		t.switches[s.ID] = i
	}
	for i, n := range t.NICs {
		t.nics[n.ID] = i
		t.NICLinks = append(t.NICLinks, -1)
	}
	t.Ports = make([][]port, len(t.Switches))
	for i, l := range t.Links {
		t.links[l.ID] = i
		for _, end := range []struct {
			node, peer string
			port       int
			atA        bool
		}{{l.A, l.B, l.APort, true}, {l.B, l.A, l.BPort, false}} {
			if s, ok := t.switches[end.node]; ok {
				t.Ports[s] = append(t.Ports[s],
					port{Number: end.port, Link: i, Peer: end.peer, Switch: t.Switch(end.peer), AtA: end.atA})
			} else if n, ok := t.nics[end.node]; ok {
				t.NICLinks[n] = i
			} else {
				return nil, fmt.Errorf("topology of the fabric: link %s ends at %q, which is not in it", l.ID, end.node)
			}
		}
	}
	for _, ports := range t.Ports {
		slices.SortFunc(ports, func(a, b port) int { return a.Number - b.Number })
	}
	t.place()
	return t, nil
}

// Switch is the index of a switch by its name, -1 when there is none.
func (t *topology) Switch(name string) int { return find(t.switches, name) }

// NIC is the index of a NIC by its name, -1 when there is none.
func (t *topology) NIC(name string) int { return find(t.nics, name) }

// Link is the index of a link by its name, -1 when there is none.
func (t *topology) Link(name string) int { return find(t.links, name) }

func find(in map[string]int, name string) int {
	if i, ok := in[name]; ok {
		return i
	}
	return -1
}

// Tiers is how many tiers the switches are in, 0 when not all are in one.
func (t *topology) Tiers() (n int) {
	for _, s := range t.Switches {
		if s.Tier == nil || *s.Tier < 0 {
			return 0
		}
		n = max(n, *s.Tier+1)
	}
	return n
}

// ByTier are the switches of each tier from left to right, as the page draws them. Switches without
// tiers are one.
func (t *topology) ByTier() [][]int {
	n := t.Tiers()
	tiers := make([][]int, max(1, n))
	for i, s := range t.Switches {
		tier := 0
		if n > 0 {
			tier = *s.Tier
		}
		tiers[tier] = append(tiers[tier], i)
	}
	if n > 0 {
		for _, list := range tiers {
			slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(t.Switches[i].X, t.Switches[j].X) })
		}
	}
	return tiers
}

// Extent is how far the places of switches reach from the origin; false when the topology gives
// none. Places are moved so that the least coordinates are 0.
func (t *topology) Extent() (width, height float64, ok bool) {
	return t.width, t.height, t.width > 0 || t.height > 0
}

// place moves the switches to the origin.
func (t *topology) place() {
	if len(t.Switches) == 0 {
		return
	}
	minX, minY := t.Switches[0].X, t.Switches[0].Y
	for _, s := range t.Switches {
		minX, minY = min(minX, s.X), min(minY, s.Y)
	}
	for i := range t.Switches {
		s := &t.Switches[i]
		s.X, s.Y = s.X-minX, s.Y-minY
		t.width, t.height = max(t.width, s.X), max(t.height, s.Y)
	}
}

// Grid is the size of the grid that the switches are in, up to three dimensions; false when they
// are in none, or it is a ring.
func (t *topology) Grid() (size [3]int, ok bool) {
	size = [3]int{1, 1, 1}
	if len(t.Switches) == 0 {
		return size, false
	}
	for _, s := range t.Switches {
		if len(s.Coord) < 2 || len(s.Coord) > len(size) {
			return size, false
		}
		for d, c := range s.Coord {
			if c < 0 || c > len(t.Switches) {
				return size, false
			}
			size[d] = max(size[d], c+1)
		}
	}
	return size, size[0]*size[1]*size[2] == len(t.Switches)
}
