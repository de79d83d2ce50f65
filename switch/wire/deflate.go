package wire

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
)

// MaxUnfolded bounds what data of [Compress] unfolds to, in bytes; chosen by us.
const MaxUnfolded = 512 << 20

// Compress compresses what travels between the processes of a fabric and what its broker keeps:
// topologies, traces, the state of a fabric and large messages. It makes DEFLATE data (RFC 1951),
// and is fast rather than thorough.
func Compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return b.Bytes(), nil
}

// Decompress undoes Compress. It unfolds 512 MB at most; more is an error, as is data that Compress
// did not make.
func Decompress(data []byte) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), MaxUnfolded+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("decompress %d bytes: %w", len(data), err)
	case len(out) > MaxUnfolded:
		return nil, fmt.Errorf("decompress %d bytes: they unfold to more than %d", len(data), MaxUnfolded)
	}
	return out, nil
}
