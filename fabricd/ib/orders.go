package ib

import (
	"encoding/binary"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Order is an attribute that a manager sets at a port.
type Order struct {
	To        PortRef
	Attribute uint16
	Modifier  uint32
	Data      [64]byte
}

// Ready are the orders after which all ports that a manager at sm reaches have a LID, know the
// manager's, and are Active: those of LIDs first, then those of states.
func (s *Subnet) Ready(sm PortRef) (list []Order) {
	reached := s.reached(sm)
	last := 0
	for i := range s.nodes {
		for _, r := range s.withLIDs(i) {
			p := s.managed(r)
			last = max(last, p.info.lid()+1<<p.info.lmc()-1)
		}
	}
	lidOf := func(p *port) int {
		if lid := p.info.lid(); lid != 0 {
			return lid
		}
		last++
		return last
	}
	own := lidOf(s.managed(sm))
	for _, i := range reached {
		for _, r := range s.withLIDs(i) {
			p := s.managed(r)
			lid := own
			if r != sm {
				lid = lidOf(p)
			}
			if p.info.lid() == lid && int(p.info.smLID()) == own {
				continue
			}
			o := s.order(r)
			putBE16(o.Data[:], infoLID, uint16(lid))
			putBE16(o.Data[:], infoSMLID, uint16(own))
			list = append(list, o)
		}
	}
	for _, state := range []PortState{Armed, Active} {
		for _, i := range reached {
			for number := range s.nodes[i].ports {
				r := PortRef{i, number}
				if !s.valid(r) || !s.alive(r) || s.port(r).info.state() >= state {
					continue
				}
				o := s.order(r)
				putBits(o.Data[:], 32, 0, 4, uint8(state))
				list = append(list, o)
			}
		}
	}
	return list
}

// order sets PortInfo of a port to what it is.
func (s *Subnet) order(r PortRef) Order {
	o := Order{To: r, Attribute: AttrPortInfo, Modifier: uint32(r.Port), Data: s.port(r).info}
	putBits(o.Data[:], 32, 0, 4, 0)
	putBits(o.Data[:], 33, 4, 4, physNoChange)
	return o
}

// withLIDs are the ports of a node that have LIDs and can be reached: port 0 of a switch, or the
// connected ports of an adapter.
func (s *Subnet) withLIDs(i int) (list []PortRef) {
	if s.nodes[i].kind == typeSwitch {
		return []PortRef{{i, 0}}
	}
	for number := range s.nodes[i].ports {
		if r := (PortRef{i, number}); s.valid(r) && s.alive(r) {
			list = append(list, r)
		}
	}
	return list
}

// reached are the nodes to which links that are up lead from a port, in order.
func (s *Subnet) reached(from PortRef) []int {
	seen := map[int]bool{from.Node: true}
	for queue := []int{from.Node}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for number := range s.nodes[n].ports {
			r := PortRef{n, number}
			if !s.valid(r) || !s.alive(r) || s.nodes[n].kind != typeSwitch && r != from {
				continue
			}
			if next := s.port(r).peer.Node; !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	var list []int
	for i := range s.nodes {
		if seen[i] {
			list = append(list, i)
		}
	}
	return list
}

// Unswept reports whether a switch that a manager at sm reaches has links that went down or came up
// since a manager last took note of it.
func (s *Subnet) Unswept(sm PortRef) bool {
	return slices.ContainsFunc(s.reached(sm), func(i int) bool {
		return s.nodes[i].kind == typeSwitch && s.nodes[i].sw.stateChanged
	})
}

// Dead are the links over which no packets go, in order.
func (s *Subnet) Dead() (list []weft.LinkID) {
	for i := range s.graph.Links {
		if l := &s.graph.Links[i]; !s.carriesData(s.ports[l.A]) {
			list = append(list, l.ID)
		}
	}
	return list
}

// Leads reports whether every switch with a link has an entry for every NIC that has a LID, to a
// port that packets leave by.
func (s *Subnet) Leads() bool {
	for i := range s.graph.Switches {
		n := s.switchNode(weft.SwitchID(i))
		if !slices.ContainsFunc(s.nodes[n].ports, func(p port) bool { return p.linked && p.up }) {
			continue
		}
		for d := range s.graph.NICs {
			p := s.nicPort(weft.NICID(d))
			if lid := p.info.lid(); lid != 0 && p.up {
				r := PortRef{n, int(s.nodes[n].sw.out(lid))}
				if !s.valid(r) || !s.carriesData(r) {
					return false
				}
			}
		}
	}
	return true
}

// LIDs are those that a node has; count 0: none.
func (s *Subnet) LIDs(n weft.Node) (first, count int) {
	p := s.managed(s.Node(n))
	if first = p.info.lid(); first == 0 {
		return 0, 0
	}
	return first, 1 << p.info.lmc()
}

// Tables are the orders after which the switches that a manager at sm reaches have the ports by LID
// that table has, where they have others.
func (s *Subnet) Tables(sm PortRef, table func(id weft.SwitchID) []uint8) (list []Order) {
	for _, i := range s.reached(sm) {
		n := &s.nodes[i]
		if n.kind != typeSwitch {
			continue
		}
		ports := table(n.id)
		for first := 0; first < len(ports); first += 64 {
			o := Order{To: PortRef{i, 0}, Attribute: AttrLinearTable, Modifier: uint32(first / 64)}
			same := true
			for k := range o.Data {
				if o.Data[k] = noPort; first+k < len(ports) {
					o.Data[k] = ports[first+k]
				}
				same = same && o.Data[k] == n.sw.out(first+k)
			}
			if !same {
				list = append(list, o)
			}
		}
		if int(n.sw.top) < len(ports)-1 {
			o := Order{To: PortRef{i, 0}, Attribute: AttrSwitchInfo}
			n.switchInfo(false, o.Data[:])
			putBE16(o.Data[:], 6, uint16(len(ports)-1))
			o.Data[11] &^= 4
			list = append(list, o)
		}
	}
	return list
}

// Request is the datagram of an order, from a manager at sm; false: no way leads there.
func (s *Subnet) Request(sm PortRef, o Order) (*Datagram, bool) {
	d, ok := s.To(sm, o.To, MethodSet, o.Attribute, o.Modifier)
	if ok {
		copy(d.Data(), o.Data[:])
	}
	return d, ok
}

// AnswerPath answers a request for a path record as the administrator of a subnet whose NICs send
// by the level that they know of, or by level 0 if known is false. Any other request is answered as
// one that is not supported.
func (s *Subnet) AnswerPath(m *MAD, known bool) {
	if m.Method() != MethodGet || m.Attribute() != AttrPathRecord {
		m.answer(StatusUnsupported)
		return
	}
	r := m[56:]
	src, _, okSrc := s.nicOf(r[24:], int(be16(r, 42)), m[55]>>3&1 == 1)
	dst, offset, okDst := s.nicOf(r[8:], int(be16(r, 40)), m[55]>>2&1 == 1)
	if !okSrc || !okDst {
		m.answer(statusNoRecords)
		return
	}
	sl := uint8(0)
	if level, ok := s.paths.level(src, dst, offset); known && ok {
		sl = level
	}
	from, _ := s.LIDs(src.Node())
	to, _ := s.LIDs(dst.Node())
	putBE16(r, 40, uint16(to+offset))
	putBE16(r, 42, uint16(from))
	putBE64(r, 8, 0xfe80<<48)
	putBE64(r, 16, uint64(s.nicPort(dst).guid))
	putBE64(r, 24, 0xfe80<<48)
	putBE64(r, 32, uint64(s.nicPort(src).guid))
	r[48], r[49] = 0, 0x80|1 // reversible, one path
	putBE16(r, 50, 0xffff)
	r[53] = sl
	r[54], r[55], r[56] = 0x80|mtu4096, 0x80|7, 0x80|18 // of 40 Gbit/s
	m.answer(StatusOK)
}

const statusNoRecords Status = 3 << 8 // of the administrator

// nicOf is the NIC that has a LID, and which of its own it is; or that has a GID, where that is
// given.
func (s *Subnet) nicOf(gid []byte, lid int, byGID bool) (id weft.NICID, offset int, ok bool) {
	guid := topology.GUID(binary.BigEndian.Uint64(gid[8:]))
	for i := range s.graph.NICs {
		first, count := s.LIDs(weft.NICID(i).Node())
		switch {
		case byGID && s.nicPort(weft.NICID(i)).guid == guid:
			return weft.NICID(i), 0, count > 0
		case !byGID && lid >= first && lid < first+count:
			return weft.NICID(i), lid - first, true
		}
	}
	return 0, 0, false
}
