package switching

import "github.com/weft-fabric/weft"

// Sizer is a firmware some of whose fields make packets longer on the wire. Those that do not say
// are taken to have their fields in the size with which a packet is generated, as the destination's
// address is for all.
type Sizer interface {
	// HeaderBytes is how many bytes fields take on the wire beside that size. It changes nothing
	// and keeps no reference.
	HeaderBytes(f *weft.Fields) int
}

// Source has h, a packet that the NIC at a port of its switch, leaf, sends, written to as a
// firmware that is a [Sourcer] asks, and makes it as much longer as one that is a [Sizer] says, but
// no longer than [weft.MaxPacket].
func Source(fw Firmware, leaf *weft.Place, at weft.PortID, h *weft.Header) {
	if s, ok := fw.(Sourcer); ok {
		s.Source(leaf, at, h)
	}
	if z, ok := fw.(Sizer); ok {
		h.Size = longer(h.Size, z.HeaderBytes(&h.Fields))
	}
}

// SourceOf is Source for one NIC; nil for a firmware that changes no packet of NICs.
func SourceOf(fw Firmware, leaf *weft.Place, at weft.PortID) func(h *weft.Header) {
	_, writes := fw.(Sourcer)
	if _, sizes := fw.(Sizer); !writes && !sizes {
		return nil
	}
	return func(h *weft.Header) { Source(fw, leaf, at, h) }
}

// longer is a size with bytes added or taken off, within what packets can have.
func longer(size uint32, bytes int) uint32 {
	return uint32(min(max(int(size)+bytes, 0), weft.MaxPacket))
}

// resize makes a packet whose fields are about to change as much longer or shorter as the new ones
// are.
func (s *Switch) resize(h *weft.Header, to *weft.Fields) {
	if h.Fields != *to {
		h.Size = longer(h.Size, s.sizer.HeaderBytes(to)-s.sizer.HeaderBytes(&h.Fields))
	}
}
