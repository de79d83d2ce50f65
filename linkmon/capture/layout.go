package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/weft-fabric/weft"
)

// Version of the layout of records, see the package documentation. It grows with every change that
// a reader would notice; those before are still read.
const Version = 3

// Kind says what a record is.
type Kind uint8

// The kinds of record.
const (
	KindPacket Kind = iota + 1
	KindMark
)

// LinkState is the state of a direction of a link.
type LinkState uint8

// The states of a direction.
const (
	StateUp       LinkState = iota // nothing is wrong
	StateCut                       // cut, and its ends were told
	StateSilent                    // cut, and nobody was told
	StateImpaired                  // it loses, delays or slows what it carries
	StateDown                      // a node at an end of it is dead
	StateComing                    // its ends have not answered each other yet
	states
)

// String names the state as the dissector does.
func (s LinkState) String() string {
	if s >= states {
		return fmt.Sprintf("state %d", uint8(s))
	}
	return [...]string{"up", "cut", "cut silently", "impaired", "down", "coming up"}[s]
}

// Record is what is written for one packet, or for a mark.
type Record struct {
	Kind  Kind
	State LinkState

	// Of a packet.
	Header           weft.Header // its VC is that of the link
	SrcName, DstName string      // at most 255 bytes each; longer ones are cut
	Index, Packets   uint16      // its position in the frame, and packets in that
	From, To         weft.Epoch
	Sent, Limit      uint64 // of the VC

	Text string // of a mark, at most 64 KiB; longer ones are cut
}

// Bounds of a record in bytes.
const (
	preamble   = 4
	maxName    = math.MaxUint8
	maxText    = math.MaxUint16
	flagTraced = 1
)

// fixed is by version how many bytes a packet has before its route: version 1 is without path and
// layers, version 2 without sub-headers.
var fixed = [Version + 1]int{1: 78, 82, 83}

// ErrRecord means that bytes are no record of this version.
var ErrRecord = errors.New("not a record of a capture")

// Append appends r to dst.
func Append(dst []byte, r *Record) []byte {
	h, flags := &r.Header, byte(0)
	if r.Kind == KindPacket && h.Traced {
		flags = flagTraced
	}
	dst = append(dst, Version, byte(r.Kind), flags, byte(r.State))
	be := binary.BigEndian
	if r.Kind != KindPacket {
		text := r.Text[:min(len(r.Text), maxText)]
		return append(be.AppendUint16(dst, uint16(len(text))), text...)
	}
	dst = append(dst, byte(h.VC), byte(h.Route.Len()))
	dst = be.AppendUint16(dst, h.Generation)
	dst = be.AppendUint32(dst, uint32(h.Src))
	dst = be.AppendUint32(dst, uint32(h.Dst))
	dst = be.AppendUint64(dst, h.Seq)
	dst = be.AppendUint64(dst, uint64(h.Injected))
	dst = be.AppendUint32(dst, h.Size)
	dst = be.AppendUint16(dst, h.Hops)
	dst = be.AppendUint16(dst, h.Reroutes)
	dst = be.AppendUint16(dst, uint16(h.PortField))
	dst = be.AppendUint16(dst, r.Index)
	dst = be.AppendUint16(dst, r.Packets)
	dst = be.AppendUint64(dst, h.Misroute)
	dst = be.AppendUint32(dst, uint32(r.From))
	dst = be.AppendUint32(dst, uint32(r.To))
	dst = be.AppendUint64(dst, r.Sent)
	dst = be.AppendUint64(dst, r.Limit)
	dst = be.AppendUint16(dst, h.Path)
	dst = be.AppendUint16(dst, h.Layers)
	subs := h.Sub[:h.Sub.Len()]
	dst = append(dst, byte(len(subs)))
	for i := range h.Route.Len() {
		dst = append(dst, byte(h.Route.At(i)))
	}
	for _, sub := range subs {
		dst = be.AppendUint64(dst, uint64(sub))
	}
	for _, name := range []string{r.SrcName, r.DstName} {
		name = name[:min(len(name), maxName)]
		dst = append(append(dst, byte(len(name))), name...)
	}
	return dst
}

// Decode reads a record that is all of data. Errors wrap ErrRecord and say where it stops to be
// one.
func Decode(data []byte) (r Record, err error) {
	bad := func(format string, args ...any) (Record, error) {
		return Record{}, fmt.Errorf("capture: %s: %w", fmt.Sprintf(format, args...), ErrRecord)
	}
	switch {
	case len(data) < preamble:
		return bad("%d bytes, expected at least %d", len(data), preamble)
	case data[0] == 0 || data[0] > Version:
		return bad("version %d, this program knows versions 1 to %d", data[0], Version)
	case data[3] >= byte(states):
		return bad("state %d of its link, expected less than %d", data[3], states)
	}
	r.Kind, r.State = Kind(data[1]), LinkState(data[3])
	fixed := fixed[data[0]]
	be := binary.BigEndian
	switch {
	case r.Kind == KindMark && len(data) >= preamble+2 && data[2] == 0:
		if n := int(be.Uint16(data[preamble:])); len(data) != preamble+2+n {
			return bad("%d bytes, its text of %d bytes ends at %d", len(data), n, preamble+2+n)
		}
		r.Text = string(data[preamble+2:])
		return r, nil
	case r.Kind != KindPacket || data[2] > flagTraced:
		return bad("kind %d with flags %d, or cut short", data[1], data[2])
	case len(data) < fixed:
		return bad("%d bytes, a packet has at least %d", len(data), fixed)
	}
	h := &r.Header
	h.Traced = data[2] == flagTraced
	h.VC, h.Generation = weft.VC(data[4]), be.Uint16(data[6:])
	h.Src, h.Dst = weft.NICID(be.Uint32(data[8:])), weft.NICID(be.Uint32(data[12:]))
	h.Seq, h.Injected = be.Uint64(data[16:]), weft.Time(be.Uint64(data[24:]))
	h.Size, h.Hops, h.Reroutes = be.Uint32(data[32:]), be.Uint16(data[36:]), be.Uint16(data[38:])
	h.PortField, r.Index, r.Packets = int16(be.Uint16(data[40:])), be.Uint16(data[42:]), be.Uint16(data[44:])
	h.Misroute, r.From, r.To = be.Uint64(data[46:]), weft.Epoch(be.Uint32(data[54:])), weft.Epoch(be.Uint32(data[58:]))
	r.Sent, r.Limit = be.Uint64(data[62:]), be.Uint64(data[70:])
	if data[0] >= 2 {
		h.Path, h.Layers = be.Uint16(data[78:]), be.Uint16(data[80:])
	}
	ports, subs, rest := int(data[5]), 0, data[fixed:]
	if ports > weft.MaxRoute || ports > len(rest) {
		return bad("a source route of %d ports in %d bytes, expected at most %d", ports, len(rest), weft.MaxRoute)
	}
	for i := range ports {
		h.Route, _ = h.Route.Push(weft.PortID(rest[ports-1-i])) // a byte is always a port, and there is room
	}
	rest = rest[ports:]
	if data[0] >= 3 {
		subs = int(data[82])
	}
	if subs > weft.MaxSubPaths || 8*subs > len(rest) {
		return bad("%d sub-headers in %d bytes, expected at most %d of 8 bytes", subs, len(rest), weft.MaxSubPaths)
	}
	for i := range subs {
		h.Sub[i] = weft.SubHeader(be.Uint64(rest[8*i:]))
	}
	if h.Sub.Len() != subs || !h.Sub.Valid() {
		return bad("sub-headers %x, which no packet has", rest[:8*subs])
	}
	rest = rest[8*subs:]
	for _, name := range []*string{&r.SrcName, &r.DstName} {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return bad("a name is cut short")
		}
		end := 1 + int(rest[0])
		*name, rest = string(rest[1:end]), rest[end:]
	}
	if len(rest) > 0 {
		return bad("%d bytes follow its end", len(rest))
	}
	return r, nil
}
