package ip

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Segment is what the headers of a packet say of TCP.
type Segment struct {
	From, To netip.AddrPort
	Seq      uint32 // of its first byte
	Ack      uint32
	Bytes    uint32 // of data; a SYN and a FIN count as one each
	Reset    bool
	Opens    bool // SYN
	Ends     bool // FIN or RST
}

// Flags of a TCP header (RFC 9293, section 3.1).
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
)

// Protocols, as IANA numbers them.
const (
	protocolICMP  = 1
	protocolTCP   = 6
	protocolUDP   = 17
	protocolICMP6 = 58
)

// ReadSegment reads the headers of a packet; ok is false where it is not one of TCP, or a fragment
// of one behind the first, or has extension headers of IPv6, which no stack that we know of sends
// with TCP unless asked.
func ReadSegment(packet []byte) (s Segment, ok bool) {
	var from, to netip.Addr
	var rest []byte
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		head := int(packet[0]&15) * 4
		total := int(binary.BigEndian.Uint16(packet[2:]))
		later := binary.BigEndian.Uint16(packet[6:])&0x1fff != 0
		if packet[9] != protocolTCP || later || head < 20 || total < head || total > len(packet) {
			return s, false
		}
		from, to = netip.AddrFrom4([4]byte(packet[12:16])), netip.AddrFrom4([4]byte(packet[16:20]))
		rest = packet[head:total]
	case len(packet) >= 40 && packet[0]>>4 == 6:
		total := 40 + int(binary.BigEndian.Uint16(packet[4:]))
		if packet[6] != protocolTCP || total > len(packet) {
			return s, false
		}
		from, to = netip.AddrFrom16([16]byte(packet[8:24])), netip.AddrFrom16([16]byte(packet[24:40]))
		rest = packet[40:total]
	}
	if len(rest) < 20 {
		return s, false
	}
	head, flags := int(rest[12]>>4)*4, rest[13]
	if head < 20 || head > len(rest) {
		return s, false
	}
	s = Segment{
		From:  netip.AddrPortFrom(from, binary.BigEndian.Uint16(rest)),
		To:    netip.AddrPortFrom(to, binary.BigEndian.Uint16(rest[2:])),
		Seq:   binary.BigEndian.Uint32(rest[4:]),
		Ack:   binary.BigEndian.Uint32(rest[8:]),
		Bytes: uint32(len(rest) - head), Reset: flags&flagRST != 0, Opens: flags&flagSYN != 0,
		Ends: flags&(flagFIN|flagRST) != 0,
	}
	if s.Opens {
		s.Bytes++
	}
	if flags&flagFIN != 0 {
		s.Bytes++
	}
	return s, true
}

// Text says in a line what a packet is: a segment of TCP, or by which protocol it goes where;
// empty: it is none of IP.
func Text(packet []byte) string {
	if s, ok := ReadSegment(packet); ok {
		kind := ""
		switch {
		case s.Reset:
			kind = ", reset"
		case s.Opens:
			kind = ", opens"
		case s.Ends:
			kind = ", ends"
		}
		return fmt.Sprintf("TCP %v > %v seq %d, ack %d%s", s.From, s.To, s.Seq, s.Ack, kind)
	}
	to := Destination(packet)
	if !to.IsValid() {
		return ""
	}
	protocol := packet[9]
	if to.Is6() {
		protocol = packet[6]
	}
	switch protocol {
	case protocolUDP:
		if from, to, ok := portsOf(packet); ok {
			return fmt.Sprintf("UDP %v > %v", from, to)
		}
		return fmt.Sprintf("UDP to %v", to)
	case protocolICMP, protocolICMP6:
		return fmt.Sprintf("ICMP to %v", to)
	}
	return fmt.Sprintf("protocol %d to %v", protocol, to)
}

// portsOf are the ends of a packet of UDP; ok is false of a fragment behind the first.
func portsOf(packet []byte) (from, to netip.AddrPort, ok bool) {
	head, later := 40, false
	var a, b []byte
	if packet[0]>>4 == 4 {
		head, later = int(packet[0]&15)*4, binary.BigEndian.Uint16(packet[6:])&0x1fff != 0
		a, b = packet[12:16], packet[16:20]
	} else {
		a, b = packet[8:24], packet[24:40]
	}
	if later || len(packet) < head+8 {
		return from, to, false
	}
	x, _ := netip.AddrFromSlice(a)
	y, _ := netip.AddrFromSlice(b)
	ports := packet[head:]
	from = netip.AddrPortFrom(x, binary.BigEndian.Uint16(ports))
	to = netip.AddrPortFrom(y, binary.BigEndian.Uint16(ports[2:]))
	return from, to, true
}
