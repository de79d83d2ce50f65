package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/tinylib/msgp/msgp"

	"github.com/weft-fabric/weft"
)

// appendInt appends v in its shortest form. msgp.AppendInt64 gives non-negative numbers the signed
// forms, which are as valid but a byte longer now and then.
func appendInt(dst []byte, v int64) []byte {
	if v >= 0 {
		return msgp.AppendUint64(dst, uint64(v))
	}
	return msgp.AppendInt64(dst, v)
}

// Msgpack writes numbers from leastOneByte on and below oneByte in a byte that is the number. Most
// are such: it takes half the time to see to them here.
const (
	leastOneByte = -32
	oneByte      = 0x80
)

// appendUint appends v in its shortest form.
func appendUint(dst []byte, v uint64) []byte {
	if v < oneByte {
		return append(dst, byte(v))
	}
	return msgp.AppendUint64(dst, v)
}

// reader reads bounded msgpack values off rest. The first fault sticks and every later read gives
// zero, so that callers check once. Names are only put together for errors, off the hot path.
type reader struct {
	rest []byte
	size int // of the whole input in bytes

	item  field // what was being read when the fault came
	err   error // why it could not be read, nil for a number out of its bounds
	bad   bool  // a fault has come
	got   int64 // the number that was out of its bounds
	limit int64
}

func newReader(data []byte) reader { return reader{rest: data, size: len(data)} }

// at is the position of the next value; of the bad one after a fault.
func (r *reader) at() int { return r.size - len(r.rest) }

// fail records a value that could not be read.
func (r *reader) fail(item field, err error) { r.bad, r.item, r.err = true, item, err }

// exceed records a number out of its bounds.
func (r *reader) exceed(item field, got, limit int64) {
	r.bad, r.item, r.got, r.limit = true, item, got, limit
}

// uint reads a number of at most limit.
func (r *reader) uint(item field, limit uint64) uint64 {
	if rest := r.rest; !r.bad && len(rest) > 0 && rest[0] < oneByte && uint64(rest[0]) <= limit {
		r.rest = rest[1:]
		return uint64(rest[0])
	}
	return r.anyUint(item, limit)
}

func (r *reader) anyUint(item field, limit uint64) uint64 {
	if r.bad {
		return 0
	}
	v, rest, err := readUint(r.rest)
	if err != nil {
		r.fail(item, err)
		return 0
	}
	if v > limit {
		r.exceed(item, int64(min(v, 1<<63-1)), int64(limit))
		return 0
	}
	r.rest = rest
	return v
}

// readUint reads a number. To those of two and more bytes it sees itself: that takes half the time.
func readUint(data []byte) (v uint64, rest []byte, err error) {
	if len(data) > 0 {
		switch b := data[1:]; {
		case data[0] == muint16 && len(b) >= 2:
			return uint64(binary.BigEndian.Uint16(b)), b[2:], nil
		case data[0] == muint32 && len(b) >= 4:
			return uint64(binary.BigEndian.Uint32(b)), b[4:], nil
		case data[0] == muint64 && len(b) >= 8:
			return binary.BigEndian.Uint64(b), b[8:], nil
		}
	}
	return msgp.ReadUint64Bytes(data)
}

// How msgpack begins numbers of two and of eight bytes; false, true being the byte above.
const (
	muint16 = 0xcd
	muint64 = 0xcf
	mfalse  = 0xc2
)

// int reads a number within [-limit-1, limit].
func (r *reader) int(item field, limit int64) int64 {
	if r.bad {
		return 0
	}
	if len(r.rest) > 0 && r.rest[0] == muint64 && limit == math.MaxInt64 { // a time
		if u, rest, err := readUint(r.rest); err == nil && u <= math.MaxInt64 {
			r.rest = rest
			return int64(u)
		}
	}
	v, rest, err := msgp.ReadInt64Bytes(r.rest)
	if err != nil {
		r.fail(item, err)
		return 0
	}
	if v > limit || v < -limit-1 {
		r.exceed(item, v, limit)
		return 0
	}
	r.rest = rest
	return v
}

func (r *reader) bool(item field) bool {
	if r.bad {
		return false
	}
	v, rest, err := msgp.ReadBoolBytes(r.rest)
	if err != nil {
		r.fail(item, err)
		return false
	}
	r.rest = rest
	return v
}

// route reads a source route of at least one port.
func (r *reader) route(item field) (route weft.SourceRoute) {
	if r.bad {
		return route
	}
	ports, rest, err := msgp.ReadBytesZC(r.rest)
	if err != nil {
		r.fail(item, err)
		return route
	}
	if len(ports) == 0 || len(ports) > weft.MaxRoute {
		r.exceed(item, int64(len(ports)), weft.MaxRoute)
		return route
	}
	for i := len(ports) - 1; i >= 0; i-- {
		route, _ = route.Push(weft.PortID(ports[i])) // a byte is a port, and they are not too many
	}
	r.rest = rest
	return route
}

var errSub = errors.New("no sub-headers: at least one, without gaps, of at most three misroutes of eight hops")

// subHeaders reads sub-headers, of which there is at least one.
func (r *reader) subHeaders(item field, to *weft.SubHeaders) {
	start := r.rest
	for i := range to {
		to[i] = weft.SubHeader(r.uint(item, math.MaxUint64))
	}
	if !r.bad && (to[0] == 0 || !to.Valid()) {
		r.rest = start // which is where they are named
		r.fail(item, errSub)
	}
}

// array reads the head of an array of lo to hi elements and returns how many there are.
func (r *reader) array(item field, lo, hi int) int {
	if r.bad {
		return 0
	}
	n, rest, err := msgp.ReadArrayHeaderBytes(r.rest)
	if err != nil {
		r.fail(item, err)
		return 0
	}
	if int64(n) < int64(lo) || int64(n) > int64(hi) {
		r.exceed(item, int64(n), int64(hi))
		return 0
	}
	r.rest = rest
	return int(n)
}

// why describes the fault.
func (r *reader) why() string {
	if r.err != nil {
		return fmt.Sprintf("%v at byte %d: %v", r.item, r.at(), r.err)
	}
	return fmt.Sprintf("%v at byte %d: %d is out of range, the bound is %d", r.item, r.at(), r.got, r.limit)
}
