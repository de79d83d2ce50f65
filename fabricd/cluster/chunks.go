package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/fabricd/reply"
)

// maxChunk is what one key holds of tables at most, in bytes; chosen by us, so that a write is
// short also where a broker takes larger messages.
const maxChunk = 512 << 10

// chunks are tables as they are written down: in keys of their own, which are written when the
// tables change and not with every state. Zero: there are none. A leader numbers those that it
// writes from 1 on, and the state that names them is written after them, so that chunks which no
// state names are those of a leader that was broken off: the next numbers of its term.
type chunks struct {
	Term   uint64 `json:"term"`
	Number int    `json:"number"`
	Count  int    `json:"count"`
	Size   int    `json:"size"` // bytes in all
}

func (p chunks) key(i int) string { return fmt.Sprintf("tables.%d.%d.%d", p.Term, p.Number, i) }

// writeChunks writes data as p, of which it fills in how much there is.
func (b Book) writeChunks(ctx context.Context, p chunks, data []byte) (chunks, error) {
	p.Size = len(data)
	for chunk := range slices.Chunk(data, min(maxChunk, b.Store.Room())) {
		if err := within(ctx,
			func(ctx context.Context) error { return b.Store.Put(ctx, p.key(p.Count), chunk) }); err != nil {
			return p, err
		}
		p.Count++
	}
	return p, nil
}

// readChunks reads what was written. The error wraps reply.ErrNoKey when other chunks have taken
// the place of these.
func (b Book) readChunks(ctx context.Context, p chunks) ([]byte, error) {
	var data []byte
	for i := range p.Count {
		err := within(ctx, func(ctx context.Context) error {
			chunk, _, err := b.Store.Get(ctx, p.key(i))
			data = append(data, chunk...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(data) != p.Size {
		return nil, fmt.Errorf("cluster: tables as they were written down: %d bytes instead of %d", len(data), p.Size)
	}
	return data, nil
}

// dropChunks takes chunks away, also such as were written in part.
func (b Book) dropChunks(ctx context.Context, p chunks) (there bool, err error) {
	for i := 0; ; i++ {
		err := within(ctx, func(ctx context.Context) error {
			if i >= p.Count {
				if _, _, err := b.Store.Get(ctx, p.key(i)); err != nil {
					return err
				}
			}
			return b.Store.Delete(ctx, p.key(i))
		})
		switch {
		case errors.Is(err, reply.ErrNoKey):
			return i > 0, nil
		case err != nil:
			return i > 0, err
		}
	}
}

// dropChunksOf takes away the chunks of a state that is no longer there, and those that its leader
// was writing when it was broken off.
func (b Book) dropChunksOf(ctx context.Context, k kept) error {
	if _, err := b.dropChunks(ctx, k.Tables); err != nil {
		return err
	}
	return b.dropUnnamed(ctx, k)
}

// dropUnnamed takes away the chunks that the leader which wrote k was writing when it was broken
// off.
func (b Book) dropUnnamed(ctx context.Context, k kept) error {
	next := chunks{Term: k.Term}
	if k.Tables.Term == k.Term {
		next.Number = k.Tables.Number
	}
	for {
		next.Number++
		if there, err := b.dropChunks(ctx, next); err != nil || !there {
			return err
		}
	}
}

// within gives one request to the store its time.
func within(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return f(ctx)
}
