package opensm

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// LIDs are the addresses of a fabric: a node has so many in a row, from its first.
type LIDs struct {
	graph *topology.Graph
	of    map[weft.Node]span
	node  map[int]weft.Node // whose a LID is
}

// span are LIDs in a row; none when count is 0.
type span struct{ first, count int }

func newLIDs(g *topology.Graph) *LIDs {
	return &LIDs{g, make(map[weft.Node]span, len(g.Switches)+len(g.NICs)), map[int]weft.Node{}}
}

// NewLIDs are the LIDs that of says a node has, count of them from first on; count 0: none.
func NewLIDs(g *topology.Graph, of func(n weft.Node) (first, count int)) (*LIDs, error) {
	l := newLIDs(g)
	for _, n := range byPortGUID(g) {
		if first, count := of(n); count > 0 {
			if err := l.set(n, first, first+count-1); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// set gives a node its LIDs, from first to last.
func (l *LIDs) set(n weft.Node, first, last int) error {
	if first < 1 || last < first || last > topology.MaxLID {
		return fmt.Errorf("LIDs %#04x to %#04x for %s, expected some of 0x0001 to %#04x", first, last, l.graph.Name(n),
			topology.MaxLID)
	}
	if old := l.of[n]; old.count > 0 && old != (span{first, last - first + 1}) {
		return fmt.Errorf("%s has LID %#04x already", l.graph.Name(n), old.first)
	}
	for lid := first; lid <= last; lid++ {
		if other, ok := l.node[lid]; ok && other != n {
			return fmt.Errorf("LID %#04x of %s is that of %s already", lid, l.graph.Name(n), l.graph.Name(other))
		}
		l.node[lid] = n
	}
	l.of[n] = span{first, last - first + 1}
	return nil
}

// paths is the most LIDs that a NIC has.
func (l *LIDs) paths() int {
	most := 1
	for n, s := range l.of {
		if !n.IsSwitch() {
			most = max(most, s.count)
		}
	}
	return most
}

// Of is the first LID of a node and how many it has; 0, 0 when it has none.
func (l *LIDs) Of(n weft.Node) (first, count int) { return l.of[n].first, l.of[n].count }

// AssignLIDs gives LIDs as OpenSM does to a fabric that has none: first to the port that OpenSM
// runs at, then to all others by the bytes of their GUIDs, the last byte first. NICs get 2^lmc
// LIDs, at the next multiple of that, and switches the next one. It errs when there are more than
// fit.
func AssignLIDs(g *topology.Graph, sm weft.NICID, lmc int) (*LIDs, error) {
	if lmc < 0 || lmc > topology.MaxLMC {
		return nil, fmt.Errorf("LMC %d, expected 0 to %d", lmc, topology.MaxLMC)
	}
	order := byPortGUID(g)
	if i := slices.Index(order, sm.Node()); i > 0 {
		copy(order[1:], order[:i])
		order[0] = sm.Node()
	}
	l := newLIDs(g)
	next := 1
	for _, n := range order {
		count := 1
		if !n.IsSwitch() {
			count = 1 << lmc
		}
		first := (next + count - 1) / count * count
		next = first + count
		if err := l.set(n, first, next-1); err != nil {
			return nil, fmt.Errorf("%s with %d switches and %d NICs: %w", g.Spec, len(g.Switches), len(g.NICs), err)
		}
	}
	return l, nil
}

// byPortGUID are the switches and NICs of a graph in the order of OpenSM, see compareGUID.
func byPortGUID(g *topology.Graph) []weft.Node {
	order := make([]weft.Node, 0, len(g.Switches)+len(g.NICs))
	for _, s := range g.Switches {
		order = append(order, s.ID.Node())
	}
	for _, n := range g.NICs {
		order = append(order, n.ID.Node())
	}
	slices.SortFunc(order, func(a, b weft.Node) int { return compareGUID(g.Identity(a).PortGUID, g.Identity(b).PortGUID) })
	return order
}

// compareGUID orders GUIDs as OpenSM does on the machines that it runs on: by their bytes, the last
// one first.
func compareGUID(a, b topology.GUID) int {
	return cmp.Compare(bits.ReverseBytes64(uint64(a)), bits.ReverseBytes64(uint64(b)))
}

// GraphLIDs are the LIDs that the topology's file says, as ibnetdiscover found them; false when
// nodes are without.
func GraphLIDs(g *topology.Graph) (*LIDs, bool) {
	l := newLIDs(g)
	know := func(n weft.Node) bool {
		id := g.Identity(n)
		return id.LID > 0 && l.set(n, id.LID, id.LID+1<<id.LMC-1) == nil
	}
	for _, s := range g.Switches {
		if !know(s.ID.Node()) {
			return nil, false
		}
	}
	for _, n := range g.NICs {
		if !know(n.ID.Node()) {
			return nil, false
		}
	}
	return l, true
}

// ReadGUID2LID reads the file guid2lid of OpenSM's cache: a port GUID, the first LID and the last,
// a line each. GUIDs that are not in the graph are of other ports that OpenSM remembers. Errors
// have the line.
func ReadGUID2LID(g *topology.Graph, f File) (*LIDs, error) {
	l, in, known := newLIDs(g), linesOf(f), nodesOf(g)
	for in.next() {
		if in.text == "" || strings.HasPrefix(in.text, "#") {
			continue
		}
		words := strings.Fields(in.text)
		if len(words) != 3 {
			return nil, in.fail("found %q, expected a GUID and its first and last LID, as 0x0000000000200000 0x0002 0x0002",
				nearest.Clip(in.text))
		}
		port, ok := guid(words[0])
		first, okFirst := number(words[1], topology.MaxLID)
		last, okLast := number(words[2], topology.MaxLID)
		if !ok || !okFirst || !okLast {
			return nil, in.fail("found %q, expected a GUID and its first and last LID, as 0x0000000000200000 0x0002 0x0002",
				nearest.Clip(in.text))
		}
		n, ok := known.byGUID[port]
		if !ok {
			continue
		}
		if err := l.set(n, first, last); err != nil {
			return nil, in.fail("%w", err)
		}
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	if len(l.of) == 0 {
		return nil, in.fail("%w", errors.New("no GUID of this topology: give the file of this fabric"))
	}
	return l, nil
}

// WriteGUID2LID writes what [ReadGUID2LID] reads, and OpenSM from its cache, so that it gives these
// LIDs.
func (l *LIDs) WriteGUID2LID(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, n := range l.nodes() {
		s := l.of[n]
		fmt.Fprintf(out, "%v 0x%04x 0x%04x\n\n", l.graph.Identity(n).PortGUID, s.first, s.first+s.count-1)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write LIDs: %w", err)
	}
	return nil
}

// nodes are those with LIDs, in the order of these.
func (l *LIDs) nodes() []weft.Node {
	var list []weft.Node
	for lid := 1; lid <= l.last(); lid++ {
		if n, ok := l.node[lid]; ok && l.of[n].first == lid {
			list = append(list, n)
		}
	}
	return list
}

// last is the highest LID.
func (l *LIDs) last() int {
	last := 0
	for _, s := range l.of {
		last = max(last, s.first+s.count-1)
	}
	return last
}
