package bus

import (
	"fmt"
	"io"
)

// checkLengths refuses msgpack in which a length is larger than what follows can hold. The library
// (v5.4.1) makes a slice as long as its header says before it reads an element, so that 30 bytes
// could ask for all memory. It does not recurse, and keeps nothing of data.
func checkLengths(data []byte) error {
	for due := 1; due > 0; {
		if due > len(data) { // a value takes a byte at least
			return io.ErrUnexpectedEOF
		}
		code := data[0]
		data, due = data[1:], due-1
		size, items := 0, 0 // what follows: bytes, values
		short := false
		length := func(width int) (n int) { // takes it from data
			if short = width > len(data); short {
				return 0
			}
			for _, b := range data[:width] {
				n = n<<8 | int(b)
			}
			data = data[width:]
			return n
		}
		switch {
		case code <= 0x7f, code >= 0xe0: // small numbers
		case code <= 0x8f:
			items = 2 * int(code&0x0f) // maps
		case code <= 0x9f:
			items = int(code & 0x0f) // arrays
		case code <= 0xbf:
			size = int(code & 0x1f) // strings
		case code == 0xc1:
			return fmt.Errorf("no msgpack begins with %#x", code)
		case code <= 0xc3: // nil, false, true
		case code <= 0xc6:
			size = length(1 << (code - 0xc4)) // bytes
		case code <= 0xc9:
			size = length(1<<(code-0xc7)) + 1 // extensions
		case code <= 0xcb:
			size = 4 << (code - 0xca) // floats
		case code <= 0xcf:
			size = 1 << (code - 0xcc) // unsigned numbers
		case code <= 0xd3:
			size = 1 << (code - 0xd0) // signed numbers
		case code <= 0xd8:
			size = 1<<(code-0xd4) + 1 // extensions of fixed size
		case code <= 0xdb:
			size = length(1 << (code - 0xd9)) // strings
		case code <= 0xdd:
			items = length(2 << (code - 0xdc)) // arrays
		default:
			items = 2 * length(2<<(code-0xde)) // maps
		}
		if short || size > len(data) {
			return io.ErrUnexpectedEOF
		}
		data, due = data[size:], due+items
	}
	return nil
}
