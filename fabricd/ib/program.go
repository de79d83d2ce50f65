package ib

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// Program is all that a switch forwards by, and its NICs send by, as a manager has written it: the
// whole program of that version.
//
// An address of a NIC is a LID of its and a service level: path o*levels+i is LID base+o in the
// i-th level that is in use. So the tables of a switch are over LID and level, and by in port where
// the lanes are; the lane that a packet came in does not matter, as in InfiniBand. What leads to a
// port that is not active, here or at the other end, has no entry.
func (s *Subnet) Program(id weft.SwitchID, version uint64) *tables.Patch {
	b := program{Subnet: s, n: s.switchNode(id), levels: s.paths.levels(), rows: map[rowKey]int{}}
	b.patch = &tables.Patch{
		Switch: id, To: version, Shape: &tables.PatchShape{VCs: s.cfg.VLs, Paths: b.offsets() * len(b.levels)},
	}
	b.forward()
	b.send()
	return b.patch
}

// program makes a patch.
type program struct {
	*Subnet
	n      int
	levels []uint8 // service levels in use, ascending
	rows   map[rowKey]int
	patch  *tables.Patch
}

type rowKey struct {
	out int
	sl  uint8
}

// switchNode is the node that a switch is: switches come first.
func (s *Subnet) switchNode(id weft.SwitchID) int { return int(id) }

// offsets is how many LIDs the NIC with the most of them has.
func (s *Subnet) offsets() int {
	most := 1
	for i := range s.graph.NICs {
		most = max(most, 1<<s.nicPort(weft.NICID(i)).info.lmc())
	}
	return most
}

func (s *Subnet) nicPort(id weft.NICID) *port { return s.port(s.ports[weft.End{Node: id.Node()}]) }

// forward sets the row of each address.
func (b *program) forward() {
	sw := b.nodes[b.n].sw
	at := 0
	paths := b.patch.Shape.Paths
	for i := range b.graph.NICs {
		p := b.nicPort(weft.NICID(i))
		for o := range paths / len(b.levels) {
			for _, sl := range b.levels {
				row := -1
				if lid := p.info.lid(); lid != 0 && o < 1<<p.info.lmc() {
					row = b.row(int(sw.out(lid+o)), sl)
				}
				b.set(at, row)
				at++
			}
		}
	}
}

func (b *program) set(at, row int) {
	if row < 0 {
		return
	}
	if n := len(b.patch.Set); n > 0 {
		if last := &b.patch.Set[n-1]; last.Row == row && last.At+last.N == at {
			last.N++
			return
		}
	}
	b.patch.Set = append(b.patch.Set, tables.PatchSet{At: at, N: 1, Row: row})
}

// row is the number of the row of packets that leave by a port in a level; -1: they do not.
func (b *program) row(out int, sl uint8) int {
	key := rowKey{out, sl}
	if row, ok := b.rows[key]; ok {
		return row
	}
	row := -1
	r := PortRef{b.n, out}
	if out > 0 && b.valid(r) && b.carriesData(r) {
		row = len(b.patch.Rows)
		b.patch.Rows = append(b.patch.Rows, b.hops(r, sl))
	}
	b.rows[key] = row
	return row
}

// hops are by in port and lane, or one when all are alike.
func (b *program) hops(out PortRef, sl uint8) tables.PatchRow {
	n, p := &b.nodes[b.n], b.port(out)
	hop := func(in int) []uint16 {
		vl := p.lane(in)[sl]
		if int(vl) >= min(p.info.lanes(), b.cfg.VLs) {
			return []uint16{uint16(weft.NoPort), 0} // lane 15, or one that is not in use: discarded
		}
		return []uint16{uint16(out.Port - 1), uint16(vl)}
	}
	var list tables.PatchRow
	alike := true
	for in := 1; in < len(n.ports); in++ {
		h := hop(in)
		for range b.cfg.VLs {
			list = append(list, h)
		}
		alike = alike && slices.Equal(h, list[0])
	}
	if alike {
		return list[:1]
	}
	return list
}

// send says by which addresses the NICs of the switch send.
func (b *program) send() {
	type source struct {
		port weft.PortID
		id   weft.NICID
	}
	var sources []source
	for p := range b.nodes[b.n].ports {
		r := PortRef{b.n, p}
		if x := b.port(r); x.linked && b.nodes[x.peer.Node].kind == typeAdapter && b.carriesData(r) {
			far := b.port(x.peer)
			sources = append(sources, source{weft.PortID(p - 1), weft.NICID(far.end.Node.Index)})
		}
	}
	for d := range weft.NICID(len(b.graph.NICs)) {
		var all []weft.Address
		lists := make([][]weft.Address, len(sources))
		for i, src := range sources {
			lists[i] = b.addresses(src.id, d)
			for _, a := range lists[i] {
				if !slices.Contains(all, a) {
					all = append(all, a)
				}
			}
		}
		if len(all) == 0 {
			continue
		}
		slices.SortFunc(all, compareAddress)
		b.patch.Addresses = append(b.patch.Addresses, tables.PatchAddresses{Dst: d, N: 1, List: all})
		alike := true
		for i, src := range sources {
			alike = alike && (src.id == d || len(lists[i]) == len(all)) // each is part of all
		}
		if alike {
			continue
		}
		for i, src := range sources {
			a := tables.PatchAddresses{Dst: d, N: 1, Port: &src.port, List: lists[i]}
			b.patch.Addresses = append(b.patch.Addresses, a)
		}
	}
}

func compareAddress(a, b weft.Address) int {
	if a.Path != b.Path {
		return int(a.Path) - int(b.Path)
	}
	return int(a.VC) - int(b.VC)
}

// addresses are those by which a NIC sends to another: of each LID the level of the path record.
func (b *program) addresses(src, dst weft.NICID) (list []weft.Address) {
	from, to := b.nicPort(src), b.nicPort(dst)
	if src == dst || to.info.lid() == 0 || from.info.lid() == 0 {
		return nil
	}
	lanes := from.lane(0)
	for o := range 1 << to.info.lmc() {
		sl, ok := b.paths.level(src, dst, o)
		if !ok {
			continue
		}
		i, _ := slices.BinarySearch(b.levels, sl)
		if vl := lanes[sl]; int(vl) < min(from.info.lanes(), b.cfg.VLs) {
			list = append(list, weft.Address{Path: uint16(o*len(b.levels) + i), VC: weft.VC(vl)})
		}
	}
	return list
}
