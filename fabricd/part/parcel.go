package part

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Chosen by us: a piece stays well below what brokers take as a message by default (1 MB), and all of them fit into memory.
const (
	maxWhole  = 128 << 10 // bytes of JSON that travel as they are
	maxPiece  = 512 << 10 // bytes of JSON, a third less of data
	maxPieces = 256
	maxBody   = 512 << 20 // bytes of what pieces unfold to
)

// parcel is how a request, or its answer, travels: whole, or compressed and in pieces.
type parcel struct {
	Body json.RawMessage `json:"body,omitempty"`

	Serial uint64 `json:"serial,omitempty"` // of the parcel that a piece is of
	Piece  int    `json:"piece,omitempty"`
	Pieces int    `json:"pieces,omitempty"` // 0: it is whole
	Data   []byte `json:"data,omitempty"`
}

// askMore asks for a piece of the last answer to a verb: a [moreRequest].
const askMore = "more"

type moreRequest struct {
	Verb   string `json:"verb"`
	Serial uint64 `json:"serial"`
	Piece  int    `json:"piece"`
}

// pack makes the parcels that v travels as.
func pack(v any, serial uint64) ([]parcel, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(body) <= maxWhole {
		return []parcel{{Body: body}}, nil
	}
	data, err := Compress(body)
	if err != nil {
		return nil, err
	}
	const size = maxPiece / 4 * 3 // base64
	pieces := (len(data) + size - 1) / size
	if pieces > maxPieces || len(body) > maxBody {
		return nil, fmt.Errorf("%d bytes, %d compressed, and at most %d are sent, which is %d compressed: send less at once",
			len(body), len(data), maxBody, size*maxPieces)
	}
	list := make([]parcel, pieces)
	for i := range list {
		list[i] = parcel{Serial: serial, Piece: i, Pieces: pieces, Data: data[i*size : min(len(data), (i+1)*size)]}
	}
	return list, nil
}

// errPieces means that a piece does not follow the one before, as when that was lost.
var errPieces = errors.New("pieces are missing or out of order: send all again from the first")

// unpacker puts a parcel together. The zero value is ready.
type unpacker struct {
	serial       uint64
	pieces, next int
	data         []byte // bound: maxPiece*maxPieces
}

// add takes a parcel. When it is whole, or the last piece, the body is returned; else nil.
func (u *unpacker) add(p *parcel) ([]byte, error) {
	if p.Pieces == 0 {
		*u = unpacker{}
		return p.Body, nil
	}
	if p.Piece == 0 {
		*u = unpacker{serial: p.Serial, pieces: p.Pieces}
	}
	if p.Pieces < 1 || p.Pieces > maxPieces || len(p.Data) > maxPiece || p.Piece != u.next || p.Serial != u.serial || p.Pieces != u.pieces {
		*u = unpacker{}
		return nil, errPieces
	}
	u.next++
	u.data = append(u.data, p.Data...)
	if u.next < u.pieces {
		return nil, nil
	}
	data := u.data
	*u = unpacker{}
	return Decompress(data)
}

// Compress is how topologies, traces and large messages travel: as DEFLATE data (RFC 1951).
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

// Decompress undoes Compress. It unfolds 512 MB at most; more is an error, as is data that Compress did not make.
func Decompress(data []byte) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("decompress %d bytes: %w", len(data), err)
	case len(out) > maxBody:
		return nil, fmt.Errorf("decompress %d bytes: they unfold to more than %d", len(data), maxBody)
	}
	return out, nil
}
