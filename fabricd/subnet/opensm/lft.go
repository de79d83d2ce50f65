package opensm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/topology"
)

const (
	noPath = 255 // the port of a LID that a switch has no way to
	inform = "an entry as 0x0001 001"
)

// forwarding are the tables of a dump, and what it says of LIDs.
type forwarding struct {
	nodes
	lids *LIDs      // what was known of LIDs before, nil for nothing
	port [][]uint8  // per switch and LID: its out port as numbered there, noPath for none; nil for a switch without table
	said map[int]at // per LID: whose it is by the comments
}

// at is a node, and the line that says so.
type at struct {
	node weft.Node
	line int
}

// readLFT reads forwarding tables as OpenSM (opensm-lfts.dump) or infiniband-diags (dump_lfts.sh,
// dump_fts) dump them. Tables of multicast are skipped. LIDs that no comment names are those of
// lids.
func readLFT(n nodes, lids *LIDs, f File) (*forwarding, error) {
	r := &lftReader{
		lines:   linesOf(f),
		to:      &forwarding{nodes: n, lids: lids, port: make([][]uint8, len(n.graph.Switches)), said: map[int]at{}},
		started: make([]int, len(n.graph.Switches)),
	}
	for r.next() {
		if err := r.line(); err != nil {
			return nil, err
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	if r.uncounted > 0 && r.ended > 0 {
		return nil, document.LineError(r.name, r.uncounted, "",
			errors.New("this table ends without counting its LIDs, as others do: lines are missing"))
	}
	if r.open && r.ended > 0 {
		return nil, r.fail("the file ends within the table of switch %s: it is cut short", n.graph.Switches[r.at].Name)
	}
	for s, ports := range r.to.port {
		if ports == nil {
			return nil, r.fail("the file ends without a table of switch %s, GUID %v: it is cut short, or of another fabric",
				n.graph.Switches[s].Name, n.graph.Identity(weft.SwitchID(s).Node()).GUID)
		}
	}
	return r.to, nil
}

type lftReader struct {
	*lines
	to       *forwarding
	started  []int // per switch: the line of its table
	at       weft.SwitchID
	open     bool // in the table of that switch
	skipping bool // in a table of multicast
	entries  int
	// Tables end with a line that counts their LIDs, in dumps. In files made otherwise none may
	// have one.
	ended     int // how many have one
	uncounted int // the line where the first one begins that has none
}

func (r *lftReader) line() error {
	switch {
	case strings.HasPrefix(r.text, "Unicast lids"):
		return r.begin()
	case strings.HasPrefix(r.text, "Multicast"):
		r.skipping, r.open = true, false
	case r.text == "", r.skipping, strings.HasPrefix(r.text, "#"), strings.HasPrefix(r.text, "***"):
	case strings.HasPrefix(r.text, "Lid ") || strings.HasPrefix(r.text, "Port "): // the heading of a table
	case strings.HasSuffix(r.text, "lids dumped"):
		return r.end()
	case strings.HasPrefix(r.text, "0x"):
		return r.entry()
	default:
		return r.fail("found %q, expected %s, or the beginning of a table as Unicast lids [0-8] of switch Lid 2 guid 0x...",
			nearest.Clip(r.text), inform)
	}
	return nil
}

// begin reads "Unicast lids [0-8] of switch Lid 2 guid 0x0000000000200000 ('L0-0'):"; from a
// directed route there is no Lid.
func (r *lftReader) begin() error {
	g := r.to.graph
	if r.open && r.uncounted == 0 {
		r.uncounted = r.started[r.at]
	}
	id, ok := guidAfter(r.text, "guid")
	_, bounds, _ := strings.Cut(r.text, "[")
	bounds, _, okBounds := strings.Cut(bounds, "]")
	_, top, _ := strings.Cut(bounds, "-")
	last, okLast := number(top, topology.MaxLID)
	if !ok || !okBounds || !okLast {
		return r.fail("found %q, expected the beginning of a table as Unicast lids [0-8] of switch Lid 2 guid 0x...",
			nearest.Clip(r.text))
	}
	n, ok := r.to.byGUID[id]
	if !ok || !n.IsSwitch() {
		return r.fail("%w", r.to.unknown("switch", id))
	}
	r.at, r.open, r.skipping, r.entries = weft.SwitchID(n.Index), true, false, 0
	if line := r.started[r.at]; line > 0 {
		return r.fail("switch %s has a table at line %d already", g.Switches[r.at].Name, line)
	}
	r.started[r.at] = r.n
	ports := make([]uint8, last+1)
	for i := range ports {
		ports[i] = noPath
	}
	r.to.port[r.at] = ports
	if words := strings.Fields(r.text); len(words) > 6 && words[5] == "Lid" {
		if lid, ok := number(words[6], topology.MaxLID); ok && lid > 0 {
			return r.says(lid, n)
		}
	}
	return nil
}

// says notes whose a LID is.
func (r *lftReader) says(lid int, n weft.Node) error {
	old, ok := r.to.said[lid]
	if ok && old.node != n {
		return r.fail("LID 0x%04x is that of %s, and by line %d that of %s", lid, r.to.graph.Name(n), old.line,
			r.to.graph.Name(old.node))
	}
	if !ok {
		r.to.said[lid] = at{n, r.n}
	}
	return nil
}

// end reads "8 lids dumped", which has the last LID, or "8 valid lids dumped", which has the number
// of entries.
func (r *lftReader) end() error {
	words := strings.Fields(r.text)
	count, ok := number(words[0], topology.MaxLID+1)
	valid := len(words) > 1 && words[1] == "valid"
	switch last := len(r.to.port[r.at]) - 1; {
	case !r.open || !ok:
		return r.fail("found %q, expected it at the end of a table", nearest.Clip(r.text))
	case valid && count != r.entries:
		return r.fail("%d LIDs of switch %s are counted, and %d are there: lines are missing", count,
			r.to.graph.Switches[r.at].Name, r.entries)
	case !valid && count != last:
		return r.fail("the table of switch %s ends at LID %d, and at its beginning it is %d", r.to.graph.Switches[r.at].Name,
			count, last)
	}
	r.open = false
	r.ended++
	return nil
}

// entry reads "0x0001 001", and what follows of "# Channel Adapter portguid 0x0000000000100001:
// 'host0 HCA-1'".
func (r *lftReader) entry() error {
	words := strings.Fields(r.text)
	lid, ok := number(words[0], 0xFFFF)
	if !ok || len(words) < 2 {
		return r.fail("found %q, expected %s", nearest.Clip(r.text), inform)
	}
	port, ok := number(words[1], noPath)
	if !ok {
		return r.fail("found %q, expected %s", nearest.Clip(r.text), inform)
	}
	if !r.open {
		return r.fail("an entry outside of a table, expected its beginning as Unicast lids [0-8] of switch Lid 2 guid 0x...")
	}
	r.entries++
	if lid == 0 || lid > topology.MaxLID || port == noPath { // nobody's, multicast, or no way
		return nil
	}
	name := r.to.graph.Switches[r.at].Name
	switch ports := r.to.port[r.at]; {
	case lid >= len(ports):
		return r.fail("LID 0x%04x in the table of switch %s, which ends at 0x%04x", lid, name, len(ports)-1)
	case ports[lid] != noPath:
		return r.fail("LID 0x%04x is twice in the table of switch %s, at line %d first", lid, name, r.started[r.at])
	case port > r.to.graph.Switches[r.at].Ports:
		return r.fail("port %d of switch %s, which has %d", port, name, r.to.graph.Switches[r.at].Ports)
	default:
		ports[lid] = uint8(port)
	}
	if err := r.whose(lid); err != nil {
		return err
	}
	return r.leads(lid, port)
}

// whose finds out whose the LID of an entry is.
func (r *lftReader) whose(lid int) error {
	if id, ok := guidAfter(r.text, "portguid"); ok {
		n, ok := r.to.byGUID[id]
		if !ok {
			return r.fail("%w", r.to.unknown("port", id))
		}
		return r.says(lid, n)
	}
	if _, ok := r.to.said[lid]; ok {
		return nil
	}
	if r.to.lids != nil {
		if n, ok := r.to.lids.node[lid]; ok {
			r.to.said[lid] = at{n, r.n}
			return nil
		}
	}
	return r.fail("LID 0x%04x is unknown: name the file that has it, as guid2lid=guid2lid", lid)
}

// leads checks that an entry does not hand packets to the wrong NIC.
func (r *lftReader) leads(lid, port int) error {
	n := r.to.said[lid].node
	g := r.to.graph
	if port == 0 {
		if n != r.at.Node() {
			return r.fail("LID 0x%04x is that of %s, and port 0 is switch %s itself", lid, g.Name(n), g.Switches[r.at].Name)
		}
		return nil
	}
	peer, _, ok := g.Peer(weft.End{Node: r.at.Node(), Port: weft.PortID(port - 1)})
	if ok && !peer.Node.IsSwitch() && peer.Node != n {
		return r.fail("port %d of switch %s leads to %s, and LID 0x%04x is that of %s", port, g.Switches[r.at].Name,
			g.Name(peer.Node), lid, g.Name(n))
	}
	return nil
}

// addresses are the LIDs by node: those that the dump names, joined with those known before.
func (f *forwarding) addresses(file string) (*LIDs, error) {
	spans := make(map[weft.Node]span, len(f.said))
	for lid, who := range f.said {
		s, ok := spans[who.node]
		if !ok {
			s.first = lid
		}
		last := max(s.first+s.count-1, lid)
		s.first = min(s.first, lid)
		s.count = last - s.first + 1
		spans[who.node] = s
	}
	l := newLIDs(f.graph)
	add := func(n weft.Node) error {
		s := spans[n]
		if f.lids != nil { // some may be in no table
			if k := f.lids.of[n]; s.count == 0 || k.first <= s.first && s.first+s.count <= k.first+k.count {
				s = k
			}
		}
		switch {
		case s.count == 0:
			return nil
		case s.count > 1<<topology.MaxLMC:
			return fmt.Errorf("%s: %s has LIDs from 0x%04x to 0x%04x, expected at most %d in a row", file, f.graph.Name(n),
				s.first, s.first+s.count-1, 1<<topology.MaxLMC)
		}
		if err := l.set(n, s.first, s.first+s.count-1); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	}
	for i := range f.graph.Switches {
		if err := add(weft.SwitchID(i).Node()); err != nil {
			return nil, err
		}
	}
	for i := range f.graph.NICs {
		if err := add(weft.NICID(i).Node()); err != nil {
			return nil, err
		}
	}
	return l, nil
}
