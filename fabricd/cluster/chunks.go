package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft/fabricd/reply"
)

// maxChunk bounds the bytes of tables in one key; chosen by us, so that a write is short also where
// a broker takes larger messages.
const maxChunk = 512 << 10

// chunks names the keys that hold the tables. They are written when the tables change, and not with
// every state. The zero value names none. A leader numbers its tables from 1 on, and writes the
// state that names their chunks after them. So chunks that no state names have the next numbers of
// the term of a leader that has died while it wrote them.
type chunks struct {
	Term   uint64 `json:"term"`
	Number int    `json:"number"`
	Count  int    `json:"count"`
	Size   int    `json:"size"`           // bytes in all
	File   bool   `json:"file,omitempty"` // they hold the file of the routing instead, of which there is one
}

func (p chunks) key(i int) string {
	if p.File {
		return fmt.Sprintf("file.%d", i)
	}
	return fmt.Sprintf("tables.%d.%d.%d", p.Term, p.Number, i)
}

// writeChunks writes data as the chunks of p, and returns p with their number and size.
func (b StateStore) writeChunks(ctx context.Context, p chunks, data []byte) (chunks, error) {
	p.Size = len(data)
	for chunk := range slices.Chunk(data, min(maxChunk, b.Store.Room())) {
		err := within(ctx, func(ctx context.Context) error { return b.Store.Put(ctx, p.key(p.Count), chunk) })
		if err != nil {
			return p, err
		}
		p.Count++
	}
	return p, nil
}

// readChunks reads the tables that p names. The error wraps reply.ErrNoKey when other chunks have
// taken the place of these.
func (b StateStore) readChunks(ctx context.Context, p chunks) ([]byte, error) {
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
		return nil, fmt.Errorf("cluster: read the tables of the fabric: they have %d bytes instead of %d", len(data),
			p.Size)
	}
	return data, nil
}

// dropChunks takes chunks away, also such as were written in part.
func (b StateStore) dropChunks(ctx context.Context, p chunks) (there bool, err error) {
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
func (b StateStore) dropChunksOf(ctx context.Context, k checkpoint) error {
	if _, err := b.dropChunks(ctx, k.Tables); err != nil {
		return err
	}
	return b.dropUnnamed(ctx, k)
}

// dropUnnamed takes away the chunks that the leader which wrote k was writing when it was broken
// off.
func (b StateStore) dropUnnamed(ctx context.Context, k checkpoint) error {
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
