package ib

import (
	"encoding/binary"
)

// Answer has the subnet management agent at a port answer a datagram that was delivered there: m
// becomes the answer, and reply says whether there is one.
func (s *Subnet) Answer(at PortRef, m *MAD) (reply bool, out []Effect) {
	if m.Method() == MethodTrapRepress {
		s.traps.repress(at.Node, m)
		return false, nil
	}
	if m.Method() != MethodGet && m.Method() != MethodSet {
		if m.Method()&methodAnswer != 0 {
			return false, nil
		}
		m.answer(StatusMethod)
		return true, nil
	}
	if !s.mayAnswer(at, m) {
		return false, nil
	}
	status, out := s.attribute(at, m)
	if bits(s.managed(at).info[:], 34, 6, 2) == 1 && m.Attribute() == AttrPortInfo && !s.knowsKey(at, m) {
		clear(m.Data()[:8]) // the key is for those who know it
	}
	m.answer(status)
	return true, out
}

// Refuse makes of a request the answer of a device that has no such attribute.
func (m *MAD) Refuse() { m.answer(StatusUnsupported) }

// knowsKey reports whether a datagram has the management key of the node, if that has one.
func (s *Subnet) knowsKey(at PortRef, m *MAD) bool {
	key := s.managed(at).info.mkey()
	return key == [8]byte{} || key == [8]byte(m[24:32])
}

// mayAnswer reports whether the key lets the agent answer (section 14.2.4.3).
func (s *Subnet) mayAnswer(at PortRef, m *MAD) bool {
	return s.knowsKey(at, m) || m.Method() == MethodGet && s.managed(at).info.protection() < 2
}

// attribute reads or writes one. The caller has seen to the method and the key.
func (s *Subnet) attribute(at PortRef, m *MAD) (Status, []Effect) {
	n, set, b, mod := &s.nodes[at.Node], m.Method() == MethodSet, m.Data(), m.Modifier()
	switch m.Attribute() {
	case AttrNodeDescription:
		return readOnly(set, b, func() { copy(b, n.description) }), nil
	case AttrNodeInfo:
		return readOnly(set, b, func() { s.nodeInfo(at, b) }), nil
	case AttrPortInfo:
		return s.portInfo(at, set, b, mod)
	case AttrGUIDInfo:
		return s.guidInfo(at, set, b, mod), nil
	case AttrPKeyTable:
		return s.pkeyTable(at, set, b, mod), nil
	case AttrSLToVL:
		return s.slToVL(at, set, b, mod)
	case AttrVLArbitration:
		return s.vlArbitration(at, set, b, mod), nil
	case attrMellanoxPort:
		clear(b) // none of its speeds
		return StatusOK, nil
	}
	if n.kind != typeSwitch {
		return StatusUnsupported, nil
	}
	switch m.Attribute() {
	case AttrSwitchInfo:
		return n.switchInfo(set, b), nil
	case AttrLinearTable:
		return s.linearTable(n, set, b, mod)
	case AttrMulticastTable:
		return n.multicastTable(set, b, mod), nil
	}
	return StatusUnsupported, nil
}

func readOnly(set bool, b []byte, read func()) Status {
	if set {
		return StatusMethod
	}
	clear(b)
	read()
	return StatusOK
}

// attrMellanoxPort is of the maker whose devices these seem to be: speeds that only they have.
const attrMellanoxPort = 0xff90

func (s *Subnet) nodeInfo(at PortRef, b []byte) {
	n := &s.nodes[at.Node]
	b[0], b[1], b[2], b[3] = 1, 1, n.kind, uint8(len(n.ports)-1)
	putBE64(b, 4, uint64(n.maker.System))
	putBE64(b, 12, uint64(n.guid))
	putBE64(b, 20, uint64(s.managed(at).guid))
	putBE16(b, 28, pkeyBlocks*32)
	putBE16(b, 30, uint16(n.maker.Device))
	putBE32(b, 36, uint32(at.Port)<<24|n.maker.Vendor&0xffffff)
}

// Info is the attribute NodeInfo of the node of a port, and PortInfo and the partition keys of the
// port, as a program at that port sees them before it sends anything.
func (s *Subnet) Info(at PortRef) (node, port, keys [64]byte) {
	s.nodeInfo(at, node[:])
	port = s.port(at).info
	for i := range 32 {
		putBE16(keys[:], 2*i, s.port(at).pkeys[i])
	}
	return node, port, keys
}

// portOf is the port that a modifier names: of an adapter 0 is the one that was asked.
func (s *Subnet) portOf(at PortRef, number int) (PortRef, bool) {
	n := &s.nodes[at.Node]
	if n.kind == typeAdapter && number == 0 {
		return at, true
	}
	r := PortRef{at.Node, number}
	return r, s.valid(r)
}

func (s *Subnet) portInfo(at PortRef, set bool, b []byte, mod uint32) (Status, []Effect) {
	r, ok := s.portOf(at, int(mod&0xff))
	if !ok || mod>>8&^(1<<23) != 0 { // bit 31: whoever asks knows extended speeds
		return StatusField, nil
	}
	var status Status
	var out []Effect
	if set {
		status, out = s.setPortInfo(r, b, nil)
	}
	p := s.port(r)
	copy(b, p.info[:])
	b[infoLocalPort] = uint8(at.Port)
	return status, out
}

func (s *Subnet) guidInfo(at PortRef, set bool, b []byte, mod uint32) Status {
	p := s.managed(at)
	if mod != 0 {
		return StatusField
	}
	for i := range p.guids {
		if set && i > 0 {
			p.guids[i] = binary.BigEndian.Uint64(b[8*i:])
		}
		putBE64(b, 8*i, p.guids[i])
	}
	return StatusOK
}

func (s *Subnet) pkeyTable(at PortRef, set bool, b []byte, mod uint32) Status {
	r, ok := s.portOf(at, int(mod>>16))
	if s.nodes[at.Node].kind == typeAdapter {
		r, ok = at, true
	}
	block := int(mod & 0xffff)
	if !ok || block >= pkeyBlocks {
		return StatusField
	}
	keys := s.port(r).pkeys[32*block:][:32]
	for i := range keys {
		if set {
			keys[i] = be16(b, 2*i)
		}
		putBE16(b, 2*i, keys[i])
	}
	return StatusOK
}

// slToVL has 16 lanes, half a byte each.
func (s *Subnet) slToVL(at PortRef, set bool, b []byte, mod uint32) (Status, []Effect) {
	r, in := at, 0
	if n := &s.nodes[at.Node]; n.kind == typeSwitch {
		r, in = PortRef{at.Node, int(mod & 0xff)}, int(mod>>8&0xff)
		if !s.valid(r) || in >= len(n.ports) {
			return StatusField, nil
		}
	}
	p := s.port(r)
	var out []Effect
	if set {
		var t [16]uint8
		for sl := range t {
			t[sl] = b[sl/2] >> (4 - 4*(sl%2)) & 15
		}
		old := p.lane(in)
		if p.lanes == nil {
			p.lanes = map[int]*[16]uint8{}
		}
		p.lanes[in] = &t
		if changed := differing(old[:], t[:]); changed > 0 {
			out = s.tablesOf(r, out)
			out[0].Entries = changed
		}
	}
	t := p.lane(in)
	clear(b)
	for sl, vl := range t {
		b[sl/2] |= vl << (4 - 4*(sl%2))
	}
	return StatusOK, out
}

// lane is the lane of each service level for what leaves by the port and came by another. Without a
// table, levels are the lanes of the same numbers, over and over.
func (p *port) lane(in int) (t [16]uint8) {
	if given := p.lanes[in]; given != nil {
		return *given
	}
	for sl := range t {
		t[sl] = uint8(sl % p.info.lanes())
	}
	return t
}

func (s *Subnet) vlArbitration(at PortRef, set bool, b []byte, mod uint32) Status {
	r, ok := s.portOf(at, int(mod&0xffff))
	if s.nodes[at.Node].kind == typeAdapter {
		r, ok = at, true
	}
	block := int(mod >> 16)
	if !ok || block < 1 || block > 4 {
		return StatusField
	}
	t := &s.port(r).arbiter[block-1]
	if set {
		copy(t[:], b)
	}
	copy(b, t[:])
	return StatusOK
}

func (n *node) switchInfo(set bool, b []byte) Status {
	sw := n.sw
	if set {
		sw.top, sw.defaultPort, sw.primary, sw.notPrimary = be16(b, 6), b[8], b[9], b[10]
		sw.lifetime, sw.multicastTop = b[11]>>3, be16(b, 18)
		if b[11]&4 != 0 { // written as one, it is taken back
			sw.stateChanged = false
		}
	}
	clear(b)
	putBE16(b, 0, linearCap)
	putBE16(b, 4, multicastCap)
	putBE16(b, 6, sw.top)
	b[8], b[9], b[10] = sw.defaultPort, sw.primary, sw.notPrimary
	b[11] = sw.lifetime << 3
	if sw.stateChanged {
		b[11] |= 4
	}
	putBE16(b, 14, pkeyBlocks*32)
	if sw.enhanced {
		b[16] |= 8
	}
	putBE16(b, 18, sw.multicastTop)
	return StatusOK
}

// linearTable has a block of 64 LIDs.
func (s *Subnet) linearTable(n *node, set bool, b []byte, mod uint32) (Status, []Effect) {
	if mod >= linearCap/64 {
		return StatusField, nil
	}
	first := int(mod) * 64
	var out []Effect
	if set {
		for _, p := range b {
			if p != noPort && int(p) >= len(n.ports) {
				return StatusField, nil
			}
		}
		for len(n.sw.linear) < first+64 {
			n.sw.linear = append(n.sw.linear, noPort)
		}
		if changed := differing(n.sw.linear[first:][:64], b); changed > 0 {
			out = append(out, Effect{Kind: EffectTables, Switch: n.id, Entries: changed})
		}
		copy(n.sw.linear[first:], b)
	}
	for i := range 64 {
		b[i] = n.sw.out(first + i)
	}
	return StatusOK, out
}

// differing is how many of the entries of two tables differ.
func differing(a, b []byte) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// out is the port for a LID.
func (sw *switchState) out(lid int) uint8 {
	if lid < 0 || lid >= len(sw.linear) {
		return noPort
	}
	return sw.linear[lid]
}

// multicastTable has 32 LIDs and 16 ports of each.
func (n *node) multicastTable(set bool, b []byte, mod uint32) Status {
	block, position := mod&0x1ff, mod>>28
	if block*32 >= multicastCap || int(position)*16 >= len(n.ports) {
		return StatusField
	}
	key := block | position<<28
	t := n.sw.multicast[key]
	for i := range t {
		if set {
			t[i] = be16(b, 2*i)
		}
		putBE16(b, 2*i, t[i])
	}
	if set {
		n.sw.multicast[key] = t
	}
	return StatusOK
}
