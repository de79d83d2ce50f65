package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// book is the file from which an interrupted run goes on: which chunks are done, and what they add up to.
type book struct {
	path  string // empty: nothing is kept
	page  page
	saved time.Time

	earlier []uint64 // what earlier runs have done; not changed any more
	before  float64  // seconds that they took
	began   time.Time
}

type page struct {
	Of     string   `json:"of"`   // the run's fingerprint
	Done   []uint64 `json:"done"` // bit i of the list: chunk i
	Result *Result  `json:"result"`
	Firsts []first  `json:"firsts"`
	Draws  bool     `json:"draws"`
	Queues bool     `json:"queues"`
	Now    bool     `json:"now"`
	Packet bool     `json:"packet"`
}

// saveEvery is how much work an interruption can cost at most.
const saveEvery = 2 * time.Second

// openBook reads what an earlier run has done, and adds it to the result.
func openBook(r *run) (*book, error) {
	b := &book{path: r.Checkpoint, saved: time.Now(), began: time.Now()}
	b.page.Done = make([]uint64, (r.total+chunk-1)/chunk/64+1)
	b.page.Of, b.earlier = r.fingerprint(), make([]uint64, len(b.page.Done))
	if b.path == "" {
		return b, nil
	}
	data, err := os.ReadFile(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err != nil:
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	var p page
	if err := json.Unmarshal(data, &p); err != nil || p.Result == nil {
		return nil, fmt.Errorf("checkpoint %s is not one of ours (%w): name another file, or remove it", b.path, errors.Join(ErrConfig, err))
	}
	like := r.empty()
	if p.Of != b.page.Of || len(p.Done) != len(b.page.Done) ||
		(p.Result.Numbering == nil) != (like.Numbering == nil) || (p.Result.Duato == nil) != (like.Duato == nil) {
		return nil, fmt.Errorf("%w: checkpoint %s is of another run: name another file, or remove it", ErrConfig, b.path)
	}
	b.page, b.earlier, b.before = p, slices.Clone(p.Done), p.Result.Seconds
	p.Result.firsts = p.Firsts
	p.Result.inexactSoFar = inexact{p.Draws, p.Queues, p.Now, p.Packet}
	if p.Result.Discards == nil {
		p.Result.Discards = map[string]uint64{}
	}
	r.result.add(p.Result)
	return b, nil
}

// has reports whether an earlier run has done a chunk. It may be called by all workers at once.
func (b *book) has(n uint64) bool { return b.earlier[n/64]>>(n%64)&1 == 1 }

// seconds is how long this and the earlier runs have taken.
func (b *book) seconds() float64 { return b.before + time.Since(b.began).Seconds() }

// done notes a chunk, and saves now and then.
func (b *book) done(n uint64, r *Result) error {
	b.page.Done[n/64] |= 1 << (n % 64)
	if b.path == "" || time.Since(b.saved) < saveEvery {
		return nil
	}
	return b.save(r)
}

func (b *book) close(r *Result) error {
	if b.path == "" {
		return nil
	}
	return b.save(r)
}

// save writes the file anew beside the old one and puts it in its place, so that a kill leaves one of the two.
func (b *book) save(r *Result) error {
	b.saved = time.Now()
	r.Seconds = b.seconds()
	b.page.Result, b.page.Firsts = r, r.firsts
	b.page.Draws, b.page.Queues, b.page.Now, b.page.Packet = r.inexactSoFar.draws, r.inexactSoFar.queues, r.inexactSoFar.now, r.inexactSoFar.packet
	data, err := json.Marshal(&b.page)
	if err == nil {
		err = os.WriteFile(b.path+".new", data, 0o644)
	}
	if err == nil {
		err = os.Rename(b.path+".new", b.path)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}
