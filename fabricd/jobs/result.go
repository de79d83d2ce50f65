package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/work"
)

// result is that of a piece as the broker keeps it.
type result struct {
	Sum    []byte `json:"sum"` // of what is the same whoever computes it
	Worker string `json:"worker"`
	Result []byte `json:"result,omitempty"`
	File   string `json:"file,omitempty"` // that holds it, where it is too large for a key
}

// ErrDiffers means that a piece that was done twice has two results, so that the order shows
// nothing.
var ErrDiffers = errors.New("it was done twice, with different results")

// keep writes a result. Who comes second compares; twice says that it did.
func keep(ctx context.Context, j *bus.Jobs, order, key, worker string, a work.Answer) (twice bool, err error) {
	r := result{Sum: a.Sum, Worker: worker, Result: a.Result}
	data, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	if len(data) > j.Room() {
		r.Result, r.File = nil, order+"."+key
		if err := j.PutFile(ctx, r.File, a.Result); err != nil {
			return false, err
		}
		if data, err = json.Marshal(r); err != nil {
			return false, err
		}
	}
	at := "got." + order + "." + key
	if _, err = j.Create(ctx, at, data); !errors.Is(err, reply.ErrConflict) {
		return false, err
	}
	was, err := get[result](ctx, j, at)
	if err == nil && !bytes.Equal(was.Sum, r.Sum) {
		err = fmt.Errorf("%w, by %s and %s", ErrDiffers, was.Worker, worker)
	}
	return true, err
}

// kept is a result that was kept.
func kept(ctx context.Context, j *bus.Jobs, data []byte) ([]byte, error) {
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("jobs: a result makes no sense: %w", err)
	}
	if r.File != "" {
		return j.File(ctx, r.File)
	}
	return r.Result, nil
}
