package wire

import (
	"fmt"

	"github.com/weft-fabric/weft"
)

// DecodeHeader decodes the header at the start of data into h and returns what follows it. Bytes
// that are no header, or break a hard bound of package weft, give an error that wraps ErrHeader; h
// is zero then.
func DecodeHeader(h *weft.Header, data []byte) (rest []byte, err error) {
	r := newReader(data)
	r.header(h, weft.MaxVCs)
	if r.bad {
		*h = weft.Header{}
		return nil, fmt.Errorf("wire: decode header: %s: %w", r.why(), ErrHeader)
	}
	return r.rest, nil
}
