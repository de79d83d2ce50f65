package ib

import "encoding/binary"

// MAD is a management datagram (section 13.4).
type MAD [256]byte

// Management classes.
const (
	ClassSubnet         = 0x01 // subnet management, routed by LID
	ClassSubnetDirected = 0x81 // subnet management, routed port by port
	ClassAdministration = 0x03 // what the subnet administrator is asked
	ClassPerformance    = 0x04
)

// Methods. An answer has the bit of methodAnswer.
const (
	MethodGet         = 0x01
	MethodSet         = 0x02
	MethodTrap        = 0x05
	MethodTrapRepress = 0x07
	MethodGetResp     = 0x81
	methodAnswer      = 0x80
)

// Attributes of all classes, of subnet management, of performance management and of the subnet
// administrator.
const (
	AttrClassPortInfo = 0x0001
	AttrNotice        = 0x0002

	AttrNodeDescription = 0x0010
	AttrNodeInfo        = 0x0011
	AttrSwitchInfo      = 0x0012
	AttrGUIDInfo        = 0x0014
	AttrPortInfo        = 0x0015
	AttrPKeyTable       = 0x0016
	AttrSLToVL          = 0x0017
	AttrVLArbitration   = 0x0018
	AttrLinearTable     = 0x0019
	AttrMulticastTable  = 0x001b
	AttrSMInfo          = 0x0020

	AttrPortCounters         = 0x0012
	AttrPortCountersExtended = 0x001d

	AttrPathRecord = 0x0035
)

// Status is that of an answer (table 115): the bits of what was wrong with the request.
type Status uint16

// The values that agents answer with.
const (
	StatusOK          Status = 0
	StatusMethod      Status = 2 << 2 // the class has it, but not with this method
	StatusUnsupported Status = 3 << 2 // no such attribute here
	StatusField       Status = 7 << 2 // a value of the attribute or its modifier is out of range
)

const (
	directionBit = 0x8000 // of the status of a directed-route datagram: it is on its way back
	permissive   = 0xffff // the LID of whoever is at the end
	dataAt       = 64     // where attributes begin in the classes that are answered here
	maxPath      = 63     // hops of a directed route
)

// Class is the management class.
func (m *MAD) Class() uint8 { return m[1] }

// Method is what is asked for.
func (m *MAD) Method() uint8 { return m[3] }

// IsAnswer reports whether it answers a request.
func (m *MAD) IsAnswer() bool { return m[3]&methodAnswer != 0 || m[3] == MethodTrapRepress }

// IsSubnet reports whether it is of subnet management, either class.
func (m *MAD) IsSubnet() bool { return m.Class() == ClassSubnet || m.Class() == ClassSubnetDirected }

// Attribute is which one is asked for, and Modifier which part of it.
func (m *MAD) Attribute() uint16 { return binary.BigEndian.Uint16(m[16:]) }

// Modifier is the attribute modifier.
func (m *MAD) Modifier() uint32 { return binary.BigEndian.Uint32(m[20:]) }

// Transaction is the number by which answers are told apart.
func (m *MAD) Transaction() uint64 { return binary.BigEndian.Uint64(m[8:]) }

// SetTransaction sets that number.
func (m *MAD) SetTransaction(id uint64) { binary.BigEndian.PutUint64(m[8:], id) }

// Status is what was wrong, without the direction.
func (m *MAD) Status() Status {
	return Status(binary.BigEndian.Uint16(m[4:]) &^ directionBit)
}

// Data is the attribute, which an agent reads and writes.
func (m *MAD) Data() []byte { return m[dataAt : dataAt+64] }

// hopCount is the length of a directed route.
func (m *MAD) hopCount() int { return int(m[7]) }

// initialPath and returnPath are the ports of a directed route, from 1.
func (m *MAD) initialPath() []byte { return m[128:192] }
func (m *MAD) returnPath() []byte  { return m[192:256] }

// head writes the header of a new datagram.
func (m *MAD) head(class, classVersion, method uint8, attribute uint16, modifier uint32) {
	m[0], m[1], m[2], m[3] = 1, class, classVersion, method
	binary.BigEndian.PutUint16(m[16:], attribute)
	binary.BigEndian.PutUint32(m[20:], modifier)
}

// answer makes of a request its answer.
func (m *MAD) answer(s Status) {
	m[3] = MethodGetResp
	if m.Class() == ClassSubnetDirected {
		s |= directionBit
	}
	binary.BigEndian.PutUint16(m[4:], uint16(s))
}

// bits reads width bits, at most 8 and of one byte, that begin so many bits before the end of byte
// at.
func bits(b []byte, at, shift, width int) uint8 { return b[at] >> shift & (1<<width - 1) }

// putBits writes them.
func putBits(b []byte, at, shift, width int, v uint8) {
	mask := byte(1<<width-1) << shift
	b[at] = b[at]&^mask | v<<shift&mask
}

func be16(b []byte, at int) uint16       { return binary.BigEndian.Uint16(b[at:]) }
func putBE16(b []byte, at int, v uint16) { binary.BigEndian.PutUint16(b[at:], v) }
func putBE32(b []byte, at int, v uint32) { binary.BigEndian.PutUint32(b[at:], v) }
func putBE64(b []byte, at int, v uint64) { binary.BigEndian.PutUint64(b[at:], v) }
