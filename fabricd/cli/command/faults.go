package command

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// LinksOf are the links of a fault: names of links, or of switches for all of theirs.
func LinksOf(g *topology.Graph, fault string) (list []weft.LinkID, err error) {
	for name := range strings.SplitSeq(fault, ",") {
		if name == "" {
			return nil, fmt.Errorf("--down %q: a name is empty: give links or switches, as s0.0-s0.1,s3.3", fault)
		}
		if s, err := g.SwitchByName(name); err == nil {
			for _, l := range g.Links {
				if l.A.Node == s.Node() || l.B.Node == s.Node() {
					list = append(list, l.ID)
				}
			}
			continue
		}
		l, err := g.LinkByName(name)
		if err != nil && !strings.Contains(name, "-") {
			_, err = g.SwitchByName(name)
			if n, nic := g.NICByName(name); nic == nil {
				s, _ := g.SwitchOf(n)
				err = fmt.Errorf("%s is a NIC: name its link, %s-%s", name, g.Name(s.Node()), name)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--down: %w", err)
		}
		list = append(list, l.ID)
	}
	return list, nil
}

// Without is how many pairs have no route, and how many of those no live links join.
func Without(unroutable, isolated int) string {
	switch {
	case unroutable == 0:
		return "0"
	case isolated == unroutable:
		return Grouped(uint64(unroutable)) + ", joined by no live links"
	case isolated > 0:
		return fmt.Sprintf("%s, of which no live links join %s", Grouped(uint64(unroutable)), Grouped(uint64(isolated)))
	}
	return Grouped(uint64(unroutable))
}

// ParseFaults reads a number of faults, or two of them. One alone is the most, but the only one for
// samples.
func ParseFaults(text string, samples bool) (least, most int, err error) {
	from, to, two := strings.Cut(text, "-")
	if !two {
		from, to = text, text
	}
	least, errFrom := strconv.Atoi(from)
	most, errTo := strconv.Atoi(to)
	if errFrom != nil || errTo != nil || least < 0 || most < least {
		return 0, 0, fmt.Errorf("--faults %s: expected a number of faults, as 2, or two, the smaller first, as 4-10", text)
	}
	if !two && !samples {
		least = 0
	}
	return least, most, nil
}
