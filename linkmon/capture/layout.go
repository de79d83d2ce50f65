package capture

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-fabric/weft"
)

// Version of the layout of records, see the package documentation. It grows with every change that
// a reader would notice; the dissector reads those before too.
const Version = 4

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

	Payload []byte // what the packet carries, a packet of IP; it is not kept

	Text string // of a mark, at most 64 KiB; longer ones are cut
}

// Bounds of a record in bytes.
const (
	maxName    = math.MaxUint8
	maxText    = math.MaxUint16
	flagTraced = 1
)

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
	return append(dst, r.Payload...)
}
