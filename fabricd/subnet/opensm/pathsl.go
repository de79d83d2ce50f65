package opensm

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// pathSL is the service level of each path, from a NIC to an address of a NIC. A nil one has level
// 0 for all. A NIC of which the file says nothing sends as the others of its switch do.
type pathSL struct {
	of  map[pair]level    // from the NICs of a switch: the first that the file has
	own map[nicPair]level // of NICs whose level is another
}

// level is a service level, and the line that says it.
type level struct {
	sl   uint8
	line int
}

// nicPair are a NIC and an address that it sends to.
type nicPair struct {
	from, to weft.NICID
	path     int
}

// pair are a switch and an address that its NICs send to.
type pair struct {
	from weft.SwitchID
	to   weft.NICID
	path int
}

// from is the service level in which a NIC of switch x.from sends; false when it has no path.
func (p *pathSL) from(nic weft.NICID, x pair) (uint8, bool) {
	if p == nil {
		return 0, true
	}
	if own, ok := p.own[nicPair{nic, x.to, x.path}]; ok {
		return own.sl, true
	}
	all, ok := p.of[x]
	return all.sl, ok
}

// readPathSL reads a table of path records: a source LID, a destination LID and the service level,
// a line each, as scripts make it from saquery. Errors have the line: LIDs that are nobody's, and
// paths that have two levels.
func readPathSL(n nodes, lids *LIDs, f File) (*pathSL, error) {
	p := &pathSL{of: map[pair]level{}, own: map[nicPair]level{}}
	paths := lids.paths()
	seen := newBitset(len(n.graph.NICs) * len(n.graph.NICs) * paths)
	in := linesOf(f)
	for in.next() {
		if in.text == "" || strings.HasPrefix(in.text, "#") {
			continue
		}
		words := strings.Fields(in.text)
		if len(words) != 3 {
			return nil, in.fail("found %q, expected a source LID, a destination LID and a service level", nearest.Clip(in.text))
		}
		from, okFrom := number(words[0], topology.MaxLID)
		to, okTo := number(words[1], topology.MaxLID)
		sl, okSL := number(words[2], serviceLevels-1)
		if !okFrom || !okTo || !okSL {
			return nil, in.fail("found %q, expected a source LID, a destination LID and a service level from 0 to %d",
				nearest.Clip(in.text), serviceLevels-1)
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
		src := weft.NICID(ends[0].Index)
		s, _ := n.graph.SwitchOf(src)
		x := pair{s, weft.NICID(ends[1].Index), to - lids.of[ends[1]].first}
		now := level{uint8(sl), in.n}
		switch known := seen.set((int(src)*len(n.graph.NICs)+int(x.to))*paths + x.path); {
		case known:
			if old, _ := p.from(src, x); old != now.sl {
				return nil, in.fail("service level %d from %s to LID %d of %s, and %d by a line before: expected one",
					sl, n.graph.Name(ends[0]), to, n.graph.Name(ends[1]), old)
			}
		case p.of[x].line == 0:
			p.of[x] = now
		case p.of[x].sl != now.sl:
			p.own[nicPair{src, x.to, x.path}] = now
		}
	}
	return p, in.err()
}

// bitset holds bits that are set or not.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

// set sets bit i and reports whether it was set.
func (b bitset) set(i int) (was bool) {
	was = b[i/64]>>(i%64)&1 == 1
	b[i/64] |= 1 << (i % 64)
	return was
}

// WritePathSL writes what option path-sl reads: per pair of NICs and address the layer that packets
// travel in, as service level.
func WritePathSL(w io.Writer, r *layered.Routing, lids *LIDs) error {
	if err := checkLanes(r); err != nil {
		return err
	}
	g := r.Graph
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "# slid dlid sl")
	for _, src := range g.NICs {
		s, port := g.SwitchOf(src.ID)
		from, _ := lids.Of(src.ID.Node())
		for _, dst := range g.NICs {
			first, count := lids.Of(dst.ID.Node())
			for _, a := range r.Assignment.From(s, port, dst.ID) {
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
