package wire

import (
	"math"
	"slices"

	"github.com/tinylib/msgp/msgp"

	"github.com/weft-fabric/weft"
)

// field names an element of a frame or header, for errors.
type field uint8

const (
	fieldFrame field = iota
	fieldVersion
	fieldFrom
	fieldTo
	fieldSent
	fieldLimit
	fieldPackets
	fieldAt
	fieldHeader
	fieldSrc
	fieldDst
	fieldSeq
	fieldInjected
	fieldSize
	fieldVC
	fieldGeneration
	fieldHops
	fieldReroutes
	fieldTraced
	fieldPortField
	fieldMisroute
	fieldPath
	fieldLayers
	fieldRoute
	fieldSub
	fieldPayload
)

var fieldNames = [...]string{
	fieldFrame: "frame", fieldVersion: "version", fieldFrom: "from", fieldTo: "to", fieldSent: "sent", fieldLimit: "limit",
	fieldPackets: "packets", fieldAt: "at", fieldHeader: "header", fieldSrc: "src", fieldDst: "dst", fieldSeq: "seq",
	fieldInjected: "injected", fieldSize: "size", fieldVC: "vc", fieldGeneration: "era", fieldHops: "hops",
	fieldReroutes: "reroutes", fieldTraced: "traced", fieldPortField: "port field", fieldMisroute: "misroute",
	fieldPath: "path", fieldLayers: "layers", fieldRoute: "route", fieldSub: "sub-headers", fieldPayload: "payload",
}

// String prints the name of the element.
func (f field) String() string { return fieldNames[f] }

const (
	// Elements of a header's array: those that each has, the source route, the two of an address,
	// and the sub-headers. Each count is twice the one before it, so that how many there are in all
	// says which.
	headerFields  = 12
	routeFields   = 1
	addressFields = 2
	subFields     = weft.MaxSubPaths
	maxFields     = headerFields + addressFields + routeFields + subFields
	minHeader     = 1 + headerFields
	// MaxHeader is the most bytes a header takes on the wire: one of 3, src dst size of 5, seq
	// injected misroute of 9, vc of 2, generation hops reroutes port field path and layers of 3,
	// traced of 1, route of 2 and its ports, sub-headers of 9.
	MaxHeader = 3 + 3*5 + 3*9 + 2 + 6*3 + 1 + 2 + weft.MaxRoute + weft.MaxSubPaths*9
)

// AppendHeader appends h to dst as a msgpack array of its fields in declared order, integers in
// their shortest form, times in picoseconds. Path and layers follow unless both are zero, then the
// source route, if there is one, as the bytes of its ports, and then the sub-headers, if there are
// any, as four numbers, zero for none. It takes at most MaxHeader bytes and allocates only to grow
// dst.
func AppendHeader(dst []byte, h *weft.Header) []byte {
	dst = slices.Grow(dst, MaxHeader)
	ports, fields := h.Route.Len(), uint32(headerFields)
	addressed := h.Path|h.Layers != 0
	if addressed {
		fields += addressFields
	}
	if ports > 0 {
		fields += routeFields
	}
	subs := h.Sub[0].Is()
	if subs {
		fields += subFields
	}
	dst = msgp.AppendArrayHeader(dst, fields)
	dst = appendUint(dst, uint64(h.Src))
	dst = appendUint(dst, uint64(h.Dst))
	dst = appendUint(dst, h.Seq)
	dst = appendInt(dst, int64(h.Injected))
	dst = appendUint(dst, uint64(h.Size))
	if isSmall(h) {
		traced := byte(mfalse)
		if h.Traced {
			traced++
		}
		dst = append(dst, byte(h.VC), byte(h.Generation), byte(h.Hops), byte(h.Reroutes), traced,
			byte(h.PortField), byte(h.Misroute))
	} else {
		dst = appendUint(dst, uint64(h.VC))
		dst = appendUint(dst, uint64(h.Generation))
		dst = appendUint(dst, uint64(h.Hops))
		dst = appendUint(dst, uint64(h.Reroutes))
		dst = msgp.AppendBool(dst, h.Traced)
		dst = appendInt(dst, int64(h.PortField))
		dst = appendUint(dst, h.Misroute)
	}
	if addressed {
		dst = appendUint(dst, uint64(h.Path))
		dst = appendUint(dst, uint64(h.Layers))
	}
	if ports > 0 {
		dst = appendRoute(dst, h.Route, ports)
	}
	if subs {
		for _, sub := range h.Sub {
			dst = appendUint(dst, uint64(sub))
		}
	}
	return dst
}

func appendRoute(dst []byte, r weft.SourceRoute, ports int) []byte {
	dst = append(dst, mbin8, byte(ports))
	for i := range ports {
		dst = append(dst, byte(r.At(i)))
	}
	return dst
}

// mbin8 begins msgpack's binary data of up to 255 bytes; the next byte is how many.
const mbin8 = 0xc4

// header reads one header whose VC must be below vcs.
func (r *reader) header(h *weft.Header, vcs int) {
	fields := r.array(fieldHeader, headerFields, maxFields)
	if r.bad {
		return
	}
	h.Src = weft.NICID(r.uint(fieldSrc, weft.MaxNIC-1))
	h.Dst = weft.NICID(r.uint(fieldDst, weft.MaxNIC-1))
	h.Seq = r.uint(fieldSeq, math.MaxUint64)
	h.Injected = weft.Time(r.int(fieldInjected, math.MaxInt64))
	h.Size = uint32(r.uint(fieldSize, weft.MaxPacket))
	if !r.small(h, vcs) {
		h.VC = weft.VC(r.uint(fieldVC, uint64(vcs-1)))
		h.Generation = uint16(r.uint(fieldGeneration, math.MaxUint16))
		h.Hops = uint16(r.uint(fieldHops, math.MaxUint16))
		h.Reroutes = uint16(r.uint(fieldReroutes, math.MaxUint16))
		h.Traced = r.bool(fieldTraced)
		h.PortField = int16(r.int(fieldPortField, math.MaxInt16))
		h.Misroute = r.uint(fieldMisroute, math.MaxUint64)
	}
	h.Payload, h.Path, h.Layers, h.Route, h.Sub = 0, 0, 0, weft.SourceRoute{}, weft.SubHeaders{}
	rest := fields - headerFields
	if rest&addressFields != 0 {
		h.Path = uint16(r.uint(fieldPath, math.MaxUint16))
		h.Layers = uint16(r.uint(fieldLayers, math.MaxUint16))
	}
	if rest&routeFields != 0 {
		h.Route = r.route(fieldRoute)
	}
	if rest&subFields != 0 {
		r.subHeaders(fieldSub, &h.Sub)
	}
}

// smallFields is how many elements of a header, from the virtual channel to the misroute vector,
// are one byte each in nearly all headers. Those are written and read together.
const smallFields = 7

func isSmall(h *weft.Header) bool {
	most := uint64(h.Generation|h.Hops|h.Reroutes|uint16(h.VC)) | h.Misroute
	return most < oneByte && h.PortField >= leastOneByte && h.PortField < oneByte
}

// small reads these elements and reports whether they are one byte each; else it reads nothing.
func (r *reader) small(h *weft.Header, vcs int) bool {
	if r.bad || len(r.rest) < smallFields {
		return false
	}
	b := (*[smallFields]byte)(r.rest)
	if int(b[0]) >= vcs || b[1]|b[2]|b[3]|b[6] >= oneByte || b[4]&^1 != mfalse ||
		int8(b[5]) < leastOneByte {
		return false
	}
	h.VC = weft.VC(b[0])
	h.Generation, h.Hops, h.Reroutes = uint16(b[1]), uint16(b[2]), uint16(b[3])
	h.Traced, h.PortField, h.Misroute = b[4] != mfalse, int16(int8(b[5])), uint64(b[6])
	r.rest = r.rest[smallFields:]
	return true
}
