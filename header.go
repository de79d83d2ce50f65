package weft

import (
	"strconv"
	"strings"
)

// Header is a packet. Most carry no payload: Size says how long the packet is on the wire all the
// same.
type Header struct {
	// first, where a copy of them takes what the copy of the header has just written: a processor is
	// slow otherwise
	Fields
	Src, Dst NICID
	Seq      uint64  // position in its flow (Src, Dst), from 0
	Injected Time    // when its NIC generated it
	Size     uint32  // bytes, header and payload included
	Payload  Payload `json:"-"` // what it carries, in this process
	// how many faults and repairs both ends had seen when it was generated; tells losses of one fault
	// from the next
	Generation uint16
	Hops       uint16 // switches crossed
	Reroutes   uint16 // of these, hops taken another way because of a fault
	VC         VC     // the virtual channel it travels in on the current link
	Traced     bool   // every switch reports the decision it takes for this packet
}

// Payload names the buffer with what a packet carries, among those of the drivers of one process;
// 0: the packet carries nothing. A core hands it on with the header, reads nothing of it, and takes
// it from a frame that it receives by setting it to 0 there: the driver frees those that are left.
// The driver frees what a packet of Actions.Drops carries too.
type Payload uint32

// Bounds of what packets carry.
const (
	MaxPayload = 9000 // bytes of one packet
	// PayloadOverhead is by how much a packet is longer than what it carries: the headers and the
	// checks of a local packet of InfiniBand (LRH 8, BTH 12, ICRC 4, VCRC 2).
	PayloadOverhead = 26
)

// Fields are the header fields that a routing function reads and writes.
type Fields struct {
	// PortField is the port field of R^switch (Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault
	// Tolerance in Fat Trees, section VI.B): PortFieldNone, PortFieldDown, or a down port.
	PortField int16
	// Path says to which of its destination's addresses a packet is sent, from 0, as the path bits
	// of a LID do in InfiniBand, where a port has 2^LMC addresses: (Dst, Path) is the virtual
	// address of Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks, definition
	// 2.
	Path uint16
	// Layers are the virtual layers that a packet may move between, bit i for VC i (the same
	// authors, theorem 3); 0: it stays in the layer that it is in.
	Layers uint16
	// Misroute is the misroute vector of R_m (the same authors: Dynamic Fault Tolerance with
	// Misrouting in Fat Trees): bit i is set when up port i has been tried.
	Misroute uint64
	// Route is the rest of the way of a packet that is routed by its source; no route when switches
	// decide.
	Route SourceRoute
	// Sub are the sub-headers of what is left of its way in a torus or a mesh.
	Sub SubHeaders
}

// Text prints the fields that are not as a packet enters the fabric with them, with the names of
// switches: "port field p3, misroute 0b101". None is "".
func (f *Fields) Text(name func(SwitchID) string) string {
	var list []string
	switch f.PortField {
	case PortFieldNone:
	case PortFieldDown:
		list = append(list, "port field down")
	default:
		list = append(list, "port field "+PortID(f.PortField).String())
	}
	if f.Path != 0 {
		list = append(list, "path "+strconv.Itoa(int(f.Path)))
	}
	if f.Layers != 0 {
		list = append(list, "layers 0b"+strconv.FormatUint(uint64(f.Layers), 2))
	}
	if f.Misroute != 0 {
		list = append(list, "misroute 0b"+strconv.FormatUint(f.Misroute, 2))
	}
	if f.Route.Len() > 0 {
		list = append(list, "route "+f.Route.String())
	}
	if f.Sub.Len() > 0 {
		list = append(list, "sub-headers "+f.Sub.Text(name))
	}
	return strings.Join(list, ", ")
}

// Values of the port field that are not ports.
const (
	PortFieldNone int16 = -1 // not being re-routed
	PortFieldDown int16 = -2 // being re-routed down the second tier
)

// NewFields returns the fields of a packet that enters the fabric.
func NewFields() Fields { return Fields{PortField: PortFieldNone} }

// Address is one of the ways in which a source may send to a destination: the address in the
// header, and the layers of the traffic assignment T for it (Lysne, Skeie, Reinemo, Theiss: Layered
// Routing in Irregular Networks, definition 10).
type Address struct {
	Path   uint16 // see Fields.Path
	Layers uint16 // see Fields.Layers
	VC     VC     // the layer in which it enters the fabric
}

// Epoch counts the incarnations of one link end. It grows whenever the end leaves the up state; 0
// is none.
type Epoch uint32

// Frame is what one link end sends to the other in one message: packets, and the state of the
// credits of both directions. All counters are absolute within an epoch, as InfiniBand's FCTBS and
// FCCL are, so that a lost or repeated frame never corrupts flow control.
type Frame struct {
	From Epoch // the sender's epoch
	To   Epoch // the receiver's epoch as the sender knows it; 0 while it has heard nothing
	// At is when all of it has reached the other end, had the machine been in time: who receives it
	// later counts from then. 0: it is not known.
	At  Time
	VCs int // how many entries of Sent and Limit are in use; the others are zero

	Packets []Header
	// Carrying is how many of the packets have a payload, as far as the core that fills the frame
	// knows: a driver that encodes the frame looks for payloads only then.
	Carrying int
	// Payloads are what the packets carry, one for each packet and empty for one that carries
	// nothing, where the frame is encoded or has just been decoded; none: it carries nothing.
	Payloads [][]byte
	// Sent is per VC how many packets the sender had sent in this epoch before this frame (FCTBS).
	// A frame of the handshake (To is 0) holds in the first the epoch that the sender has heard, see
	// package switch/link.
	Sent [MaxVCs]uint64
	// Limit is per VC how many packets the receiver of this frame may have sent in all in this
	// epoch (FCCL).
	Limit [MaxVCs]uint64
}

// Reset empties f and keeps its storage.
func (f *Frame) Reset() {
	for vc := range f.VCs {
		f.Sent[vc], f.Limit[vc] = 0, 0
	}
	f.From, f.To, f.At, f.VCs, f.Packets = 0, 0, 0, 0, f.Packets[:0]
	f.Carrying, f.Payloads = 0, f.Payloads[:0]
}
