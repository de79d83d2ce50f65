package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// LinkSum is what the name of a directed link contributes to the sum of its frames, see
// [Direction.Sum]. The sum is CRC-32C (Castagnoli, as in iSCSI and SCTP; processors have
// instructions for it), over the name of the direction and then over the bytes of the frame before
// the sum, epochs and counters included. It is the last element, always a msgpack uint 32. It finds
// any run of damaged bits up to 32 and any three single ones; of two directions whose names have
// different sums, neither takes a frame of the other.
type LinkSum uint32

const (
	sumBytes = 5    // of the element
	muint32  = 0xce // begins msgpack's unsigned number of 32 bits
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// unsummed begins every frame of version 1, which had no sum: an array of six elements and the
// version.
var unsummed = []byte{0x96, 1}

// Sum is what d contributes to the sum of its frames.
func (d Direction) Sum() LinkSum { return LinkSum(crc32.Checksum([]byte(d.String()), castagnoli)) }

// appendTo appends the sum of frame[start:].
func (l LinkSum) appendTo(frame []byte, start int) []byte {
	frame = append(frame, muint32)
	return binary.BigEndian.AppendUint32(frame, l.of(frame[start:]))
}

// matches reports whether data ends with its sum.
func (l LinkSum) matches(data []byte) bool {
	at := len(data) - 4
	return at > 0 && data[at-1] == muint32 && binary.BigEndian.Uint32(data[at:]) == l.of(data[:at])
}

func (l LinkSum) of(data []byte) uint32 { return crc32.Update(uint32(l), castagnoli, data) }
