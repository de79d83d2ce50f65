package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tinylib/msgp/msgp"

	"github.com/weft-fabric/weft"
)

// Version is the version of the frame format this program speaks. It grows with every change that
// an older program would misread. The sum has its place and form in every version from 2 on. Frames
// with payloads are of version 4, which older programs do not read; all others are of version 3.
const (
	Version        = 3
	VersionPayload = 4
)

// MaxFrame is the most bytes of one frame without payloads. [Fit] keeps frames with payloads
// within what a transport takes.
const MaxFrame = emptyFrame + 2*9*weft.MaxVCs + MaxHeader*weft.MaxBatch

// SmallestFrame is the most bytes of a frame of one packet: what a transport must take at least.
const SmallestFrame = emptyFrame + 2*9*weft.MaxVCs + MaxHeader

// emptyFrame is the most bytes of a frame without counters and packets: arrays of 1 and thrice 3,
// numbers of 5, a time of 9, and the sum.
const emptyFrame = 1 + 3*5 + 9 + 3*3 + sumBytes

// Batch is how many packets surely fit into a frame of maxFrame bytes between ports of vcs virtual
// channels, 0 to weft.MaxBatch. See Transport.MaxFrame.
func Batch(maxFrame, vcs int) int {
	return min(max((maxFrame-emptyFrame-2*9*vcs)/MaxHeader, 0), weft.MaxBatch)
}

// What is wrong with data that does not decode.
var (
	// ErrFrame means that the bytes are no frame within the hard bounds.
	ErrFrame = errors.New("not a valid frame")
	// ErrHeader means that the bytes are no packet header within the hard bounds.
	ErrHeader = errors.New("not a valid header")
	// ErrDamaged means that the checksum is not that of the bytes and of the link: the frame was
	// damaged on its way, cut short or forged, or it is for another link.
	ErrDamaged = errors.New("checksum does not match: damaged on the way, or for another link")
	// ErrVersion means that the frame is of a version this program does not speak.
	ErrVersion = errors.New("unknown frame version")
)

// Elements of a frame's array, and of one that carries payloads.
const (
	frameFields  = 8
	loadedFields = frameFields + 1
)

// AppendFrame appends f to dst, to be sent on a link, as the msgpack array [Version, From, To,
// [sent per VC], [limit per VC], [packets...], At, sum]; for the sum see LinkSum. Where f.Payloads
// are given they stand before the sum, as many as packets, empty for a packet that carries nothing.
// It allocates only to grow dst. f.VCs above weft.MaxVCs or more packets than weft.MaxBatch are our
// own bug, and panic.
func AppendFrame(dst []byte, link LinkSum, f *weft.Frame) []byte {
	if f.VCs < 0 || f.VCs > weft.MaxVCs || len(f.Packets) > weft.MaxBatch {
		panic(fmt.Sprintf("wire: BUG: frame of %d VCs and %d packets, at most %d and %d", f.VCs, len(f.Packets), weft.MaxVCs,
			weft.MaxBatch))
	}
	start := len(dst)
	fields, version := uint32(frameFields), uint64(Version)
	if len(f.Payloads) > 0 {
		fields, version = loadedFields, VersionPayload
	}
	dst = msgp.AppendArrayHeader(dst, fields)
	dst = appendUint(dst, version)
	dst = appendUint(dst, uint64(f.From))
	dst = appendUint(dst, uint64(f.To))
	dst = appendCounters(dst, f.Sent[:f.VCs])
	dst = appendCounters(dst, f.Limit[:f.VCs])
	dst = msgp.AppendArrayHeader(dst, uint32(len(f.Packets)))
	for i := range f.Packets {
		dst = AppendHeader(dst, &f.Packets[i])
	}
	dst = appendUint(dst, uint64(f.At))
	if len(f.Payloads) > 0 {
		dst = appendPayloads(dst, f)
	}
	return link.appendTo(dst, start)
}

func appendCounters(dst []byte, counters []uint64) []byte {
	dst = msgp.AppendArrayHeader(dst, uint32(len(counters)))
	for _, c := range counters {
		dst = appendUint(dst, c)
	}
	return dst
}

// DecodeFrame decodes data, which must be one frame of a link and nothing more, into f and reuses
// the storage of f.Packets. It keeps no reference to data but f.Payloads, allocates only to grow
// f.Packets (to at most weft.MaxBatch, and never beyond what data can hold) and for errors.
// Anything else than a frame within the hard bounds gives an error that wraps ErrFrame, and
// ErrDamaged or ErrVersion too when it is that; f is reset then.
func DecodeFrame(f *weft.Frame, link LinkSum, data []byte) error {
	if !link.matches(data) {
		f.Reset()
		if bytes.HasPrefix(data, unsummed) {
			return fmt.Errorf("wire: decode frame: %w: it is of version 1, this program speaks versions %d and %d; run the "+
				"same release everywhere: %w",
				ErrVersion, Version, VersionPayload, ErrFrame)
		}
		return fmt.Errorf("wire: decode frame: %d bytes: %w: %w", len(data), ErrDamaged, ErrFrame)
	}
	r := newReader(data[:len(data)-sumBytes])
	at := r.frame(f)
	if !r.bad && len(r.rest) == 0 {
		return nil
	}
	f.Reset()
	switch {
	case !r.bad:
		return fmt.Errorf("wire: decode frame: %d bytes follow its end at byte %d: %w", len(r.rest), r.at(), ErrFrame)
	case r.item == fieldVersion && r.err == nil:
		return fmt.Errorf("wire: decode frame: %w: it is of version %d, this program speaks versions %d and %d; run the "+
			"same release everywhere: %w",
			ErrVersion, r.got, Version, VersionPayload, ErrFrame)
	case at >= 0:
		return fmt.Errorf("wire: decode frame: packet %d: %s: %w", at, r.why(), ErrFrame)
	}
	return fmt.Errorf("wire: decode frame: %s: %w", r.why(), ErrFrame)
}

// frame reads a frame and returns the index of the packet it read last, -1 when it came to none or
// read them all.
func (r *reader) frame(f *weft.Frame) int {
	// The version comes before the length of the array is judged: another version may have another
	// length.
	fields := r.array(fieldFrame, 1, math.MaxUint16)
	v := r.uint(fieldVersion, math.MaxUint32)
	want := frameFields
	if v == VersionPayload {
		want = loadedFields
	}
	switch {
	case r.bad:
	case v != Version && v != VersionPayload:
		r.exceed(fieldVersion, int64(v), Version)
	case fields != want:
		r.exceed(fieldFrame, int64(fields), int64(want))
	}
	f.Carrying, f.Payloads = 0, f.Payloads[:0]
	f.From = weft.Epoch(r.uint(fieldFrom, math.MaxUint32))
	f.To = weft.Epoch(r.uint(fieldTo, math.MaxUint32))
	f.VCs = r.array(fieldSent, 0, weft.MaxVCs)
	r.counters(fieldSent, &f.Sent, f.VCs)
	r.array(fieldLimit, f.VCs, f.VCs)
	r.counters(fieldLimit, &f.Limit, f.VCs)
	at := r.packets(f)
	if !r.bad {
		f.At = weft.Time(r.uint(fieldAt, math.MaxInt64))
		at = -1
		if want == loadedFields {
			r.payloads(f)
		}
	}
	return at
}

// packets reads those of a frame and returns the index of the packet it read last, -1 when it came
// to none.
func (r *reader) packets(f *weft.Frame) int {
	n := r.array(fieldPackets, 0, weft.MaxBatch)
	if n == 0 || r.bad {
		f.Packets = f.Packets[:0]
		return -1
	}
	if f.VCs == 0 {
		r.exceed(fieldPackets, int64(n), 0)
		return -1
	}
	if n > len(r.rest)/minHeader { // before anything is allocated for them
		r.fail(fieldPackets, msgp.ErrShortBytes)
		return -1
	}
	f.Packets = slices.Grow(f.Packets[:0], n)[:n]
	for i := range f.Packets {
		if r.header(&f.Packets[i], f.VCs); r.bad {
			return i
		}
	}
	return n - 1
}

func (r *reader) counters(item field, to *[weft.MaxVCs]uint64, n int) {
	for i := range n {
		to[i] = r.uint(item, math.MaxUint64)
	}
	clear(to[n:])
}
