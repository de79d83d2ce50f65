package opensm

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology/ibnet"
)

// pathSL is the service level of each path: from the NICs of a switch to an address of a NIC. A nil one has level 0 for all.
type pathSL struct {
	lines map[pair]int // the line that says it
	sl    map[pair]uint8
}

// pair are a switch and an address that its NICs send to.
type pair struct {
	from weft.SwitchID
	to   weft.NICID
	path int
}

func (p *pathSL) of(x pair) (uint8, bool) {
	if p == nil {
		return 0, true
	}
	sl, ok := p.sl[x]
	return sl, ok
}

// readPathSL reads a table of path records: a source LID, a destination LID and the service level, a line each, as scripts make it
// from saquery. Errors have the line: LIDs that are nobody's, and levels that differ among the NICs of a switch, which in Weft send
// alike.
func readPathSL(n nodes, lids *LIDs, f File) (*pathSL, error) {
	p := &pathSL{lines: map[pair]int{}, sl: map[pair]uint8{}}
	in := linesOf(f)
	for in.next() {
		if in.text == "" || strings.HasPrefix(in.text, "#") {
			continue
		}
		words := strings.Fields(in.text)
		if len(words) != 3 {
			return nil, in.fail("found %q, expected a source LID, a destination LID and a service level", clip(in.text))
		}
		from, okFrom := number(words[0], ibnet.MaxLID)
		to, okTo := number(words[1], ibnet.MaxLID)
		sl, okSL := number(words[2], serviceLevels-1)
		if !okFrom || !okTo || !okSL {
			return nil, in.fail("found %q, expected a source LID, a destination LID and a service level from 0 to %d", clip(in.text), serviceLevels-1)
		}
		var ends [2]weft.Node
		for i, lid := range []int{from, to} {
			node, ok := lids.node[lid]
			if !ok {
				return nil, in.fail("LID %d is unknown", lid)
			}
			ends[i] = node
		}
		if ends[0].IsSwitch() || ends[1].IsSwitch() || ends[0] == ends[1] {
			continue // a path of management
		}
		s, _ := n.graph.SwitchOf(weft.NICID(ends[0].Index))
		x := pair{s, weft.NICID(ends[1].Index), to - lids.of[ends[1]].first}
		if old, ok := p.sl[x]; ok && old != uint8(sl) {
			return nil, in.fail("service level %d from switch %s to %s, and %d by line %d: the NICs of a switch send alike",
				sl, n.graph.Switches[s].Name, n.graph.Name(ends[1]), old, p.lines[x])
		}
		p.sl[x], p.lines[x] = uint8(sl), in.n
	}
	return p, in.err()
}

// WritePathSL writes what option path-sl reads: per pair of NICs and address the layer that packets travel in, as service level.
func WritePathSL(w io.Writer, r *layered.Routing, lids *LIDs) error {
	if err := checkLanes(r); err != nil {
		return err
	}
	g := r.Graph
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "# slid dlid sl")
	for _, src := range g.NICs {
		s, _ := g.SwitchOf(src.ID)
		from, _ := lids.Of(src.ID.Node())
		for _, dst := range g.NICs {
			first, count := lids.Of(dst.ID.Node())
			for _, a := range r.Assignment.Addresses(s, dst.ID) {
				if src.ID != dst.ID && int(a.Path) < count {
					fmt.Fprintln(out, from, first+int(a.Path), uint8(a.VC))
				}
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write service levels: %w", err)
	}
	return nil
}
