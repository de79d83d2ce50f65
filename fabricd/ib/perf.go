package ib

import "math"

// Counters are what a port has counted (section 16.1.3.5), of its pipeline or since it was cleared.
type Counters struct {
	SentPackets, ReceivedPackets uint64
	SentBytes, ReceivedBytes     uint64
	Discarded                    uint64 // packets that were lost in its output queues when the link died
	Waited                       uint64 // how often a packet that was ready waited for a credit
	Downed                       uint64 // how often the link went down
	Errors                       uint64 // packets that came with a gap, or were refused
}

func (c Counters) less(b Counters) Counters {
	return Counters{
		c.SentPackets - b.SentPackets, c.ReceivedPackets - b.ReceivedPackets, c.SentBytes - b.SentBytes,
		c.ReceivedBytes - b.ReceivedBytes, c.Discarded - b.Discarded, c.Waited - b.Waited, c.Downed - b.Downed,
		c.Errors - b.Errors,
	}
}

func (c *Counters) add(b Counters) {
	c.SentPackets, c.ReceivedPackets = c.SentPackets+b.SentPackets, c.ReceivedPackets+b.ReceivedPackets
	c.SentBytes, c.ReceivedBytes = c.SentBytes+b.SentBytes, c.ReceivedBytes+b.ReceivedBytes
	c.Discarded, c.Waited = c.Discarded+b.Discarded, c.Waited+b.Waited
	c.Downed, c.Errors = c.Downed+b.Downed, c.Errors+b.Errors
}

// traffic are the counters of data as both attributes have them, in that order: bytes in units of
// four.
func (c Counters) traffic() []uint64 {
	return []uint64{c.SentBytes / 4, c.ReceivedBytes / 4, c.SentPackets, c.ReceivedPackets}
}

// allPortsSelect asks a switch for the sum of all its ports.
const allPortsSelect = 255

// NeedsCounters reports which ports must be counted before a datagram of performance management can
// be answered; none: it needs no counters.
func (s *Subnet) NeedsCounters(at PortRef, m *MAD) (list []PortRef) {
	if m.Attribute() != AttrPortCounters && m.Attribute() != AttrPortCountersExtended {
		return nil
	}
	n, number := &s.nodes[at.Node], int(m[dataAt+1])
	for p := range n.ports {
		r := PortRef{at.Node, p}
		if s.valid(r) && s.port(r).linked && (p == number || number == allPortsSelect && n.kind == typeSwitch) {
			list = append(list, r)
		}
	}
	return list
}

// Count answers a datagram of performance management. Values are those of the ports that
// [Subnet.NeedsCounters] named, in that order.
func (s *Subnet) Count(at PortRef, m *MAD, ports []PortRef, values []Counters) (reply bool) {
	if m.Method()&methodAnswer != 0 {
		return false
	}
	b, set := m[dataAt:], m.Method() == MethodSet
	status := StatusOK
	switch a := m.Attribute(); {
	case m.Method() != MethodGet && !set:
		status = StatusMethod
	case a == AttrClassPortInfo && !set:
		clear(b)
		b[0], b[1] = 1, 1
		putBE16(b, 2, 1<<9|1<<12) // extended counters, PortXmitWait
		if s.nodes[at.Node].kind == typeSwitch {
			putBE16(b, 2, 1<<8|1<<9|1<<12) // and all ports at once
		}
		b[7] = 18
	case a != AttrPortCounters && a != AttrPortCountersExtended:
		status = StatusUnsupported
	case int(b[1]) != allPortsSelect && !s.valid(PortRef{at.Node, int(b[1])}),
		int(b[1]) == allPortsSelect && s.nodes[at.Node].kind != typeSwitch:
		status = StatusField
	default:
		s.count(b, set, a == AttrPortCountersExtended, ports, values)
	}
	m.answer(status)
	return true
}

// count writes the sum of some ports into an attribute; set clears first those that are selected.
func (s *Subnet) count(b []byte, set, extended bool, ports []PortRef, values []Counters) {
	selected := be16(b, 2)
	more := b[18] // CounterSelect2
	var sum Counters
	for i, r := range ports {
		p := s.port(r)
		values[i].Downed = p.downed
		if set {
			p.clear(values[i], selected, more, extended)
		}
		sum.add(values[i].less(p.baseline))
	}
	number := b[1]
	clear(b)
	b[1] = number
	putBE16(b, 2, selected)
	if extended {
		for i, v := range append(sum.traffic(), sum.SentPackets, sum.ReceivedPackets) { // all are unicast
			putBE64(b, 8+8*i, v)
		}
		return
	}
	b[6] = uint8(min(sum.Downed, math.MaxUint8))
	putBE16(b, 8, uint16(min(sum.Errors, math.MaxUint16)))
	putBE16(b, 14, uint16(min(sum.Discarded, math.MaxUint16)))
	for i, v := range append(sum.traffic(), sum.Waited) {
		putBE32(b, 24+4*i, uint32(min(v, math.MaxUint32)))
	}
}

// clear makes the selected counters begin at what is counted now. Bits of the selection are those
// of tables 248 and 251.
func (p *port) clear(now Counters, selected uint16, more uint8, extended bool) {
	base := &p.baseline
	at := func(bit int, counter *uint64, v uint64) {
		if selected>>bit&1 == 1 {
			*counter = v
		}
	}
	first := 12
	if extended {
		first = 0
	} else {
		at(2, &base.Downed, now.Downed)
		at(3, &base.Errors, now.Errors)
		at(6, &base.Discarded, now.Discarded)
		if more&1 == 1 {
			base.Waited = now.Waited
		}
	}
	at(first, &base.SentBytes, now.SentBytes)
	at(first+1, &base.ReceivedBytes, now.ReceivedBytes)
	at(first+2, &base.SentPackets, now.SentPackets)
	at(first+3, &base.ReceivedPackets, now.ReceivedPackets)
}
